// Page-locked memory of the host, through which copies go. From and to ordinary memory the driver
// copies only when all that was enqueued before is done, and the caller waits for that.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "backends/cuda/driver/driver.h"
#include "isthmus/status.h"

namespace isthmus::cuda {

// Keeps what comes back, up to a limit. Thread-safe; outlives its blocks.
class PinnedPool {
 public:
  // Of memory that nobody uses; more goes back to the system.
  static constexpr size_t kMaxKeptBytes = size_t{256} << 20;
  // Of all blocks together.
  static constexpr size_t kMaxBytes = size_t{4} << 30;
  struct Sizes {
    // Of a copy; to lock more pages takes longer than it saves.
    size_t largestBlockBytes = size_t{1} << 30;
    // Of a larger one, which goes piece by piece.
    size_t pieceBytes = size_t{32} << 20;
  };

  explicit PinnedPool(Driver& driver) : PinnedPool(driver, Sizes()) {}
  PinnedPool(Driver& driver, const Sizes& sizes) : driver_(driver), sizes_(sizes) {}

  // Goes back to the pool with its owner, who then must have no copy of it under way.
  class Block {
   public:
    Block() = default;
    Block(PinnedPool* pool, void* data, size_t bytes) : pool_(pool), data_(data), bytes_(bytes) {}
    Block(Block&& other) noexcept { *this = std::move(other); }
    Block& operator=(Block&& other) noexcept;
    ~Block();
    void* data() const { return data_; }

   private:
    PinnedPool* pool_ = nullptr;
    void* data_ = nullptr;
    size_t bytes_ = 0;
  };
  // At least `bytes` bytes, more than 0. kResourceExhausted if there is none, or that is too much.
  StatusOr<Block> take(size_t bytes);
  const Sizes& sizes() const { return sizes_; }

 private:
  void give(void* data, size_t bytes);

  Driver& driver_;
  const Sizes sizes_;
  std::mutex mutex_;
  std::map<size_t, std::vector<void*>> kept_;  // by size
  size_t keptBytes_ = 0;
  size_t bytes_ = 0;  // of all blocks
};

}  // namespace isthmus::cuda

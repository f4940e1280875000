// What programs have of a device's memory that the runtime has not allocated for them: for
// statistics, and for the error when there is no more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace isthmus {

class Backend;

// Of one device. Safe from any thread.
class ProgramMemory {
 public:
  // Of a device of the backend; stays, so that programs may outlive clients.
  static ProgramMemory& of(const Backend& backend, int deviceId);

  struct Entry {
    size_t bytes = 0;
    std::string what;  // "constants of jit_step"
  };

  // Memory that is counted while this lives; moves.
  class Block {
   public:
    Block() = default;
    Block(Block&& other) noexcept { *this = std::move(other); }
    Block& operator=(Block&& other) noexcept {
      std::swap(memory_, other.memory_);
      std::swap(entry_, other.entry_);
      return *this;
    }
    ~Block();

   private:
    friend class ProgramMemory;
    ProgramMemory* memory_ = nullptr;
    std::list<Entry>::iterator entry_;
  };
  Block add(size_t bytes, std::string what);

  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::vector<Entry> entries() const;

 private:
  mutable std::mutex mutex_;
  std::list<Entry> entries_;
  std::atomic<int64_t> bytes_{0};
};

}  // namespace isthmus

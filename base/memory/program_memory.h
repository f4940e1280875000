// What programs have of a device's memory that the runtime has not allocated for them: for
// statistics, for the limits of clients, and for the error when there is no more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/status.h"

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
  // Before the memory is allocated: kResourceExhausted where the client at work may not have so
  // much more (Limits).
  StatusOr<Block> add(size_t bytes, std::string what);

  // What a client lets programs use.
  class Limits {
   public:
    virtual ~Limits() = default;
    // Whether so many bytes more of this memory fit.
    virtual Status check(const ProgramMemory& memory, size_t bytes) const = 0;
  };
  // Those of the client for which this thread compiles, loads or runs programs, while this lives;
  // null: none.
  class LimitScope {
   public:
    explicit LimitScope(const Limits* limits);
    ~LimitScope();
    LimitScope(const LimitScope&) = delete;
    LimitScope& operator=(const LimitScope&) = delete;

   private:
    const Limits* const before_;
  };

  // `giveBack` gives back what programs have without using it; called by whom there is too little.
  void onShortage(std::function<void()> giveBack);
  void giveBack();

  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::vector<Entry> entries() const;

 private:
  mutable std::mutex mutex_;
  std::list<Entry> entries_;
  std::mutex shortageMutex_;
  std::vector<std::function<void()>> onShortage_;
  std::atomic<int64_t> bytes_{0};
};

}  // namespace isthmus

// Memory for those who cannot go on without it: libraries that check no allocation, or end the
// process after one that failed.
//
// A piece of work that calls such libraries begins with a MemoryReserve. Where an allocation of its
// threads fails, the reserve is given back to the system, the allocation is tried again, and the
// work goes on to the next place where it asks isOutOfMemory() and can end in good order. That
// holds in plugins, whose allocations pass pjrt/reserved_allocation.cc; elsewhere a failure is what
// it was.
#pragma once

#include <atomic>
#include <cstddef>

namespace isthmus {

// Memory that is held back for a piece of work, and what became of it.
class MemoryReserve {
 public:
  // What a stage of the compiler takes for a large program; untouched, it is only address space.
  static constexpr size_t kBytes = size_t{64} << 20;

  // For the work that this thread does until the object goes; an outer reserve waits meanwhile.
  MemoryReserve() noexcept;
  ~MemoryReserve();
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;

  // False if the system has not even the reserve: the work should not begin.
  bool isHeld() const { return share_.isSet(); }
  // Whether an allocation has failed since: the work should end with outOfHostMemory(). Any thread.
  bool wasNeeded() const { return wasNeeded_.load(std::memory_order_relaxed); }
  // Gives the reserve back, the first time; any thread. Whether it makes sense to ask again for so
  // many bytes, which have just been refused.
  bool release(size_t bytes) noexcept;

  // Of this thread's work; null if it has none. Allocates nothing.
  static MemoryReserve* current() noexcept;

  // While it exists this thread works for the owner of `reserve`, who waits for it; null: nothing.
  class Share {
   public:
    explicit Share(MemoryReserve* reserve) noexcept;
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    bool isSet() const { return isSet_; }

    // This thread begins to initialise a static variable of a function, or has ended to. What an
    // exception leaves half done in code without clean-up is given up when the object goes: others
    // would wait for ever. `guard` is the C++ library's.
    static void beginStatic(void* guard) noexcept;
    static void endStatic(void* guard) noexcept;

   private:
    friend class MemoryReserve;
    static constexpr int kMaxStatics = 32;

    MemoryReserve* const reserve_;
    Share* const before_;
    const bool isSet_;
    int numStatics_ = 0;
    void* statics_[kMaxStatics];
  };

 private:
  std::atomic<void*> memory_;
  std::atomic<bool> isReleased_;  // not before the system has it
  std::atomic<bool> wasNeeded_{false};
  Share share_;
};

// Whether an allocation of this thread's work has failed.
inline bool isOutOfMemory() noexcept {
  const MemoryReserve* reserve = MemoryReserve::current();
  return reserve != nullptr && reserve->wasNeeded();
}

}  // namespace isthmus

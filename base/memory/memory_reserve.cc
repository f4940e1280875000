// A mapping that nobody touches, for each piece of work: it counts towards limits on address space
// and on what is committed, which are what makes allocations fail.
#include "isthmus/memory_reserve.h"

#include <cxxabi.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>

namespace isthmus {
namespace {

// Not a thread_local variable: the C library ends the process if it finds no memory for the first
// use of one on a thread, and this is read when there is none.
struct Key {
  pthread_key_t key;
  bool isMade = pthread_key_create(&key, nullptr) == 0;
};
const Key kCurrent{};

void* mapReserve() {
  void* memory = mmap(nullptr, MemoryReserve::kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

using Share = MemoryReserve::Share;

Share* currentShare() noexcept {
  return kCurrent.isMade ? static_cast<Share*>(pthread_getspecific(kCurrent.key)) : nullptr;
}

bool setCurrent(Share* share) {
  return kCurrent.isMade && pthread_setspecific(kCurrent.key, share) == 0;
}

}  // namespace

MemoryReserve* MemoryReserve::current() noexcept {
  const Share* share = currentShare();
  return share != nullptr ? share->reserve_ : nullptr;
}

MemoryReserve::MemoryReserve() noexcept
    : memory_(mapReserve()), isReleased_(memory_ == nullptr), share_(memory_ ? this : nullptr) {}

MemoryReserve::~MemoryReserve() {
  if (void* memory = memory_.load(std::memory_order_relaxed)) munmap(memory, kBytes);
}

bool MemoryReserve::release(size_t bytes) noexcept {
  wasNeeded_.store(true, std::memory_order_relaxed);
  if (void* memory = memory_.exchange(nullptr)) {
    munmap(memory, kBytes);
    isReleased_.store(true, std::memory_order_release);
  }
  // Another thread of the work is at it; asking again before it is done would be too early.
  while (!isReleased_.load(std::memory_order_acquire)) sched_yield();
  return bytes < kBytes;
}

Share::Share(MemoryReserve* reserve) noexcept
    : reserve_(reserve), before_(currentShare()), isSet_(reserve != nullptr && setCurrent(this)) {}

Share::~Share() {
  if (!isSet_) return;
  while (numStatics_ > 0) {
    abi::__cxa_guard_abort(static_cast<abi::__guard*>(statics_[--numStatics_]));
  }
  setCurrent(before_);
}

void Share::beginStatic(void* guard) noexcept {
  Share* share = currentShare();
  if (share != nullptr && share->numStatics_ < kMaxStatics) {
    share->statics_[share->numStatics_++] = guard;
  }
}

void Share::endStatic(void* guard) noexcept {
  Share* share = currentShare();
  if (share == nullptr) return;
  void** end = share->statics_ + share->numStatics_;
  share->numStatics_ = static_cast<int>(std::remove(share->statics_, end, guard) - share->statics_);
}

}  // namespace isthmus

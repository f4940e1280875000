// Large blocks of host memory: whole mappings, of which some stay mapped for the next caller.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "runtime/memory/host_allocator.h"

namespace isthmus {

// Of all blocks: a cache line.
inline constexpr size_t kBlockAlignment = 64;
// Blocks from here on are large.
inline constexpr size_t kMinLargeBytes = 32769;
inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// Eight size classes per doubling. A fresh block costs a page fault per page, so those given back
// stay mapped, up to a bound in bytes and for a bounded time; both end with any later call. Safe
// from any thread.
class HostBlocks {
 public:
  HostBlocks();
  // Contents undefined, aligned to cache lines: arrays that all began with a page would share the
  // sets of the first-level cache, so that kernels with many of them push out what they need. Null
  // if there is no memory: what is in use and what is cached never exceed the limit together.
  void* take(size_t bytes);
  // `bytes` as in `take`.
  void give(void* data, size_t bytes);
  // The same of kHugePageBytes, aligned to that.
  void* takeAligned() { return takeOf(kAlignedClass); }
  void giveAligned(void* data) { giveOf(kAlignedClass, data); }
  void trim();
  HostAllocatorStats stats();

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  // A cached block; the node lies in the block itself.
  struct Cached {
    Cached* nextInClass;
    Cached* previousInClass;
    Cached* newer;
    Cached* older;
    int sizeClass;
    int64_t since;  // seconds
  };
  static constexpr int kAlignedClass = 8 * (56 - 15);  // the one before holds 2^56 bytes
  static constexpr int kClasses = kAlignedClass + 1;

  static int classOf(size_t bytes);
  static size_t classBytes(int index);
  void* takeOf(int index);
  void giveOf(int index, void* data);
  void* map(int index);
  static void unmap(void* block, int index);
  void link(Cached& block);
  void unlink(Cached& block);
  Cached* takeSurplus(int64_t bound, int64_t before);
  static void unmapAll(Cached* chain);

  std::mutex mutex_;
  std::array<Cached*, kClasses> cached_{};
  Cached* newest_ = nullptr;
  Cached* oldest_ = nullptr;
  int64_t usedBytes_ = 0;
  int64_t cachedBytes_ = 0;
  const int64_t limit_;
  int64_t cacheBound_ = 0;
  std::atomic<unsigned> mapped_{0};  // how many blocks have been
};

}  // namespace isthmus

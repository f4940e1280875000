// Size classes, per-thread lists of small blocks, and a bounded cache of large mappings.
#include "runtime/host_allocator.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>

#include "isthmus/flags.h"
#include "runtime/cgroup.h"

namespace isthmus {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ISTHMUS_BYPASS_POOL 1
#endif
#endif
#ifdef ISTHMUS_BYPASS_POOL
constexpr bool kBypassPool = true;
#else
constexpr bool kBypassPool = false;
#endif

// ---- Size classes: 64, 128, …, 1024, then four per doubling up to kLargestSmall -----------------

constexpr size_t kLinearLimit = 1024;
constexpr int kLinearClasses = kLinearLimit / kAlignment;
constexpr size_t kLargestSmall = 32768;
constexpr int kSmallClasses = kLinearClasses + 4 * 5;

int smallClass(size_t bytes) {
  if (bytes <= kLinearLimit) {
    return bytes == 0 ? 0 : static_cast<int>((bytes - 1) / kAlignment);
  }
  int octave = std::bit_width(bytes - 1) - 1;  // 2^octave < bytes <= 2^(octave + 1)
  int quarter = static_cast<int>((bytes - 1) >> (octave - 2)) & 3;
  return kLinearClasses + 4 * (octave - 10) + quarter;
}

size_t smallClassBytes(int index) {
  if (index < kLinearClasses) return static_cast<size_t>(index + 1) * kAlignment;
  int octave = 10 + (index - kLinearClasses) / 4;
  int quarter = (index - kLinearClasses) % 4;
  return static_cast<size_t>(5 + quarter) << (octave - 2);
}

// Large blocks: eight classes per doubling, in whole pages. The last class holds 2^56 bytes.
constexpr int kLargeClasses = 8 * (56 - 15);

int largeClass(size_t bytes) {
  int octave = std::bit_width(bytes - 1) - 1;
  int eighth = static_cast<int>((bytes - 1) >> (octave - 3)) & 7;
  return 8 * (octave - 15) + eighth;
}

size_t largeClassBytes(int index) {
  int octave = 15 + index / 8;
  return static_cast<size_t>(9 + index % 8) << (octave - 3);
}

// ---- The system
// -----------------------------------------------------------------------------------

void* mapPages(size_t bytes) {
  bool isHuge = bytes >= kHugePage;
  // Huge pages need an aligned start, which mmap gives only by mapping more and cutting.
  size_t mapped = isHuge ? bytes + kHugePage : bytes;
  void* raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  if (!isHuge) return raw;
  auto start = reinterpret_cast<uintptr_t>(raw);
  uintptr_t aligned = (start + kHugePage - 1) & ~(kHugePage - 1);
  if (aligned > start) munmap(raw, aligned - start);
  size_t tail = start + mapped - (aligned + bytes);
  if (tail > 0) munmap(reinterpret_cast<void*>(aligned + bytes), tail);
  madvise(reinterpret_cast<void*>(aligned), bytes, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(aligned);
}

struct FreeBlock {
  FreeBlock* next;
};

// A cached large block; the node lies in the block itself.
struct CachedBlock {
  CachedBlock* nextInClass;
  CachedBlock* previousInClass;
  CachedBlock* newer;
  CachedBlock* older;
  int sizeClass;
};

// ---- What all threads share
// -------------------------------------------------------------------------

struct CentralList {
  std::mutex mutex;
  FreeBlock* first = nullptr;
};

class Central {
 public:
  Central() : limit_(hostMemoryLimit()) {
    int64_t bound = flagInt("ISTHMUS_HOST_CACHE_BYTES");
    cacheBound_ = flagIsSet("ISTHMUS_HOST_CACHE_BYTES") ? std::max<int64_t>(bound, 0) : limit_ / 8;
  }

  // A chain of up to `count` blocks of a class, null if there is no memory.
  FreeBlock* takeSmall(int index, int count) {
    CentralList& list = small_[index];
    std::lock_guard lock(list.mutex);
    FreeBlock* chain = nullptr;
    for (; count > 0; --count) {
      if (list.first == nullptr && !refill(list, index)) break;
      FreeBlock* block = list.first;
      list.first = block->next;
      block->next = chain;
      chain = block;
    }
    return chain;
  }

  void giveSmall(int index, FreeBlock* first, FreeBlock* last) {
    CentralList& list = small_[index];
    std::lock_guard lock(list.mutex);
    last->next = list.first;
    list.first = first;
  }

  void* takeLarge(size_t bytes) {
    int index = largeClass(bytes);
    if (index >= kLargeClasses) return nullptr;
    size_t size = largeClassBytes(index);
    {
      std::lock_guard lock(largeMutex_);
      if (CachedBlock* block = cached_[index]) {
        unlink(*block);
        cachedBytes_ -= size;
        usedBytes_ += size;
        return block;
      }
      if (usedBytes_ + static_cast<int64_t>(size) > limit_) return nullptr;
      usedBytes_ += size;
    }
    void* block = mapPages(size);
    if (block == nullptr) {
      trim();
      block = mapPages(size);
    }
    if (block == nullptr) {
      std::lock_guard lock(largeMutex_);
      usedBytes_ -= size;
    }
    return block;
  }

  void giveLarge(void* data, size_t bytes) {
    int index = largeClass(bytes);
    size_t size = largeClassBytes(index);
    CachedBlock* surplus = nullptr;
    {
      std::lock_guard lock(largeMutex_);
      auto* block = static_cast<CachedBlock*>(data);
      block->sizeClass = index;
      link(*block);
      usedBytes_ -= size;
      cachedBytes_ += size;
      surplus = takeOldest(cacheBound_);
    }
    unmapAll(surplus);
  }

  void trim() {
    CachedBlock* surplus;
    {
      std::lock_guard lock(largeMutex_);
      surplus = takeOldest(0);
    }
    unmapAll(surplus);
  }

  HostAllocatorStats stats() {
    std::lock_guard lock(largeMutex_);
    return {usedBytes_, cachedBytes_, limit_};
  }

  void lockAll() {
    for (CentralList& list : small_) list.mutex.lock();
    spanMutex_.lock();
    largeMutex_.lock();
  }
  void unlockAll() {
    largeMutex_.unlock();
    spanMutex_.unlock();
    for (CentralList& list : small_) list.mutex.unlock();
  }

 private:
  // Cuts a span of fresh memory into blocks. Spans are never given back: small blocks are few.
  bool refill(CentralList& list, int index) {
    constexpr size_t kSpan = 128 << 10;
    char* span;
    {
      std::lock_guard lock(spanMutex_);
      if (spanBegin_ == spanEnd_) {
        spanBegin_ = static_cast<char*>(mapPages(kHugePage));
        if (spanBegin_ == nullptr) {
          spanEnd_ = nullptr;
          return false;
        }
        spanEnd_ = spanBegin_ + kHugePage;
      }
      span = spanBegin_;
      spanBegin_ += kSpan;
    }
    size_t size = smallClassBytes(index);
    for (size_t count = kSpan / size; count > 0; --count) {
      auto* block = reinterpret_cast<FreeBlock*>(span + (count - 1) * size);
      block->next = list.first;
      list.first = block;
    }
    return true;
  }

  void link(CachedBlock& block) {
    CachedBlock*& head = cached_[block.sizeClass];
    block.previousInClass = nullptr;
    block.nextInClass = head;
    if (head != nullptr) head->previousInClass = &block;
    head = &block;
    block.newer = nullptr;
    block.older = newest_;
    (newest_ != nullptr ? newest_->newer : oldest_) = &block;
    newest_ = &block;
  }

  void unlink(CachedBlock& block) {
    (block.previousInClass != nullptr ? block.previousInClass->nextInClass
                                      : cached_[block.sizeClass]) = block.nextInClass;
    if (block.nextInClass != nullptr) block.nextInClass->previousInClass = block.previousInClass;
    (block.newer != nullptr ? block.newer->older : newest_) = block.older;
    (block.older != nullptr ? block.older->newer : oldest_) = block.newer;
  }

  // Unlinks the blocks used longest ago until at most `bound` bytes stay; a chain by `older`.
  CachedBlock* takeOldest(int64_t bound) {
    CachedBlock* chain = nullptr;
    while (oldest_ != nullptr && cachedBytes_ > bound) {
      CachedBlock* block = oldest_;
      unlink(*block);
      cachedBytes_ -= largeClassBytes(block->sizeClass);
      block->older = chain;
      chain = block;
    }
    return chain;
  }

  static void unmapAll(CachedBlock* chain) {
    while (chain != nullptr) {
      CachedBlock* block = chain;
      chain = chain->older;
      munmap(block, largeClassBytes(block->sizeClass));
    }
  }

  std::array<CentralList, kSmallClasses> small_;
  std::mutex spanMutex_;
  char* spanBegin_ = nullptr;
  char* spanEnd_ = nullptr;

  std::mutex largeMutex_;
  std::array<CachedBlock*, kLargeClasses> cached_{};
  CachedBlock* newest_ = nullptr;
  CachedBlock* oldest_ = nullptr;
  int64_t usedBytes_ = 0;
  int64_t cachedBytes_ = 0;
  int64_t cacheBound_ = 0;
  const int64_t limit_;
};

Central& central() {
  // Never destroyed: threads may give memory back while the process exits.
  static Central& instance = *[] {
    auto* made = new Central;
    pthread_atfork([] { central().lockAll(); }, [] { central().unlockAll(); },
                   [] { central().unlockAll(); });
    return made;
  }();
  return instance;
}

// ---- Per thread
// ---------------------------------------------------------------------------------------

class ThreadCache {
 public:
  ~ThreadCache() {
    for (int index = 0; index < kSmallClasses; ++index) flush(index, 0);
    isAlive = false;
  }

  void* take(int index) {
    List& list = lists_[index];
    if (list.first == nullptr) {
      list.first = central().takeSmall(index, capacity(index) / 2);
      for (FreeBlock* block = list.first; block != nullptr; block = block->next) ++list.count;
      if (list.first == nullptr) return nullptr;
    }
    FreeBlock* block = list.first;
    list.first = block->next;
    --list.count;
    return block;
  }

  void give(int index, void* data) {
    List& list = lists_[index];
    auto* block = static_cast<FreeBlock*>(data);
    block->next = list.first;
    list.first = block;
    if (++list.count > capacity(index)) flush(index, capacity(index) / 2);
  }

  // False after the thread's cache has been destroyed: other destructors may still free memory.
  static thread_local bool isAlive;

 private:
  struct List {
    FreeBlock* first = nullptr;
    int count = 0;
  };

  static int capacity(int index) {
    constexpr size_t kBytesPerClass = 64 << 10;
    return std::clamp(static_cast<int>(kBytesPerClass / smallClassBytes(index)), 2, 64);
  }

  void flush(int index, int keep) {
    List& list = lists_[index];
    if (list.count <= keep) return;
    FreeBlock* first = list.first;
    FreeBlock* last = first;
    for (int i = list.count - keep; i > 1; --i) last = last->next;
    list.first = last->next;
    list.count = keep;
    central().giveSmall(index, first, last);
  }

  std::array<List, kSmallClasses> lists_;
};

thread_local bool ThreadCache::isAlive = true;
thread_local ThreadCache threadCache;

}  // namespace

int64_t hostMemoryLimit() {
  static const int64_t limit = [] {
    int64_t bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    if (auto group = readCgroupLimits().memoryBytes) bytes = std::min(bytes, *group);
    return bytes;
  }();
  return limit;
}

void* hostAllocate(size_t bytes) {
  if constexpr (kBypassPool) {
    if (bytes > static_cast<size_t>(hostMemoryLimit())) return nullptr;
    void* data = nullptr;
    return posix_memalign(&data, kAlignment, std::max<size_t>(bytes, 1)) == 0 ? data : nullptr;
  }
  if (bytes > kLargestSmall) return central().takeLarge(bytes);
  int index = smallClass(bytes);
  if (!ThreadCache::isAlive) return central().takeSmall(index, 1);
  return threadCache.take(index);
}

void hostDeallocate(void* data, size_t bytes) {
  if (data == nullptr) return;
  if constexpr (kBypassPool) {
    std::free(data);
    return;
  }
  if (bytes > kLargestSmall) {
    central().giveLarge(data, bytes);
    return;
  }
  int index = smallClass(bytes);
  if (!ThreadCache::isAlive) {
    auto* block = static_cast<FreeBlock*>(data);
    central().giveSmall(index, block, block);
    return;
  }
  threadCache.give(index, data);
}

void hostAllocatorTrim() {
  if constexpr (!kBypassPool) central().trim();
}

HostAllocatorStats hostAllocatorStats() { return central().stats(); }

}  // namespace isthmus

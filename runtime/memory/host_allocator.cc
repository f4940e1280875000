// Per-thread lists of small blocks, before what all threads share.
#include "runtime/memory/host_allocator.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>

#include "isthmus/flags.h"
#include "runtime/memory/cgroup.h"
#include "runtime/memory/guarded_blocks.h"
#include "runtime/memory/host_blocks.h"
#include "runtime/memory/host_spans.h"

namespace isthmus {
namespace {

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

// Asked once: a block goes back where it came from. Not a guarded static, as in hostMemoryLimit().
bool guards() {
  static std::atomic<int> known{-1};
  int value = known.load(std::memory_order_relaxed);
  if (value < 0) known.store(value = flagBool("ISTHMUS_GUARD_MEMORY"), std::memory_order_relaxed);
  return value != 0;
}

// What all threads share.
struct Central {
  HostBlocks blocks;
  HostSpans spans{blocks};
};

Central& central() {
  // Never destroyed: threads may give memory back while the process exits.
  static Central& instance = *[] {
    auto* made = new Central;
    auto unlock = [] {
      central().blocks.unlock();
      central().spans.unlock();
    };
    pthread_atfork(
        [] {
          central().spans.lock();
          central().blocks.lock();
        },
        unlock, unlock);
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
      list.first = central().spans.take(index, capacity(index) / 2);
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
    central().spans.give(index, first, last);
  }

  std::array<List, kSmallClasses> lists_;
};

thread_local bool ThreadCache::isAlive = true;
thread_local ThreadCache threadCache;

}  // namespace

int64_t hostMemoryLimit() {
  // Not a guarded static: the child of a fork would wait for ever for a thread that was
  // initialising it.
  static std::atomic<int64_t> known{0};
  if (int64_t bytes = known.load(std::memory_order_relaxed)) return bytes;
  int64_t bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  if (auto group = readCgroupLimits().memoryBytes) bytes = std::min(bytes, *group);
  known.store(bytes, std::memory_order_relaxed);
  return bytes;
}

void* hostAllocate(size_t bytes) {
  if constexpr (kBypassPool) {
    if (bytes > static_cast<size_t>(hostMemoryLimit())) return nullptr;
    void* data = nullptr;
    return posix_memalign(&data, kBlockAlignment, std::max<size_t>(bytes, 1)) == 0 ? data : nullptr;
  }
  if (guards()) return guardedAllocate(bytes);
  if (bytes >= kMinLargeBytes) return central().blocks.take(bytes);
  int index = smallClass(bytes);
  if (!ThreadCache::isAlive) return central().spans.take(index, 1);
  return threadCache.take(index);
}

void hostDeallocate(void* data, size_t bytes) {
  if (data == nullptr) return;
  if constexpr (kBypassPool) {
    std::free(data);
    return;
  }
  if (guards()) return guardedDeallocate(data, bytes);
  if (bytes >= kMinLargeBytes) {
    central().blocks.give(data, bytes);
    return;
  }
  int index = smallClass(bytes);
  if (!ThreadCache::isAlive) {
    auto* block = static_cast<FreeBlock*>(data);
    central().spans.give(index, block, block);
    return;
  }
  threadCache.give(index, data);
}

void hostAllocatorTrim() {
  if constexpr (kBypassPool) return;
  central().spans.trim();
  central().blocks.trim();
}

HostAllocatorStats hostAllocatorStats() { return central().blocks.stats(); }

}  // namespace isthmus

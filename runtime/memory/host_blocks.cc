// Mappings, and the list of cached ones in the order in which they were given back.
#include "runtime/memory/host_blocks.h"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <bit>

#include "isthmus/flags.h"

namespace isthmus {
namespace {

// A block that nobody took for so long goes back to the system.
constexpr int64_t kCachedSeconds = 10;

constexpr size_t kPageBytes = 4 << 10;
// From where one block begins in its page to where the next one does: a few cache lines, so that
// what a kernel writes is not within a vector of what it reads; odd, so that all are tried.
constexpr size_t kColourLines = 5;

int64_t nowSeconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec;
}

void* mapPages(size_t bytes) {
  bool isHuge = bytes >= kHugePageBytes;
  // Huge pages need an aligned start, which mmap gives only by mapping more and cutting.
  size_t mapped = isHuge ? bytes + kHugePageBytes : bytes;
  void* raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  if (!isHuge) return raw;
  auto start = reinterpret_cast<uintptr_t>(raw);
  uintptr_t aligned = (start + kHugePageBytes - 1) & ~(kHugePageBytes - 1);
  if (aligned > start) munmap(raw, aligned - start);
  size_t tail = start + mapped - (aligned + bytes);
  if (tail > 0) munmap(reinterpret_cast<void*>(aligned + bytes), tail);
  madvise(reinterpret_cast<void*>(aligned), bytes, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(aligned);
}

}  // namespace

HostBlocks::HostBlocks() : limit_(hostMemoryLimit()) {
  int64_t bound = flagInt("ISTHMUS_HOST_CACHE_BYTES");
  cacheBound_ = flagIsSet("ISTHMUS_HOST_CACHE_BYTES") ? std::max<int64_t>(bound, 0) : limit_ / 8;
}

int HostBlocks::classOf(size_t bytes) {
  int octave = std::bit_width(bytes - 1) - 1;  // 2^octave < bytes <= 2^(octave + 1)
  int eighth = static_cast<int>((bytes - 1) >> (octave - 3)) & 7;
  return 8 * (octave - 15) + eighth;
}

size_t HostBlocks::classBytes(int index) {
  if (index == kAlignedClass) return kHugePageBytes;
  int octave = 15 + index / 8;
  return static_cast<size_t>(9 + index % 8) << (octave - 3);
}

void* HostBlocks::map(int index) {
  if (index == kAlignedClass) return mapPages(kHugePageBytes);
  auto* pages = static_cast<char*>(mapPages(classBytes(index) + kPageBytes));
  if (pages == nullptr) return nullptr;
  const unsigned number = mapped_.fetch_add(1, std::memory_order_relaxed);
  return pages + number * kColourLines * kBlockAlignment % kPageBytes;
}

void HostBlocks::unmap(void* block, int index) {
  if (index == kAlignedClass) {
    munmap(block, kHugePageBytes);
    return;
  }
  auto* data = static_cast<char*>(block);
  munmap(data - reinterpret_cast<uintptr_t>(data) % kPageBytes, classBytes(index) + kPageBytes);
}

void* HostBlocks::take(size_t bytes) {
  const int index = classOf(bytes);
  return index >= kAlignedClass ? nullptr : takeOf(index);
}

void HostBlocks::give(void* data, size_t bytes) { giveOf(classOf(bytes), data); }

void* HostBlocks::takeOf(int index) {
  auto size = static_cast<int64_t>(classBytes(index));
  Cached* surplus = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (Cached* block = cached_[index]) {
      unlink(*block);
      cachedBytes_ -= size;
      usedBytes_ += size;
      return block;
    }
    if (usedBytes_ + size > limit_) return nullptr;
    usedBytes_ += size;
    surplus = takeSurplus(limit_ - usedBytes_, nowSeconds() - kCachedSeconds);
  }
  unmapAll(surplus);
  void* block = map(index);
  if (block == nullptr) {
    trim();
    block = map(index);
  }
  if (block == nullptr) {
    std::lock_guard lock(mutex_);
    usedBytes_ -= size;
  }
  return block;
}

void HostBlocks::giveOf(int index, void* data) {
  auto size = static_cast<int64_t>(classBytes(index));
  const int64_t now = nowSeconds();
  Cached* surplus = nullptr;
  {
    std::lock_guard lock(mutex_);
    auto* block = static_cast<Cached*>(data);
    block->sizeClass = index;
    block->since = now;
    link(*block);
    usedBytes_ -= size;
    cachedBytes_ += size;
    surplus = takeSurplus(cacheBound_, now - kCachedSeconds);
  }
  unmapAll(surplus);
}

void HostBlocks::trim() {
  Cached* surplus;
  {
    std::lock_guard lock(mutex_);
    surplus = takeSurplus(0, 0);
  }
  unmapAll(surplus);
}

HostAllocatorStats HostBlocks::stats() {
  std::lock_guard lock(mutex_);
  return {usedBytes_, cachedBytes_, limit_};
}

void HostBlocks::link(Cached& block) {
  Cached*& head = cached_[block.sizeClass];
  block.previousInClass = nullptr;
  block.nextInClass = head;
  if (head != nullptr) head->previousInClass = &block;
  head = &block;
  block.newer = nullptr;
  block.older = newest_;
  (newest_ != nullptr ? newest_->newer : oldest_) = &block;
  newest_ = &block;
}

void HostBlocks::unlink(Cached& block) {
  (block.previousInClass != nullptr ? block.previousInClass->nextInClass
                                    : cached_[block.sizeClass]) = block.nextInClass;
  if (block.nextInClass != nullptr) block.nextInClass->previousInClass = block.previousInClass;
  (block.newer != nullptr ? block.newer->older : newest_) = block.older;
  (block.older != nullptr ? block.older->newer : oldest_) = block.newer;
}

// Unlinks the blocks given back longest ago, until at most `bound` bytes stay and none that was
// given back before `before`; a chain by `older`.
HostBlocks::Cached* HostBlocks::takeSurplus(int64_t bound, int64_t before) {
  Cached* chain = nullptr;
  while (oldest_ != nullptr && (cachedBytes_ > bound || oldest_->since < before)) {
    Cached* block = oldest_;
    unlink(*block);
    cachedBytes_ -= static_cast<int64_t>(classBytes(block->sizeClass));
    block->older = chain;
    chain = block;
  }
  return chain;
}

void HostBlocks::unmapAll(Cached* chain) {
  while (chain != nullptr) {
    Cached* block = chain;
    chain = chain->older;
    unmap(block, block->sizeClass);
  }
}

}  // namespace isthmus

#include "backends/cuda/driver/memory/block_cache.h"

#include <algorithm>

namespace isthmus::cuda {
namespace {

// Of stream-ordered allocations.
constexpr size_t kGranuleBytes = 512;

size_t counted(size_t bytes) {
  return (std::max<size_t>(bytes, 1) + kGranuleBytes - 1) / kGranuleBytes * kGranuleBytes;
}

}  // namespace

void* BlockCache::take(size_t bytes) {
  std::lock_guard lock(mutex_);
  return sizes_.contains(bytes) ? remove(bytes, /*isOldest=*/false) : nullptr;
}

std::vector<void*> BlockCache::keep(void* data, size_t bytes) {
  std::lock_guard lock(mutex_);
  if (counted(bytes) > maxBytes_) return {data};
  std::vector<void*> freed;
  while (countedBytes_ + counted(bytes) > maxBytes_) {
    freed.push_back(remove(blocks_.front().bytes, /*isOldest=*/true));
  }
  blocks_.push_back({data, bytes});
  sizes_[bytes].push_back(std::prev(blocks_.end()));
  bytes_ += bytes;
  countedBytes_ += counted(bytes);
  return freed;
}

std::vector<void*> BlockCache::takeAll() {
  std::lock_guard lock(mutex_);
  std::vector<void*> all;
  for (const Block& block : blocks_) all.push_back(block.data);
  blocks_.clear();
  sizes_.clear();
  bytes_ = countedBytes_ = 0;
  return all;
}

size_t BlockCache::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

void* BlockCache::remove(size_t bytes, bool isOldest) {
  auto same = sizes_.find(bytes);
  const Place block = isOldest ? same->second.front() : same->second.back();
  isOldest ? same->second.pop_front() : same->second.pop_back();
  if (same->second.empty()) sizes_.erase(same);
  void* data = block->data;
  bytes_ -= bytes;
  countedBytes_ -= counted(bytes);
  blocks_.erase(block);
  return data;
}

}  // namespace isthmus::cuda

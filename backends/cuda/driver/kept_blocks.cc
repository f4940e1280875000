#include "backends/cuda/driver/kept_blocks.h"

#include <algorithm>

namespace isthmus::cuda {

void* KeptBlocks::take(size_t bytes) {
  std::lock_guard lock(mutex_);
  auto found = sizes_.find(bytes);
  return found == sizes_.end() ? nullptr : remove(found->second.back());
}

std::vector<void*> KeptBlocks::keep(void* data, size_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > mostBytes_) return {data};
  std::vector<void*> freed;
  while (bytes_ + bytes > mostBytes_) freed.push_back(remove(blocks_.begin()));
  blocks_.push_back({data, bytes});
  sizes_[bytes].push_back(std::prev(blocks_.end()));
  bytes_ += bytes;
  return freed;
}

std::vector<void*> KeptBlocks::takeAll() {
  std::lock_guard lock(mutex_);
  std::vector<void*> all;
  for (const Block& block : blocks_) all.push_back(block.data);
  blocks_.clear();
  sizes_.clear();
  bytes_ = 0;
  return all;
}

size_t KeptBlocks::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

void* KeptBlocks::remove(Place block) {
  void* data = block->data;
  auto same = sizes_.find(block->bytes);
  same->second.erase(std::find(same->second.begin(), same->second.end(), block));
  if (same->second.empty()) sizes_.erase(same);
  bytes_ -= block->bytes;
  blocks_.erase(block);
  return data;
}

}  // namespace isthmus::cuda

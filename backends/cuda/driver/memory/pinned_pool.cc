#include "backends/cuda/driver/memory/pinned_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace isthmus::cuda {
namespace {

constexpr size_t kSmallestBytes = 4 << 10;
constexpr size_t kStepBytes = 32 << 20;  // of large blocks

// Few sizes, so that blocks fit others later.
size_t rounded(size_t bytes) {
  if (bytes > kStepBytes) return (bytes + kStepBytes - 1) / kStepBytes * kStepBytes;
  return std::bit_ceil(std::max(bytes, kSmallestBytes));
}

}  // namespace

PinnedPool::Block& PinnedPool::Block::operator=(Block&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

PinnedPool::Block::~Block() {
  if (pool_) pool_->give(data_, bytes_);
}

StatusOr<PinnedPool::Block> PinnedPool::take(size_t bytes) {
  if (bytes > sizes_.largestBlockBytes) {
    return resourceExhausted("no page-locked block of ", bytes, " bytes is made for a copy");
  }
  size_t size = rounded(bytes);
  {
    std::lock_guard lock(mutex_);
    std::vector<void*>& blocks = kept_[size];
    if (!blocks.empty()) {
      Block block(this, blocks.back(), size);
      blocks.pop_back();
      keptBytes_ -= size;
      return block;
    }
    if (bytes_ + size > kMaxBytes) {
      return resourceExhausted("copies have ", bytes_, " bytes of page-locked memory already");
    }
    bytes_ += size;
  }
  StatusOr<void*> data = driver_.allocateHost(size);
  if (data.ok()) return Block(this, *data, size);
  std::lock_guard lock(mutex_);
  bytes_ -= size;
  return data.status();
}

void PinnedPool::give(void* data, size_t bytes) {
  {
    std::lock_guard lock(mutex_);
    if (keptBytes_ + bytes <= kMaxKeptBytes) {
      kept_[bytes].push_back(data);
      keptBytes_ += bytes;
      return;
    }
    bytes_ -= bytes;
  }
  driver_.freeHost(data);
}

}  // namespace isthmus::cuda

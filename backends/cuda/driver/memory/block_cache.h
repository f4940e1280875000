// Memory of a device that was freed and waits for an allocation of its size: programs that run
// again and again ask for the same sizes, and the driver takes microseconds for each.
#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace isthmus::cuda {

// Blocks that nothing on the device uses any more. Thread-safe.
class BlockCache {
 public:
  // Keeps up to `maxBytes` bytes, of which small blocks count as much as the driver gives them.
  explicit BlockCache(size_t maxBytes) : maxBytes_(maxBytes) {}

  // One of exactly `bytes` bytes, the one kept last, which is the caller's; null if there is none.
  void* take(size_t bytes);
  // Returns the blocks that are to be freed instead, which were kept longest ago or are too large.
  std::vector<void*> keep(void* data, size_t bytes);
  // All, which are the caller's.
  std::vector<void*> takeAll();
  size_t bytes() const;

 private:
  struct Block {
    void* data;
    size_t bytes;
  };
  using Place = std::list<Block>::iterator;

  // Of a size, the oldest or the newest.
  void* remove(size_t bytes, bool isOldest);

  const size_t maxBytes_;
  mutable std::mutex mutex_;
  size_t bytes_ = 0, countedBytes_ = 0;
  std::list<Block> blocks_;                              // the oldest first
  std::unordered_map<size_t, std::deque<Place>> sizes_;  // of each size, the oldest first
};

}  // namespace isthmus::cuda

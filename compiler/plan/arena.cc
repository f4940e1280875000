// Best-fit placement of blocks by decreasing size.
#include "compiler/plan/arena.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace isthmus {
namespace {

int64_t alignUp(int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

}  // namespace

int64_t placeBlocks(std::span<ArenaBlock> blocks) {
  std::vector<ArenaBlock*> order;
  for (ArenaBlock& block : blocks) order.push_back(&block);
  std::sort(order.begin(), order.end(), [](const ArenaBlock* a, const ArenaBlock* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a < b;
  });

  int64_t arenaBytes = 0;
  std::vector<ArenaBlock*> placed;  // by offset
  for (ArenaBlock* block : order) {
    int64_t need = alignUp(block->bytes);
    int64_t bestOffset = -1;
    int64_t bestGap = std::numeric_limits<int64_t>::max();
    int64_t cursor = 0;  // end of what is alive together with the block so far
    for (const ArenaBlock* other : placed) {
      if (other->lifetime.end < block->lifetime.begin ||
          block->lifetime.end < other->lifetime.begin) {
        continue;
      }
      int64_t gap = other->offset - cursor;
      if (gap >= need && gap < bestGap) {
        bestGap = gap;
        bestOffset = cursor;
      }
      cursor = std::max(cursor, other->offset + alignUp(other->bytes));
    }
    block->offset = bestOffset >= 0 ? bestOffset : cursor;
    arenaBytes = std::max(arenaBytes, block->offset + need);
    auto position = std::upper_bound(
        placed.begin(), placed.end(), block,
        [](const ArenaBlock* a, const ArenaBlock* b) { return a->offset < b->offset; });
    placed.insert(position, block);
  }
  return arenaBytes;
}

}  // namespace isthmus

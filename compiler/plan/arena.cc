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

bool meet(const Lifetime& a, const Lifetime& b) { return a.begin <= b.end && b.begin <= a.end; }

// Whether the block found a room.
bool placeInRoom(ArenaBlock& block, std::span<Room> rooms) {
  for (size_t r = 0; r < rooms.size(); ++r) {
    const Room& room = rooms[r];
    const bool isTaken = std::any_of(room.taken.begin(), room.taken.end(),
                                     [&](const Lifetime& l) { return meet(l, block.lifetime); });
    if (isTaken || room.bytes < block.bytes) continue;
    if (block.room < 0 || room.bytes < rooms[block.room].bytes) block.room = static_cast<int>(r);
  }
  if (block.room >= 0) rooms[block.room].taken.push_back(block.lifetime);
  return block.room >= 0;
}

}  // namespace

int64_t placeBlocks(std::span<ArenaBlock> blocks, std::span<Room> rooms) {
  std::vector<ArenaBlock*> order;
  for (ArenaBlock& block : blocks) order.push_back(&block);
  // Of one size the last first: rooms are lent until some time, and what is alive then must not
  // find the next one taken by what comes before.
  std::sort(order.begin(), order.end(), [](const ArenaBlock* a, const ArenaBlock* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a > b;
  });
  std::erase_if(order, [&](ArenaBlock* block) { return placeInRoom(*block, rooms); });
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
      if (!meet(other->lifetime, block->lifetime)) continue;
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

// Places blocks with known lifetimes in one arena, or in memory that is free for a while.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/plan/liveness.h"

namespace isthmus {

struct ArenaBlock {
  Lifetime lifetime;
  int64_t bytes = 0;
  int64_t offset = 0;  // filled in: in the arena
  int room = -1;       // filled in: the room whose beginning it has instead; -1: none
};

// Memory besides the arena, which holds one block at a time.
struct Room {
  int64_t bytes = 0;
  std::vector<Lifetime> taken;  // when it holds something; what is placed there is added
};

// What whoever lays out memory promises to code for any machine: at least the longest vector's
// and a line of a cache. Where buffers of the runtime begin as well.
inline constexpr int64_t kArenaAlignment = 64;

// Gives every block a room, or an aligned offset such that blocks alive together are disjoint;
// returns the arena's size. Larger blocks are placed first, each into the smallest room, or else
// gap, that holds it.
int64_t placeBlocks(std::span<ArenaBlock> blocks, std::span<Room> rooms = {});

}  // namespace isthmus

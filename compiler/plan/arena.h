// Places blocks with known lifetimes in one arena.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/plan/liveness.h"

namespace isthmus {

struct ArenaBlock {
  Lifetime lifetime;
  int64_t bytes = 0;
  int64_t offset = 0;  // filled in
};

inline constexpr int64_t kArenaAlignment = 64;

// Gives every block an aligned offset such that blocks alive together are disjoint; returns the
// arena's size. Larger blocks are placed first, each into the smallest gap that holds it.
int64_t placeBlocks(std::span<ArenaBlock> blocks);

}  // namespace isthmus

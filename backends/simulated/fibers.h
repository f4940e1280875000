// Threads of a group on one thread of the host: they take turns, and each turn ends at a barrier.
#pragma once

#include <functional>

namespace isthmus::simulated {

// Calls `thread(0)` … `thread(count - 1)`, each on a stack of its own, and returns when all have.
void runGroup(unsigned count, const std::function<void(unsigned)>& thread);

// Within `thread`: goes on when all others are here too, or have returned.
void groupBarrier();

}  // namespace isthmus::simulated

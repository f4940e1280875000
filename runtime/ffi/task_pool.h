// The threads that handlers may schedule work on.
#pragma once

#include <cstdint>

namespace isthmus::ffi {

// Runs `task(data)` on some thread of the pool, soon. The pool has computeThreads() threads, and
// gets another one whenever all of them are stuck while tasks wait: tasks may wait for each other.
void scheduleTask(void (*task)(void* data), void* data);

}  // namespace isthmus::ffi

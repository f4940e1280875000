// The process's one pool of compute threads, and parallel loops on it.
#pragma once

#include <cstdint>
#include <type_traits>

namespace isthmus {

using TileFunction = void (*)(void* context, int64_t begin, int64_t end);

// Threads that a parallel loop can use, the calling one included: ISTHMUS_NUM_THREADS, else
// OMP_NUM_THREADS, else the CPUs that affinity and the control group's quota leave us.
int computeThreads();

// Calls `function` on disjoint ranges that cover [0, tiles), none smaller than `grain` but the
// last; on the calling thread and on up to `maxThreads` - 1 others. Returns when all are done. A
// call from inside another one runs on its own thread. Several threads may call at once; they share
// the pool. Starts the threads at its first use, and again in a child made by fork().
void parallelFor(int64_t tiles, int64_t grain, TileFunction function, void* context,
                 int maxThreads = 1 << 16);

// The same for a callable `void(int64_t begin, int64_t end)`.
template <typename F>
void parallelFor(int64_t tiles, int64_t grain, F&& function) {
  parallelFor(
      tiles, grain,
      [](void* context, int64_t begin, int64_t end) {
        (*static_cast<std::remove_reference_t<F>*>(context))(begin, end);
      },
      const_cast<void*>(static_cast<const void*>(&function)));
}

}  // namespace isthmus

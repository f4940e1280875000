// IsthmusRun::parallelFor of programs that run by the services of a launch.
#pragma once

#include <cstdint>

#include "backends/cpu/abi.h"
#include "isthmus/run_services.h"

namespace isthmus::cpu {

// Runs all tiles of `kernel`, at least `grain` of them at a time, on the threads of the run.
// Blocks.
inline void splitKernel(IsthmusRun* run, IsthmusKernel kernel, void* const* buffers, int64_t tiles,
                        int64_t grain) {
  struct Call {
    IsthmusKernel kernel;
    void* const* buffers;
  } call{kernel, buffers};
  auto runTiles = [](void* context, int64_t begin, int64_t end) {
    const Call& call = *static_cast<const Call*>(context);
    call.kernel(call.buffers, begin, end);
  };
  run->services->parallelFor(tiles, grain, runTiles, &call);
}

}  // namespace isthmus::cpu

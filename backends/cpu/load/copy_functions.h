// isthmus_rt_copy and isthmus_rt_swap: moves of whole arrays between places of a program.
#pragma once

#include <cstdint>

#include "backends/cpu/abi.h"

namespace isthmus::cpu {

struct MoveDescriptor {
  int64_t bytes;
  int64_t grainBytes;  // the least that one thread is handed
};

// buffers: from, to; they do not overlap.
extern "C" int32_t isthmus_rt_copy(IsthmusRun* run, const void* descriptor, void* const* buffers);
// buffers: the two places whose contents are exchanged; they do not overlap.
extern "C" int32_t isthmus_rt_swap(IsthmusRun* run, const void* descriptor, void* const* buffers);

}  // namespace isthmus::cpu

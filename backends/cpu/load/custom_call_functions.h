// Custom calls: isthmus_rt_custom_call.
#pragma once

#include <cstdint>

#include "backends/cpu/abi.h"

namespace isthmus::cpu {

// buffers: the operands, then the results, tokens left out. The handler, its types and attributes
// are the executable's call site of this index.
struct CustomCallDescriptor {
  int32_t callSite;
};

extern "C" int32_t isthmus_rt_custom_call(IsthmusRun* run, const void* descriptor,
                                          void* const* buffers);

}  // namespace isthmus::cpu

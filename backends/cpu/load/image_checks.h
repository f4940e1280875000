// What must hold of an executable that comes from a file, before anybody indexes by its numbers.
#pragma once

#include "backends/cpu/load/serialization.h"
#include "isthmus/status.h"

namespace isthmus::cpu {

// kInvalidArgument naming the first field that contradicts itself or another one: types, device
// assignments, aliases, custom calls, sizes. The code itself is not looked at.
Status checkImage(const ProgramImage& image);

}  // namespace isthmus::cpu

// What must hold of an executable that comes from a file, before anybody indexes by its numbers.
#pragma once

#include <string_view>
#include <vector>

#include "backends/cpu/load/serialization.h"
#include "isthmus/status.h"

namespace isthmus::cpu {

// kInvalidArgument naming the first field that contradicts itself or another one: types, device
// assignments, aliases, custom calls, sizes. The code itself is not looked at.
Status checkImage(const ProgramImage& image);

// The parts that executables of devices have as well.
Status checkInfo(const ProgramInfo& info);
Status checkCalls(const std::vector<ffi::CallSpec>& calls);
Status contradiction(std::string_view field);

}  // namespace isthmus::cpu

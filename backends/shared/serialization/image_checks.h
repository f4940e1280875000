// What must hold of an executable that comes from a file, before anybody indexes by its numbers.
#pragma once

#include <string_view>
#include <vector>

#include "base/program/custom_call.h"
#include "isthmus/backend.h"
#include "isthmus/status.h"

namespace isthmus {

// kInvalidArgument naming the first field that contradicts itself or another one: types, device
// assignments, aliases, sizes.
Status checkInfo(const ProgramInfo& info);
Status checkCalls(const std::vector<ffi::CallSpec>& calls);
// The error of a field that does.
Status contradiction(std::string_view field);

}  // namespace isthmus

// Loops that only the host computes in, as functions of it.
#pragma once

#include <vector>

#include "compiler/driver/device_program.h"
#include "isthmus/status.h"

namespace isthmus {

// Gives each loop of which the host carries out all steps, and that is in no other such loop, a
// function of the host, whose number `add` returns: Loop::onHost.
Status addHostLoops(std::vector<Step>& steps, llvm::function_ref<StatusOr<int>(const Loop&)> add);

}  // namespace isthmus

// Programs compared with the reference evaluator while they run: ISTHMUS_COMPARE.
#pragma once

#include <functional>
#include <memory>

#include "isthmus/backend.h"

namespace isthmus {

// Compiles a program, or a part of one.
using CompileFunction =
    std::function<StatusOr<std::shared_ptr<const Executable>>(const CompileRequest& request)>;

// `compiled`, of which each run also evaluates the program as it came. If a result differs by more
// than roundings explain, the run fails with kInternal, which names the stage of the compiler that
// changes the result, if one does, and the first operation whose own result differs when the
// program is compiled (by `compile`) to compute nothing else; with its source position.
//
// What cannot be compared runs uncompared, which is logged once: programs for several devices,
// random numbers, calls that the evaluator does not know, evaluations of too many steps. For
// finding errors: runs are slow, and one at a time is evaluated.
std::shared_ptr<const Executable> compareWithReference(std::shared_ptr<const Executable> compiled,
                                                       const CompileRequest& request,
                                                       CompileFunction compile);

}  // namespace isthmus

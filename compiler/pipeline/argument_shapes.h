// Sizes that a program leaves open and its caller gives.
#pragma once

#include "isthmus/backend.h"
#include "isthmus/status.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus {

// Notes the shapes of `options` at those parameters of @main that have dimensions without a size or
// a bound, for the refine-shapes pass. kUnimplemented if there are none in `options`,
// kInvalidArgument if they contradict the parameters' types.
Status noteArgumentShapes(mlir::ModuleOp module, const CompileOptions& options);

}  // namespace isthmus

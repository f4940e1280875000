// Several small collectives as one, which meets the other devices once.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace isthmus {

// Makes one all_reduce of those of a block that reduce alike among the same devices, and puts off
// what is computed of them until then. What one reduces is bounded, since its operands live as
// long.
void combineAllReduces(mlir::ModuleOp module);

}  // namespace isthmus

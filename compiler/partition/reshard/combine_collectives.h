// Several small collectives as one, which meets the other devices once.
#pragma once

#include "compiler/target/target_model.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus {

// Makes one collective of those of a block that are alike and whose operands are there before any
// of their results is needed, and puts off what is computed of them until then. all_reduces keep
// operands and results of their own; of the others the small ones are joined, by sending what they
// send one behind the other. What waits is bounded, since it is alive together.
void combineCollectives(mlir::ModuleOp module, const TargetModel& target);

}  // namespace isthmus

// The simplest fuser there is: every operation that computes becomes a fusion of its own.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace isthmus::cpu::testing {

// For tests of what comes after the middle, without the middle.
void fuseOneByOne(mlir::ModuleOp module);

}  // namespace isthmus::cpu::testing

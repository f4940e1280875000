// A program as other readers of StableHLO know it.
#pragma once

#include "compiler/dialect/dialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus {

// Makes a program of core StableHLO one that XLA's clients of 2025 and newer read and convert to
// HLO: operations of chlo become custom calls of their names, attributes of ours go. The shardings
// of a program of several partitions become attributes of the module, where clients look for them.
void makePortable(mlir::ModuleOp module);

}  // namespace isthmus

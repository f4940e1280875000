// How long a kernel will take, roughly: enough to decide whether threads pay and how to tile.
#pragma once

#include "compiler/dialect/isthmus.h"
#include "compiler/target/target_model.h"
#include "llvm/ADT/ArrayRef.h"

namespace isthmus {

// Nanoseconds on one thread for computing `roots` of `fusion`: the larger of memory traffic and
// arithmetic.
double costNs(const TargetModel& target, ir::FusionOp fusion, llvm::ArrayRef<mlir::Value> roots);

// Vector instructions per element that `op` takes, about.
double arithmeticWeight(mlir::Operation* op);

}  // namespace isthmus

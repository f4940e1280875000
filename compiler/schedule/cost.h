// How long a kernel will take, roughly: enough to decide whether threads pay and how to tile.
#pragma once

#include "compiler/dialect/isthmus.h"
#include "compiler/target/target_model.h"
#include "llvm/ADT/ArrayRef.h"

namespace isthmus {

// Nanoseconds on one thread for computing `roots` of `fusion`: the larger of memory traffic and
// arithmetic.
double costNs(const TargetModel& target, ir::FusionOp fusion, llvm::ArrayRef<mlir::Value> roots);

// Of a dot_general, a convolution or the like with so many multiplications, on one thread.
double contractionNs(const TargetModel& target, double products);
double contractionNs(const TargetModel& target, shlo::DotGeneralOp dot);

// Vector instructions per element that `op` takes, about.
double arithmeticWeight(mlir::Operation* op);

// Vector instructions for each time that the regions of `op` are evaluated, beyond the one
// operation that its own weight stands for. A loop counts as very long.
double bodyWeight(mlir::Operation* op);

}  // namespace isthmus

// Reductions that are made after the model of another one.
#pragma once

#include <cstdint>

#include "compiler/dialect/dialect.h"
#include "llvm/ADT/ArrayRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/ValueRange.h"

namespace isthmus {

// A reduction of `inputs`, arrays of one static shape, over `dimensions` by the combiner of `like`,
// with its initial values.
shlo::ReduceOp reduceOver(mlir::OpBuilder& builder, shlo::ReduceOp like, mlir::ValueRange inputs,
                          llvm::ArrayRef<int64_t> dimensions);

// Which dimension of the result dimension `dim` of an array is, where `reduced` are reduced and it
// is not one of them.
int64_t keptDimension(llvm::ArrayRef<int64_t> reduced, int64_t dim);

}  // namespace isthmus

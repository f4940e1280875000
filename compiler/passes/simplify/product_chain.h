// What lies between a product and what is computed of it element by element.
#pragma once

#include "compiler/dialect/dialect.h"

namespace isthmus {

// Whether it computes one static array element by element, by no code of its own.
bool isPlainElementwise(mlir::Operation* op);

// Whether it reduces one array along its last dimension, which is number rank - 1, and no other.
bool reducesLast(mlir::Operation* op, int64_t rank);

// The one operand of an elementwise operation that is not the same number everywhere; null if there
// are more.
mlir::Value onlyArray(mlir::Operation* op);

// The product that `value` is, or is computed of by scaling, converting and the like, each read
// once; null if there is none.
shlo::DotGeneralOp productBehind(mlir::Value value);

// The same of a reduction, which others may read as well.
shlo::ReduceOp reductionBehind(mlir::Value value);

// Whether all that is computed of transposed rows, until products read it, can as well be computed
// of the rows before the transpose, which the products then take in (transposed_rows.cc).
bool canFollowRows(shlo::TransposeOp op);

}  // namespace isthmus

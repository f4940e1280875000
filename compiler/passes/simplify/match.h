// Small questions that many rewrite rules ask.
#pragma once

#include <optional>

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"

namespace isthmus {

// The constant that defines `value`, looking through broadcasts and reshapes of splats; null if
// there is none.
mlir::DenseElementsAttr constantSplat(mlir::Value value);

// Whether the array's shape is neither open nor bounded.
bool hasFixedShape(mlir::Value value);

// Whether every element of `value` is known to be this number (any integer, float or boolean type).
bool isSplatOf(mlir::Value value, double number);

// Whether every element is +0.0, or 0 for integers.
bool isPositiveZero(mlir::Value value);

// The value of a constant integer array of any shape, in row-major order.
std::optional<llvm::SmallVector<int64_t>> constantIntegers(mlir::Value value);

}  // namespace isthmus

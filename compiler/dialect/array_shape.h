// Sizes and shapes of tensor types.
#pragma once

#include <cstdint>

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace isthmus {

// The type of a value that is known to be a ranked tensor.
inline mlir::RankedTensorType tensorTypeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

// Elements of a ranked, static tensor; 0 for anything else.
int64_t elementCount(mlir::Type type);

// The dimensions other than 1: two arrays of equal squeezed shapes have the same row-major order.
llvm::SmallVector<int64_t> squeezedShape(mlir::Type type);

// Bytes of one element in memory; 0 for types that are not stored.
int64_t elementBytes(mlir::Type type);

}  // namespace isthmus

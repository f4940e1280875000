// Sizes and shapes of tensor types.
#pragma once

#include <cstdint>

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "mlir/IR/ValueRange.h"

namespace isthmus {

// The type of a value that is known to be a ranked tensor.
inline mlir::RankedTensorType tensorTypeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

// Of a ranked tensor; none for anything else.
llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);
inline int64_t rankOf(mlir::Value value) { return static_cast<int64_t>(shapeOf(value).size()); }

// Whether a type is a ranked tensor without open sizes; those of bounded sizes are.
bool isStaticArray(mlir::Type type);
inline bool isStaticArray(mlir::Value value) { return isStaticArray(value.getType()); }
// Whether all operands and results are.
bool hasStaticArrays(mlir::Operation* op);

// Elements of a ranked, static tensor; 0 for anything else.
int64_t elementCount(mlir::Type type);
inline int64_t elementCount(mlir::Value value) { return elementCount(value.getType()); }

// The dimensions other than 1: two arrays of equal squeezed shapes have the same row-major order.
llvm::SmallVector<int64_t> squeezedShape(mlir::Type type);

// Of a dense row-major array, in elements.
llvm::SmallVector<int64_t, 6> stridesOf(llvm::ArrayRef<int64_t> shape);

// Bytes of one element in memory; 0 for types that are not stored.
int64_t elementBytes(mlir::Type type);

// Bytes of a ranked, static tensor, of one or of several; 0 for anything else. Where arrays may be
// larger than memory, or it matters why one has no size: byteSize() of byte_size.h.
int64_t arrayBytes(mlir::Type type);
int64_t arrayBytes(mlir::ValueRange values);

}  // namespace isthmus

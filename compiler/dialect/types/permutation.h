// Permutations of an array's dimensions, as `transpose` takes them.
#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus {

// Whether `permutation` is 0, 1, 2, ….
inline bool isIdentity(llvm::ArrayRef<int64_t> permutation) {
  return llvm::equal(permutation, llvm::seq<int64_t>(permutation.size()));
}

// The permutation that takes each dimension back: inverse[permutation[i]] is i.
inline llvm::SmallVector<int64_t> inverseOf(llvm::ArrayRef<int64_t> permutation) {
  llvm::SmallVector<int64_t> inverse(permutation.size());
  for (auto [place, dim] : llvm::enumerate(permutation)) inverse[dim] = static_cast<int64_t>(place);
  return inverse;
}

// The type of an array that is transposed: its dimension i is dimension permutation[i] of `array`.
inline mlir::RankedTensorType permuted(mlir::Type array, llvm::ArrayRef<int64_t> permutation) {
  auto type = llvm::cast<mlir::RankedTensorType>(array);
  llvm::SmallVector<int64_t> shape;
  for (int64_t dim : permutation) shape.push_back(type.getDimSize(dim));
  return mlir::RankedTensorType::get(shape, type.getElementType());
}

// Whether no elements change their order: only dimensions of size 1 move.
inline bool keepsElements(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> permutation) {
  llvm::SmallVector<int64_t> moved;
  for (int64_t dim : permutation) {
    if (shape[dim] != 1) moved.push_back(dim);
  }
  return llvm::is_sorted(moved);
}

}  // namespace isthmus

// Arrays with one dimension seen as two.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus {

// `type` with dimension `dim` as `parts` times the rest; `parts` divides its size.
inline mlir::RankedTensorType splitType(mlir::RankedTensorType type, int64_t dim, int64_t parts) {
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= parts;
  shape.insert(shape.begin() + dim, parts);
  return mlir::RankedTensorType::get(shape, type.getElementType());
}

}  // namespace isthmus

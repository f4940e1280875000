#include "compiler/dialect/array_shape.h"

#include "compiler/dialect/types.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus {

int64_t elementCount(mlir::Type type) {
  auto ranked = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return ranked && ranked.hasStaticShape() ? ranked.getNumElements() : 0;
}

llvm::SmallVector<int64_t> squeezedShape(mlir::Type type) {
  llvm::SmallVector<int64_t> shape;
  for (int64_t extent : llvm::cast<mlir::RankedTensorType>(type).getShape()) {
    if (extent != 1) shape.push_back(extent);
  }
  return shape;
}

int64_t elementBytes(mlir::Type type) {
  return static_cast<int64_t>(elementSizeBytes(toElementType(mlir::getElementTypeOrSelf(type))));
}

}  // namespace isthmus

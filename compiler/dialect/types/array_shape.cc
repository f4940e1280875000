#include "compiler/dialect/types/array_shape.h"

#include "base/program/strided_array.h"

#include "compiler/dialect/types/type_conversion.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus {

llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type ? type.getShape() : llvm::ArrayRef<int64_t>();
}

bool isStaticArray(mlir::Type type) {
  auto ranked = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return ranked && ranked.hasStaticShape();
}

bool hasStaticArrays(mlir::Operation* op) {
  auto isStatic = [](mlir::Type type) { return isStaticArray(type); };
  return llvm::all_of(op->getOperandTypes(), isStatic) &&
         llvm::all_of(op->getResultTypes(), isStatic);
}

int64_t elementCount(mlir::Type type) {
  return isStaticArray(type) ? llvm::cast<mlir::RankedTensorType>(type).getNumElements() : 0;
}

llvm::SmallVector<int64_t> squeezedShape(mlir::Type type) {
  llvm::SmallVector<int64_t> shape;
  for (int64_t extent : llvm::cast<mlir::RankedTensorType>(type).getShape()) {
    if (extent != 1) shape.push_back(extent);
  }
  return shape;
}

llvm::SmallVector<int64_t, 6> stridesOf(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t, 6> strides(shape.size());
  setRowMajorStrides(shape, strides);
  return strides;
}

int64_t elementBytes(mlir::Type type) {
  return static_cast<int64_t>(elementSizeBytes(toElementType(mlir::getElementTypeOrSelf(type))));
}

int64_t arrayBytes(mlir::Type type) { return elementCount(type) * elementBytes(type); }

int64_t arrayBytes(mlir::ValueRange values) {
  int64_t bytes = 0;
  for (mlir::Value value : values) bytes += arrayBytes(value.getType());
  return bytes;
}

}  // namespace isthmus

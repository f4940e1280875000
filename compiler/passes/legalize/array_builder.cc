#include "compiler/passes/legalize/array_builder.h"

#include "mlir/IR/Builders.h"

namespace isthmus {

mlir::Value ArrayBuilder::splat(double number, Type type) {
  mlir::Type element = type.getElementType();
  mlir::Attribute value;
  if (llvm::isa<mlir::FloatType>(element)) {
    value = builder_.getFloatAttr(element, number);
  } else {
    value = builder_.getIntegerAttr(element, static_cast<int64_t>(number));
  }
  return shlo::ConstantOp::create(builder_, location_, mlir::DenseElementsAttr::get(type, value));
}

mlir::Value ArrayBuilder::zeros(Type type) {
  auto complex = llvm::dyn_cast<mlir::ComplexType>(type.getElementType());
  if (!complex) return splat(0, type);
  mlir::Attribute part = builder_.getZeroAttr(complex.getElementType());
  auto number = mlir::ArrayAttr::get(builder_.getContext(), {part, part});
  return shlo::ConstantOp::create(
      builder_, location_,
      mlir::DenseElementsAttr::get(type, llvm::ArrayRef<mlir::Attribute>{number}));
}

mlir::Value ArrayBuilder::convert(Value value, mlir::Type elementType) {
  if (typeOf(value).getElementType() == elementType) return value;
  return shlo::ConvertOp::create(builder_, location_, typeOf(value).clone(elementType), value);
}

mlir::Value ArrayBuilder::broadcast(Value value, llvm::ArrayRef<int64_t> shape,
                                    llvm::ArrayRef<int64_t> dimensions) {
  return shlo::BroadcastInDimOp::create(
      builder_, location_, Type::get(shape, typeOf(value).getElementType()), value, dimensions);
}

mlir::Value ArrayBuilder::reshape(Value value, llvm::ArrayRef<int64_t> shape) {
  if (typeOf(value).getShape() == shape) return value;
  return shlo::ReshapeOp::create(builder_, location_,
                                 Type::get(shape, typeOf(value).getElementType()), value);
}

}  // namespace isthmus

#include "compiler/passes/legalize/array_builder.h"

#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

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
  if (tensorTypeOf(value).getElementType() == elementType) return value;
  return shlo::ConvertOp::create(builder_, location_, tensorTypeOf(value).clone(elementType),
                                 value);
}

mlir::Value ArrayBuilder::broadcast(Value value, llvm::ArrayRef<int64_t> shape,
                                    llvm::ArrayRef<int64_t> dimensions) {
  return shlo::BroadcastInDimOp::create(builder_, location_,
                                        Type::get(shape, tensorTypeOf(value).getElementType()),
                                        value, dimensions);
}

mlir::Value ArrayBuilder::reshape(Value value, llvm::ArrayRef<int64_t> shape) {
  if (tensorTypeOf(value).getShape() == shape) return value;
  return shlo::ReshapeOp::create(builder_, location_,
                                 Type::get(shape, tensorTypeOf(value).getElementType()), value);
}

mlir::Value ArrayBuilder::slice(Value value, llvm::ArrayRef<int64_t> starts,
                                llvm::ArrayRef<int64_t> limits) {
  llvm::SmallVector<int64_t> shape, strides(starts.size(), 1);
  for (auto [start, limit] : llvm::zip(starts, limits)) shape.push_back(limit - start);
  if (tensorTypeOf(value).getShape() == llvm::ArrayRef(shape)) return value;
  return shlo::SliceOp::create(builder_, location_,
                               Type::get(shape, tensorTypeOf(value).getElementType()), value,
                               starts, limits, strides);
}

template <typename Combiner>
mlir::Value ArrayBuilder::reduce(Value value, Value init, llvm::ArrayRef<int64_t> dimensions) {
  Type type = tensorTypeOf(value);
  mlir::Type element = type.getElementType();
  llvm::SmallVector<int64_t> kept;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (!llvm::is_contained(dimensions, d)) kept.push_back(type.getDimSize(d));
  }
  auto reduce =
      shlo::ReduceOp::create(builder_, location_, mlir::TypeRange{Type::get(kept, element)},
                             mlir::ValueRange{value}, mlir::ValueRange{init}, dimensions);
  fillWith<Combiner>(builder_, reduce.getBody(), element, location_);
  return reduce.getResult(0);
}

mlir::Value ArrayBuilder::sum(Value value, llvm::ArrayRef<int64_t> dimensions) {
  Type scalar = Type::get({}, tensorTypeOf(value).getElementType());
  return reduce<shlo::AddOp>(value, zeros(scalar), dimensions);
}

mlir::Value ArrayBuilder::largest(Value value, double least, llvm::ArrayRef<int64_t> dimensions) {
  Type scalar = Type::get({}, tensorTypeOf(value).getElementType());
  return reduce<shlo::MaxOp>(value, splat(least, scalar), dimensions);
}

bool ArrayBuilder::isElementwise(mlir::Block& body) {
  return llvm::all_of(body.without_terminator(), [](mlir::Operation& op) {
    return llvm::isa<shlo::ConstantOp>(op) || fusionClass(&op) == FusionClass::kElementwise;
  });
}

mlir::Value ArrayBuilder::apply(mlir::Block& body, mlir::ValueRange arrays) {
  llvm::ArrayRef<int64_t> shape = tensorTypeOf(arrays.front()).getShape();
  mlir::IRMapping mapping;
  mapping.map(body.getArguments(), arrays);
  // Scalars from outside, where constants are moved to.
  auto capture = [&](mlir::Operation& op) {
    for (Value operand : op.getOperands()) {
      if (!mapping.contains(operand)) mapping.map(operand, broadcast(operand, shape, {}));
    }
  };
  for (mlir::Operation& op : body.without_terminator()) {
    capture(op);
    mlir::Operation* copy = builder_.clone(op, mapping);
    for (Value result : copy->getResults()) {
      result.setType(Type::get(shape, mlir::getElementTypeOrSelf(result.getType())));
    }
    if (auto constant = llvm::dyn_cast<shlo::ConstantOp>(copy)) {
      auto value = llvm::cast<mlir::DenseElementsAttr>(constant.getValue());
      constant.setValueAttr(
          value.resizeSplat(llvm::cast<mlir::ShapedType>(constant.getResult().getType())));
    }
  }
  capture(*body.getTerminator());
  return mapping.lookup(body.getTerminator()->getOperand(0));
}

}  // namespace isthmus

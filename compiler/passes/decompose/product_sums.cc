#include "compiler/passes/decompose/product_sums.h"

#include "compiler/dialect/types/array_shape.h"

namespace isthmus {

mlir::Type sumTypeOf(shlo::DotGeneralOp dot) {
  const mlir::Type left = tensorTypeOf(dot.getLhs()).getElementType();
  const mlir::Type right = tensorTypeOf(dot.getRhs()).getElementType();
  const mlir::Type result = tensorTypeOf(dot.getResult()).getElementType();
  if (left == right && right == result &&
      (mlir::isa<mlir::ComplexType>(result) || result.isInteger(1))) {
    return result;
  }
  if (!left.isIntOrFloat() || !right.isIntOrFloat() || !result.isIntOrFloat()) return {};
  const bool isFloat = mlir::isa<mlir::FloatType>(result);
  if (mlir::isa<mlir::FloatType>(left) != isFloat || mlir::isa<mlir::FloatType>(right) != isFloat) {
    return {};
  }
  const unsigned operandBits =
      std::max(left.getIntOrFloatBitWidth(), right.getIntOrFloatBitWidth());
  const unsigned bits = result.getIntOrFloatBitWidth();
  if (!isFloat) return bits >= std::max(operandBits, 8U) ? result : mlir::Type();
  mlir::Builder builder(dot.getContext());
  return std::max(operandBits, bits) > 32 ? builder.getF64Type() : builder.getF32Type();
}

}  // namespace isthmus

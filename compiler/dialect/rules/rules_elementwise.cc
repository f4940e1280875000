// Rules and types of the elementwise operations.
#include "compiler/dialect/rules/rules.h"
#include "mlir/IR/Builders.h"

namespace isthmus::shlo {

using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;

mlir::Type realPart(mlir::Type elementType) {
  auto complex = llvm::dyn_cast<mlir::ComplexType>(elementType);
  return complex ? complex.getElementType() : elementType;
}

mlir::Type truthValue(mlir::Type elementType) {
  return mlir::IntegerType::get(elementType.getContext(), 1);
}

LogicalResult verifyAccuracy(mlir::Operation* op, ResultAccuracyAttr accuracy) {
  if (!accuracy) return success();
  return ResultAccuracyAttr::verify([&] { return op->emitOpError(); }, accuracy.getAtol(),
                                    accuracy.getRtol(), accuracy.getUlps(), accuracy.getMode());
}

LogicalResult UniformQuantizeOp::verify() {
  mlir::Type from = expressedType(getOperand().getType().getElementType());
  mlir::Type to = expressedType(getType().getElementType());
  if (from == to) return success();
  return Rules(*this).violates("c2", "the result expresses ", to, ", expected ", from,
                               " as the operand does");
}

ISTHMUS_INFER(AddOp, "add") {
  mlir::FailureOr<mlir::Type> type =
      mostSpecificType(rules.location(), {op.getLhs().getType(), op.getRhs().getType()});
  if (failed(type)) return failure();
  // Of two quantized operands, one per axis decides.
  mlir::Type rhs = tensorType(op.getRhs()).getElementType();
  if (isPerAxisQuantized(rhs)) type = mlir::Type(tensorType(*type).clone(rhs));
  types.push_back(*type);
  return success();
}

// Quantized types may differ in scales, so compatibility says too little and too much.
LogicalResult AddOp::verify() {
  Rules rules(*this);
  mlir::Type lhs = getLhs().getType().getElementType();
  mlir::Type rhs = getRhs().getType().getElementType();
  mlir::Type result = getType().getElementType();
  if (!isQuantized(lhs) && !isQuantized(rhs) && !isQuantized(result)) {
    if (lhs == rhs && rhs == result) return success();
    return rules.violates("c1", "element types are ", lhs, ", ", rhs, " and ", result,
                          ", expected the same");
  }
  if (!isQuantized(lhs) || !isQuantized(rhs) || !isQuantized(result)) {
    return rules.violates("c2", "element types are ", lhs, ", ", rhs, " and ", result,
                          ", expected all to be quantized");
  }
  auto l = llvm::cast<mlir::quant::QuantizedType>(lhs);
  auto r = llvm::cast<mlir::quant::QuantizedType>(rhs);
  auto q = llvm::cast<mlir::quant::QuantizedType>(result);
  if (l.getStorageType() != r.getStorageType() || l.getStorageType() != q.getStorageType()) {
    return rules.violates("c3", "element types are ", lhs, ", ", rhs, " and ", result,
                          ", expected the same storage type");
  }
  if (l.getExpressedType() != r.getExpressedType() ||
      l.getExpressedType() != q.getExpressedType()) {
    return rules.violates("c4", "element types are ", lhs, ", ", rhs, " and ", result,
                          ", expected the same expressed type");
  }
  auto axis = [](mlir::Type type) {
    return llvm::cast<mlir::quant::UniformQuantizedPerAxisType>(type).getQuantizedDimension();
  };
  if ((isPerAxisQuantized(lhs) || isPerAxisQuantized(rhs)) != isPerAxisQuantized(result)) {
    return rules.violates("c5", "the result is ", result, " for operands ", lhs, " and ", rhs,
                          ", expected it quantized per axis if one of them is");
  }
  if (isPerAxisQuantized(lhs) && axis(lhs) != axis(result)) {
    return rules.violates("c6", "lhs is quantized along dimension ", axis(lhs), ", expected ",
                          axis(result), " as the result is");
  }
  if (isPerAxisQuantized(rhs) && axis(rhs) != axis(result)) {
    return rules.violates("c7", "rhs is quantized along dimension ", axis(rhs), ", expected ",
                          axis(result), " as the result is");
  }
  return success();
}

ISTHMUS_INFER(ComplexOp, "complex") {
  mlir::FailureOr<mlir::Type> type =
      mostSpecificType(rules.location(), {op.getLhs().getType(), op.getRhs().getType()});
  if (failed(type)) return failure();
  mlir::RankedTensorType part = tensorType(*type);
  types.push_back(part.clone(mlir::ComplexType::get(part.getElementType())));
  return success();
}

ISTHMUS_INFER(CompareOp, "compare") {
  mlir::FailureOr<mlir::Type> type =
      mostSpecificType(rules.location(), {op.getLhs().getType(), op.getRhs().getType()});
  if (failed(type)) return failure();
  types.push_back(tensorType(*type).clone(mlir::IntegerType::get(context, 1)));
  return success();
}

ISTHMUS_INFER(ClampOp, "clamp") {
  mlir::RankedTensorType operand = tensorType(op.getOperand());
  auto fits = [&](mlir::Value bound) {
    return tensorType(bound).getRank() == 0 ||
           agree(tensorType(bound).getShape(), operand.getShape());
  };
  if (!fits(op.getMin())) {
    return rules.violates("c1", "min is ", op.getMin().getType(), ", expected a scalar or ",
                          operand);
  }
  if (!fits(op.getMax())) {
    return rules.violates("c2", "max is ", op.getMax().getType(), ", expected a scalar or ",
                          operand);
  }
  types.push_back(operand);
  return success();
}

ISTHMUS_INFER(SelectOp, "select") {
  mlir::RankedTensorType pred = tensorType(op.getPred()), onTrue = tensorType(op.getOnTrue());
  if (!areCompatible(onTrue, op.getOnFalse().getType())) {
    return rules.violates("c2", "on_true is ", onTrue, " and on_false ", op.getOnFalse().getType(),
                          ", expected compatible types");
  }
  if (pred.getRank() != 0 && !agree(pred.getShape(), onTrue.getShape())) {
    return rules.violates("c1", "pred is ", pred, ", expected a scalar or the shape of ", onTrue);
  }
  mlir::FailureOr<mlir::Type> type =
      mostSpecificType(rules.location(), {onTrue, op.getOnFalse().getType()});
  if (failed(type)) return failure();
  types.push_back(*type);
  return success();
}

}  // namespace isthmus::shlo

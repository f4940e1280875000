// Functions of floats by elementwise arithmetic.
#pragma once

#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/legalize/array_builder.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "mlir/IR/PatternMatch.h"

namespace isthmus {

// Replaces `op`, whose operands are arrays of one type of floats, by what `compute` makes of them
// in f32 or f64: narrower ones are converted to f32, and a result of floats is rounded once. Fails
// for other operands.
inline mlir::LogicalResult replaceFloatFunction(
    mlir::Operation* op, mlir::PatternRewriter& rewriter,
    llvm::function_ref<mlir::Value(mlir::ValueRange)> compute) {
  if (!isStaticArray(op->getOperand(0))) return mlir::failure();
  auto elementOf = [](mlir::Value value) { return tensorTypeOf(value).getElementType(); };
  auto type = llvm::dyn_cast<mlir::FloatType>(elementOf(op->getOperand(0)));
  if (!type || type.getWidth() > 64) return mlir::failure();
  const mlir::Type computed = type.isF64() ? mlir::Type(type) : rewriter.getF32Type();
  ArrayBuilder b(op, rewriter);
  llvm::SmallVector<mlir::Value> operands;
  for (mlir::Value operand : op->getOperands()) operands.push_back(b.convert(operand, computed));
  mlir::Value result = compute(operands);
  if (llvm::isa<mlir::FloatType>(elementOf(result))) result = b.convert(result, type);
  rewriter.replaceOp(op, result);
  return mlir::success();
}

}  // namespace isthmus

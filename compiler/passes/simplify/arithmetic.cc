// Identities of elementwise operations.
#include "compiler/dialect/dialect.h"
#include "compiler/passes/simplify/match.h"
#include "compiler/passes/simplify/patterns.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;

bool isFloat(mlir::Value value) {
  return llvm::isa<mlir::FloatType, mlir::ComplexType>(mlir::getElementTypeOrSelf(value.getType()));
}

// Replaces `op` by `value` if their types agree (they may differ in encoding).
LogicalResult replaceBy(mlir::Operation* op, mlir::Value value, PatternRewriter& rewriter) {
  if (op->getResult(0).getType() != value.getType()) return mlir::failure();
  rewriter.replaceOp(op, value);
  return mlir::success();
}

LogicalResult simplifyAdd(shlo::AddOp op, PatternRewriter& rewriter) {
  // -0.0 + 0.0 is +0.0, so that adding zero is the identity on integers only.
  if (isFloat(op.getLhs())) return mlir::failure();
  if (isSplatOf(op.getRhs(), 0)) return replaceBy(op, op.getLhs(), rewriter);
  if (isSplatOf(op.getLhs(), 0)) return replaceBy(op, op.getRhs(), rewriter);
  return mlir::failure();
}

LogicalResult simplifySubtract(shlo::SubtractOp op, PatternRewriter& rewriter) {
  if (isPositiveZero(op.getRhs())) return replaceBy(op, op.getLhs(), rewriter);
  return mlir::failure();
}

LogicalResult simplifyMul(shlo::MulOp op, PatternRewriter& rewriter) {
  if (isSplatOf(op.getRhs(), 1)) return replaceBy(op, op.getLhs(), rewriter);
  if (isSplatOf(op.getLhs(), 1)) return replaceBy(op, op.getRhs(), rewriter);
  return mlir::failure();
}

LogicalResult simplifyDiv(shlo::DivOp op, PatternRewriter& rewriter) {
  if (isSplatOf(op.getRhs(), 1)) return replaceBy(op, op.getLhs(), rewriter);
  mlir::DenseElementsAttr splat = constantSplat(op.getRhs());
  if (!splat || !llvm::isa<mlir::FloatType>(splat.getElementType())) return mlir::failure();
  // Division by a power of two is the same as multiplication by its inverse, and far cheaper.
  auto divisor = splat.getSplatValue<llvm::APFloat>();
  llvm::APFloat inverse(divisor.getSemantics());
  if (!divisor.getExactInverse(&inverse)) return mlir::failure();
  auto constant = shlo::ConstantOp::create(
      rewriter, op.getLoc(),
      mlir::DenseElementsAttr::get(llvm::cast<mlir::ShapedType>(op.getRhs().getType()), inverse));
  rewriter.replaceOpWithNewOp<shlo::MulOp>(op, op.getType(), op.getLhs(), constant);
  return mlir::success();
}

LogicalResult simplifyPow(shlo::PowOp op, PatternRewriter& rewriter) {
  if (isSplatOf(op.getRhs(), 1)) return replaceBy(op, op.getLhs(), rewriter);
  if (isSplatOf(op.getRhs(), 2)) {
    rewriter.replaceOpWithNewOp<shlo::MulOp>(op, op.getType(), op.getLhs(), op.getLhs());
    return mlir::success();
  }
  return mlir::failure();
}

LogicalResult simplifyNeg(shlo::NegOp op, PatternRewriter& rewriter) {
  if (auto inner = op.getOperand().getDefiningOp<shlo::NegOp>()) {
    return replaceBy(op, inner.getOperand(), rewriter);
  }
  return mlir::failure();
}

LogicalResult simplifyNot(shlo::NotOp op, PatternRewriter& rewriter) {
  if (auto inner = op.getOperand().getDefiningOp<shlo::NotOp>()) {
    return replaceBy(op, inner.getOperand(), rewriter);
  }
  return mlir::failure();
}

bool isBoolean(mlir::Value value) {
  return mlir::getElementTypeOrSelf(value.getType()).isInteger(1);
}

LogicalResult simplifyAnd(shlo::AndOp op, PatternRewriter& rewriter) {
  if (op.getLhs() == op.getRhs()) return replaceBy(op, op.getLhs(), rewriter);
  if (!isBoolean(op.getLhs())) return mlir::failure();
  for (auto [a, b] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
    if (isSplatOf(a, 1)) return replaceBy(op, b, rewriter);
    if (isSplatOf(a, 0)) return replaceBy(op, a, rewriter);
  }
  return mlir::failure();
}

LogicalResult simplifyOr(shlo::OrOp op, PatternRewriter& rewriter) {
  if (op.getLhs() == op.getRhs()) return replaceBy(op, op.getLhs(), rewriter);
  if (!isBoolean(op.getLhs())) return mlir::failure();
  for (auto [a, b] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
    if (isSplatOf(a, 0)) return replaceBy(op, b, rewriter);
    if (isSplatOf(a, 1)) return replaceBy(op, a, rewriter);
  }
  return mlir::failure();
}

LogicalResult simplifySelect(shlo::SelectOp op, PatternRewriter& rewriter) {
  if (op.getOnTrue() == op.getOnFalse()) return replaceBy(op, op.getOnTrue(), rewriter);
  if (isSplatOf(op.getPred(), 1)) return replaceBy(op, op.getOnTrue(), rewriter);
  if (isSplatOf(op.getPred(), 0)) return replaceBy(op, op.getOnFalse(), rewriter);
  return mlir::failure();
}

LogicalResult simplifyConvert(shlo::ConvertOp op, PatternRewriter& rewriter) {
  return replaceBy(op, op.getOperand(), rewriter);
}

LogicalResult simplifyReal(shlo::RealOp op, PatternRewriter& rewriter) {
  if (auto complex = op.getOperand().getDefiningOp<shlo::ComplexOp>()) {
    return replaceBy(op, complex.getLhs(), rewriter);
  }
  return mlir::failure();
}

LogicalResult simplifyImag(shlo::ImagOp op, PatternRewriter& rewriter) {
  if (auto complex = op.getOperand().getDefiningOp<shlo::ComplexOp>()) {
    return replaceBy(op, complex.getRhs(), rewriter);
  }
  return mlir::failure();
}

}  // namespace

void addArithmeticPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(simplifyAdd);
  patterns.add(simplifySubtract);
  patterns.add(simplifyMul);
  patterns.add(simplifyDiv);
  patterns.add(simplifyPow);
  patterns.add(simplifyNeg);
  patterns.add(simplifyNot);
  patterns.add(simplifyAnd);
  patterns.add(simplifyOr);
  patterns.add(simplifySelect);
  patterns.add(simplifyConvert);
  patterns.add(simplifyReal);
  patterns.add(simplifyImag);
}

}  // namespace isthmus

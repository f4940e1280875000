// Operations that are computed in a wider element type than they have.
#include "compiler/dialect/dialect.h"
#include "compiler/passes/legalize/patterns.h"
#include "mlir/IR/Builders.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::RankedTensorType;

// Factorizations and solves exist for f32 and wider; 16-bit floats are widened and rounded once.
template <typename Op>
LogicalResult widenLinearAlgebra(Op op, PatternRewriter& rewriter) {
  auto type = llvm::cast<RankedTensorType>(op.getResult().getType());
  if (!type.getElementType().isF16() && !type.getElementType().isBF16()) return mlir::failure();
  RankedTensorType wide = type.clone(rewriter.getF32Type());
  llvm::SmallVector<mlir::Value> operands;
  for (mlir::Value operand : op->getOperands()) {
    auto own = llvm::cast<RankedTensorType>(operand.getType());
    operands.push_back(
        shlo::ConvertOp::create(rewriter, op.getLoc(), own.clone(rewriter.getF32Type()), operand));
  }
  mlir::Operation* widened = rewriter.clone(*op);
  widened->setOperands(operands);
  widened->getResult(0).setType(wide);
  rewriter.replaceOpWithNewOp<shlo::ConvertOp>(op, type, widened->getResult(0));
  return mlir::success();
}

}  // namespace

void addWideningPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(widenLinearAlgebra<shlo::CholeskyOp>);
  patterns.add(widenLinearAlgebra<shlo::TriangularSolveOp>);
}

}  // namespace isthmus

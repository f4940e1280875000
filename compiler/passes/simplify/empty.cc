// Arrays without elements are constants, and what only makes such is not run: LAPACK, for one,
// refuses matrices of no rows.
#include "compiler/dialect/dialect.h"
#include "compiler/passes/simplify/patterns.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace isthmus {
namespace {

bool isEmptyArray(mlir::Type type) {
  auto array = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return array && array.hasStaticShape() && array.getNumElements() == 0 &&
         (array.getElementType().isIntOrFloat() ||
          llvm::isa<mlir::ComplexType>(array.getElementType()));
}

struct ReplaceEmptyResults : mlir::RewritePattern {
  explicit ReplaceEmptyResults(mlir::MLIRContext* context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/10, context) {}

  mlir::LogicalResult matchAndRewrite(mlir::Operation* op,
                                      mlir::PatternRewriter& rewriter) const override {
    if (op->getNumResults() == 0 || llvm::isa<shlo::ConstantOp>(op)) return mlir::failure();
    bool isUsed = false;
    for (mlir::Value result : op->getResults()) {
      if (result.use_empty()) continue;
      if (!isEmptyArray(result.getType())) return mlir::failure();
      isUsed = true;
    }
    if (!isUsed || !mlir::isMemoryEffectFree(op)) return mlir::failure();
    for (mlir::Value result : op->getResults()) {
      if (result.use_empty()) continue;
      auto type = llvm::cast<mlir::RankedTensorType>(result.getType());
      mlir::Value constant = shlo::ConstantOp::create(
          rewriter, op->getLoc(),
          mlir::DenseElementsAttr::get(type, llvm::ArrayRef<mlir::Attribute>()));
      rewriter.replaceAllUsesWith(result, constant);
    }
    rewriter.eraseOp(op);
    return mlir::success();
  }
};

}  // namespace

void addEmptyPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add<ReplaceEmptyResults>(patterns.getContext());
}

}  // namespace isthmus

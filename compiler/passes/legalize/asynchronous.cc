// async_start and async_done: what begins is done at once, which is one of the allowed times.
#include "compiler/dialect/dialect.h"
#include "compiler/passes/legalize/patterns.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

mlir::LogicalResult runAtOnce(shlo::AsyncStartOp op, mlir::PatternRewriter& rewriter) {
  auto isDone = [](mlir::Operation* user) { return llvm::isa<shlo::AsyncDoneOp>(user); };
  if (!llvm::all_of(op.getResult().getUsers(), isDone)) return mlir::failure();
  mlir::Operation* end = op.getBody().front().getTerminator();
  rewriter.inlineBlockBefore(end->getBlock(), op, op.getOperands());
  for (mlir::Operation* done : llvm::make_early_inc_range(op.getResult().getUsers())) {
    rewriter.replaceOp(done, end->getOperand(0));
  }
  rewriter.eraseOp(end);
  rewriter.eraseOp(op);
  return mlir::success();
}

}  // namespace

void addAsynchronousPatterns(mlir::RewritePatternSet& patterns) { patterns.add(runAtOnce); }

}  // namespace isthmus

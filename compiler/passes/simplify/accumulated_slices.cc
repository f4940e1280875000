// Sums that loops carry, to which each round adds a slice within an array of zeros: the gradient of
// dynamic_slice, as of the weights of a layer that a loop selects. Only the slice is added. So it
// is with what a gather has looked up.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/passes/simplify/match.h"
#include "compiler/passes/simplify/patterns.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::Value;

// Whether no element can be -0.0, which adding 0.0 makes +0.0: a sum is -0.0 only if both terms
// are. `assumed`: carried values of which it holds if it holds of what their loops return.
bool isNeverNegativeZero(Value value, llvm::SmallVectorImpl<Value>& assumed, int depth = 0) {
  constexpr int kMaxDepth = 32;
  if (llvm::isa<mlir::IntegerType>(mlir::getElementTypeOrSelf(value))) return true;
  if (depth == kMaxDepth) return false;
  if (llvm::is_contained(assumed, value)) return true;
  auto holds = [&](Value other) { return isNeverNegativeZero(other, assumed, depth + 1); };
  if (mlir::DenseElementsAttr splat = constantSplat(value)) {
    return llvm::isa<mlir::FloatType>(splat.getElementType()) &&
           !splat.getSplatValue<llvm::APFloat>().isNegZero();
  }
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
    auto loop = llvm::dyn_cast_or_null<shlo::WhileOp>(argument.getOwner()->getParentOp());
    if (!loop || argument.getOwner() != &loop.getBody().front()) return false;
    const unsigned i = argument.getArgNumber();
    const size_t before = assumed.size();
    assumed.push_back(value);
    if (holds(loop->getOperand(i)) && holds(argument.getOwner()->getTerminator()->getOperand(i))) {
      return true;
    }
    assumed.truncate(before);
    return false;
  }
  mlir::Operation* op = value.getDefiningOp();
  if (auto add = llvm::dyn_cast<shlo::AddOp>(op)) return holds(add.getLhs()) || holds(add.getRhs());
  if (auto scatter = llvm::dyn_cast<shlo::ScatterOp>(op)) {
    // Whatever is added to what is not -0.0.
    return scatter.getInputs().size() == 1 &&
           llvm::isa_and_nonnull<shlo::AddOp>(soleOperation(scatter.getUpdateComputation())) &&
           holds(scatter.getInputs()[0]);
  }
  if (auto update = llvm::dyn_cast<shlo::DynamicUpdateSliceOp>(op)) {
    return holds(update.getOperand()) && holds(update.getUpdate());
  }
  if (llvm::isa<shlo::DynamicSliceOp, shlo::SliceOp, shlo::ReshapeOp, shlo::TransposeOp>(op)) {
    return holds(op->getOperand(0));
  }
  return false;
}

// sum + dynamic_update_slice(zeros, slice, at)
//   = dynamic_update_slice(sum, dynamic_slice(sum, at) + slice, at)
LogicalResult addOnlySlice(shlo::AddOp op, PatternRewriter& rewriter) {
  for (const bool isFirst : {false, true}) {
    auto update = op->getOperand(isFirst ? 0 : 1).getDefiningOp<shlo::DynamicUpdateSliceOp>();
    Value sum = op->getOperand(isFirst ? 1 : 0);
    if (!update || !update->hasOneUse() || !isPositiveZero(update.getOperand())) continue;
    mlir::RankedTensorType type = update.getUpdate().getType();
    if (!type.hasStaticShape() || sum.getType() != op.getType()) continue;
    llvm::SmallVector<Value> assumed;
    if (!isNeverNegativeZero(sum, assumed)) continue;
    Value slice = shlo::DynamicSliceOp::create(rewriter, op.getLoc(), type, sum,
                                               update.getStartIndices(), type.getShape());
    Value terms[] = {isFirst ? update.getUpdate() : slice, isFirst ? slice : update.getUpdate()};
    Value added = shlo::AddOp::create(rewriter, op.getLoc(), terms[0], terms[1]);
    rewriter.replaceOpWithNewOp<shlo::DynamicUpdateSliceOp>(op, op.getType(), sum, added,
                                                            update.getStartIndices());
    return mlir::success();
  }
  return mlir::failure();
}

// sum + scatter(zeros, at, updates) = scatter(sum, at, updates), where both add: the gradient of an
// embedding in a loop touches the rows that a round has looked up. Updates of one place are added
// to the sum one after the other rather than to each other first, as on XLA's clients.
LogicalResult addOnlyUpdates(shlo::AddOp op, PatternRewriter& rewriter) {
  if (!op->getParentOfType<shlo::WhileOp>()) return mlir::failure();
  for (const bool isFirst : {false, true}) {
    auto scatter = op->getOperand(isFirst ? 0 : 1).getDefiningOp<shlo::ScatterOp>();
    Value sum = op->getOperand(isFirst ? 1 : 0);
    if (!scatter || !scatter->hasOneUse() || scatter.getInputs().size() != 1 ||
        !isPositiveZero(scatter.getInputs()[0]) || sum.getType() != op.getType() ||
        scatter.getResult(0).getType() != op.getType() ||
        !llvm::isa_and_nonnull<shlo::AddOp>(soleOperation(scatter.getUpdateComputation()))) {
      continue;
    }
    llvm::SmallVector<Value> assumed;
    if (!isNeverNegativeZero(sum, assumed)) continue;
    rewriter.setInsertionPoint(op);
    auto added = llvm::cast<shlo::ScatterOp>(rewriter.clone(*scatter));
    added.getInputsMutable().assign(sum);
    rewriter.replaceOp(op, added.getResult(0));
    return mlir::success();
  }
  return mlir::failure();
}

}  // namespace

void addAccumulatedSlicePatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(addOnlySlice);
  patterns.add(addOnlyUpdates);
}

}  // namespace isthmus

// dot_general of transposed operands: the contraction reads any order of dimensions as it is.
#include "compiler/dialect/dialect.h"
#include "compiler/passes/simplify/match.h"
#include "compiler/passes/simplify/patterns.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using Dims = llvm::SmallVector<int64_t>;

// The dimensions of an operand that are neither batching nor contracting, in order.
Dims freeDimensions(int64_t rank, llvm::ArrayRef<int64_t> batching,
                    llvm::ArrayRef<int64_t> contracting) {
  Dims free;
  for (int64_t d = 0; d < rank; ++d) {
    if (!llvm::is_contained(batching, d) && !llvm::is_contained(contracting, d)) free.push_back(d);
  }
  return free;
}

Dims mapThrough(llvm::ArrayRef<int64_t> permutation, llvm::ArrayRef<int64_t> dimensions) {
  Dims mapped;
  for (int64_t d : dimensions) mapped.push_back(permutation[d]);
  return mapped;
}

LogicalResult foldTransposedOperands(shlo::DotGeneralOp op, PatternRewriter& rewriter) {
  shlo::DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
  mlir::Value operands[2] = {op.getLhs(), op.getRhs()};
  Dims batching[2] = {Dims(numbers.getLhsBatchingDimensions()),
                      Dims(numbers.getRhsBatchingDimensions())};
  Dims contracting[2] = {Dims(numbers.getLhsContractingDimensions()),
                         Dims(numbers.getRhsContractingDimensions())};
  bool changed = false;
  for (int side = 0; side < 2; ++side) {
    auto transpose = operands[side].getDefiningOp<shlo::TransposeOp>();
    if (!transpose) continue;
    llvm::ArrayRef<int64_t> permutation = transpose.getPermutation();
    int64_t rank = static_cast<int64_t>(permutation.size());
    // The result lists the free dimensions in the operand's order, which must not change.
    Dims free = mapThrough(permutation, freeDimensions(rank, batching[side], contracting[side]));
    if (!llvm::is_sorted(free)) continue;
    batching[side] = mapThrough(permutation, batching[side]);
    contracting[side] = mapThrough(permutation, contracting[side]);
    operands[side] = transpose.getOperand();
    changed = true;
  }
  if (!changed) return mlir::failure();
  auto updated = shlo::DotDimensionNumbersAttr::get(op.getContext(), batching[0], batching[1],
                                                    contracting[0], contracting[1]);
  rewriter.modifyOpInPlace(op, [&] {
    op.getLhsMutable().assign(operands[0]);
    op.getRhsMutable().assign(operands[1]);
    op.setDotDimensionNumbersAttr(updated);
  });
  return mlir::success();
}

// transpose(dot(a, b)) that only swaps the two sides' free dimensions is dot(b, a).
LogicalResult foldTransposedResult(shlo::TransposeOp op, PatternRewriter& rewriter) {
  auto dot = op.getOperand().getDefiningOp<shlo::DotGeneralOp>();
  if (!dot || !dot->hasOneUse()) return mlir::failure();
  shlo::DotDimensionNumbersAttr numbers = dot.getDotDimensionNumbers();
  int64_t batches = static_cast<int64_t>(numbers.getLhsBatchingDimensions().size());
  int64_t contracted = static_cast<int64_t>(numbers.getLhsContractingDimensions().size());
  auto rankOf = [](mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType()).getRank();
  };
  int64_t lhsFree = rankOf(dot.getLhs()) - batches - contracted;
  int64_t rhsFree = rankOf(dot.getRhs()) - batches - contracted;
  Dims swapped;
  for (int64_t d = 0; d < batches; ++d) swapped.push_back(d);
  for (int64_t d = 0; d < rhsFree; ++d) swapped.push_back(batches + lhsFree + d);
  for (int64_t d = 0; d < lhsFree; ++d) swapped.push_back(batches + d);
  if (op.getPermutation() != llvm::ArrayRef<int64_t>(swapped)) return mlir::failure();
  auto updated = shlo::DotDimensionNumbersAttr::get(
      op.getContext(), numbers.getRhsBatchingDimensions(), numbers.getLhsBatchingDimensions(),
      numbers.getRhsContractingDimensions(), numbers.getLhsContractingDimensions());
  mlir::Operation* replacement = rewriter.clone(*dot);
  replacement->setOperands({dot.getRhs(), dot.getLhs()});
  replacement->getResult(0).setType(op.getType());
  auto replaced = llvm::cast<shlo::DotGeneralOp>(replacement);
  replaced.setDotDimensionNumbersAttr(updated);
  if (auto precision = dot.getPrecisionConfigAttr(); precision && precision.size() == 2) {
    replaced.setPrecisionConfigAttr(rewriter.getArrayAttr({precision[1], precision[0]}));
  }
  rewriter.replaceOp(op, replacement->getResults());
  return mlir::success();
}

}  // namespace

void addContractionPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(foldTransposedOperands);
  patterns.add(foldTransposedResult);
}

}  // namespace isthmus

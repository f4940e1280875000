// dot_general of transposed operands, whose dimensions it reads in any order, and transposes of its
// result.
#include <numeric>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
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

// What a product does with one operand.
struct Factor {
  mlir::Value value;
  Dims batching, contracting;
};

// Of an operation: a copy that multiplies these operands instead, with a result of this type.
shlo::DotGeneralOp productOf(shlo::DotGeneralOp dot, const Factor& lhs, const Factor& rhs,
                             mlir::Type type, PatternRewriter& rewriter) {
  mlir::Operation* copy = rewriter.clone(*dot);
  copy->setOperands({lhs.value, rhs.value});
  copy->getResult(0).setType(type);
  auto product = llvm::cast<shlo::DotGeneralOp>(copy);
  product.setDotDimensionNumbersAttr(shlo::DotDimensionNumbersAttr::get(
      dot.getContext(), lhs.batching, rhs.batching, lhs.contracting, rhs.contracting));
  return product;
}

// The result lists the free dimensions in the operand's order. Where that of the operand before its
// transpose is another one, the result is transposed instead, if that is the smaller of the two.
LogicalResult foldTransposedOperands(shlo::DotGeneralOp op, PatternRewriter& rewriter) {
  auto type = llvm::cast<mlir::RankedTensorType>(op.getType());
  if (!type.hasStaticShape()) return mlir::failure();
  shlo::DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
  Factor factors[2] = {{op.getLhs(), Dims(numbers.getLhsBatchingDimensions()),
                        Dims(numbers.getLhsContractingDimensions())},
                       {op.getRhs(), Dims(numbers.getRhsBatchingDimensions()),
                        Dims(numbers.getRhsContractingDimensions())}};
  Dims order(type.getRank());  // where a dimension of the old result is in the new one
  std::iota(order.begin(), order.end(), 0);
  bool changed = false;
  for (int side = 0; side < 2; ++side) {
    Factor& factor = factors[side];
    auto transpose = factor.value.getDefiningOp<shlo::TransposeOp>();
    if (!transpose) continue;
    llvm::ArrayRef<int64_t> permutation = transpose.getPermutation();
    int64_t rank = static_cast<int64_t>(permutation.size());
    Dims free = mapThrough(permutation, freeDimensions(rank, factor.batching, factor.contracting));
    if (!llvm::is_sorted(free)) {
      if (!llvm::cast<mlir::RankedTensorType>(transpose.getType()).hasStaticShape() ||
          elementCount(op) == 0 || elementCount(op) > elementCount(transpose) / 2) {
        continue;  // of nothing, foldTransposedResult would turn it back
      }
      const auto first =
          static_cast<int64_t>(side == 0 ? factor.batching.size() : order.size() - free.size());
      for (auto [i, d] : llvm::enumerate(free)) {
        order[first + i] = first + llvm::count_if(free, [&](int64_t other) { return other < d; });
      }
    }
    factor.batching = mapThrough(permutation, factor.batching);
    factor.contracting = mapThrough(permutation, factor.contracting);
    factor.value = transpose.getOperand();
    changed = true;
  }
  if (!changed) return mlir::failure();
  Dims shape(type.getRank());
  for (auto [d, to] : llvm::enumerate(order)) shape[to] = type.getDimSize(d);
  auto product = productOf(op, factors[0], factors[1], type.clone(shape), rewriter);
  if (llvm::is_sorted(order)) {
    rewriter.replaceOp(op, product);
  } else {
    rewriter.replaceOpWithNewOp<shlo::TransposeOp>(op, type, product, order);
  }
  return mlir::success();
}

// An operand of a product, to be changed so that the result has the order that is asked for.
struct Side : Factor {
  Dims free;    // in the operand's order, which is that of the result
  Dims wanted;  // the same, in the order wanted
  mlir::Attribute precision;

  bool isInOrder() const { return free == wanted; }

  // Puts the free dimensions in the order wanted; the others stay where they are.
  void transpose(PatternRewriter& rewriter) {
    if (isInOrder()) return;
    auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
    Dims permutation, shape;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      auto at = llvm::find(free, d);
      permutation.push_back(at == free.end() ? d : wanted[at - free.begin()]);
      shape.push_back(type.getDimSize(permutation.back()));
    }
    value =
        shlo::TransposeOp::create(rewriter, value.getLoc(), type.clone(shape), value, permutation);
  }
};

// productOf, with the precision of each operand where it has come to be.
shlo::DotGeneralOp productOfSides(shlo::DotGeneralOp dot, const Side& lhs, const Side& rhs,
                                  mlir::Type type, PatternRewriter& rewriter) {
  shlo::DotGeneralOp product = productOf(dot, lhs, rhs, type, rewriter);
  if (lhs.precision) {
    product.setPrecisionConfigAttr(rewriter.getArrayAttr({lhs.precision, rhs.precision}));
  }
  return product;
}

// transpose(dot(a, b)) as the transpose of dot(b, a).
LogicalResult swapOperands(shlo::TransposeOp op, shlo::DotGeneralOp dot, const Side (&sides)[2],
                           PatternRewriter& rewriter) {
  const auto batches = static_cast<int64_t>(sides[0].batching.size());
  const auto free = static_cast<int64_t>(sides[0].free.size());
  const auto otherFree = static_cast<int64_t>(sides[1].free.size());
  llvm::ArrayRef<int64_t> shape = dot.getType().getShape();
  Dims swapped(shape.take_front(batches));
  llvm::append_range(swapped, shape.take_back(otherFree));
  llvm::append_range(swapped, shape.slice(batches, free));
  auto product = productOfSides(dot, sides[1], sides[0], dot.getType().clone(swapped), rewriter);
  Dims permutation;
  for (int64_t d : op.getPermutation()) {
    permutation.push_back(d < batches ? d : d < batches + free ? d + otherFree : d - free);
  }
  rewriter.replaceOpWithNewOp<shlo::TransposeOp>(op, op.getType(), product, permutation);
  return mlir::success();
}

// transpose(dot(a, b)) whose batching dimensions stay in front, and each side's free ones together,
// is a product itself: of b and a, or of operands transposed where these are smaller. Scores of
// attention with several queries for each key are such (bqkgd,bskd->bkgqs). Where only a batching
// dimension is between them, as in what attention gives (bskd,bkts->btkd), b and a still have the
// result's innermost dimension innermost: what is left moves whole rows.
LogicalResult foldTransposedResult(shlo::TransposeOp op, PatternRewriter& rewriter) {
  auto dot = op.getOperand().getDefiningOp<shlo::DotGeneralOp>();
  if (!dot || !dot->hasOneUse()) return mlir::failure();
  if (!llvm::cast<mlir::RankedTensorType>(op.getType()).hasStaticShape()) return mlir::failure();
  shlo::DotDimensionNumbersAttr numbers = dot.getDotDimensionNumbers();
  Side sides[2] = {{{dot.getLhs(), Dims(numbers.getLhsBatchingDimensions()),
                     Dims(numbers.getLhsContractingDimensions())},
                    {},
                    {},
                    {}},
                   {{dot.getRhs(), Dims(numbers.getRhsBatchingDimensions()),
                     Dims(numbers.getRhsContractingDimensions())},
                    {},
                    {},
                    {}}};
  for (Side& side : sides) {
    side.free = freeDimensions(llvm::cast<mlir::RankedTensorType>(side.value.getType()).getRank(),
                               side.batching, side.contracting);
  }
  if (auto precision = dot.getPrecisionConfigAttr(); precision && precision.size() == 2) {
    sides[0].precision = precision[0];
    sides[1].precision = precision[1];
  }
  const auto batches = static_cast<int64_t>(sides[0].batching.size());
  const auto lhsFree = static_cast<int64_t>(sides[0].free.size());

  Dims batchOrder;
  llvm::SmallVector<int, 8> order;  // the sides of the free dimensions
  bool batchesLead = true;
  for (int64_t d : op.getPermutation()) {
    if (d < batches) {
      batchesLead &= order.empty();
      batchOrder.push_back(d);
      continue;
    }
    const int side = d < batches + lhsFree ? 0 : 1;
    order.push_back(side);
    sides[side].wanted.push_back(sides[side].free[d - batches - (side == 1 ? lhsFree : 0)]);
  }
  const bool swaps = !order.empty() && order.front() == 1 && lhsFree > 0;
  if (!(swaps ? llvm::is_sorted(order, std::greater<>()) : llvm::is_sorted(order))) {
    return mlir::failure();
  }
  if (!batchesLead) {
    const bool helps = swaps && op.getPermutation().back() >= batches;
    return helps ? swapOperands(op, dot, sides, rewriter) : mlir::failure();
  }
  int64_t moved = 0;
  for (const Side& side : sides) moved += side.isInOrder() ? 0 : elementCount(side.value);
  if (moved > elementCount(op) / 2) return mlir::failure();

  for (Side& side : sides) {
    side.transpose(rewriter);
    side.batching = mapThrough(side.batching, batchOrder);
  }
  if (swaps) std::swap(sides[0], sides[1]);
  rewriter.replaceOp(op, productOfSides(dot, sides[0], sides[1], op.getType(), rewriter));
  return mlir::success();
}

}  // namespace

void addContractionPatterns(mlir::RewritePatternSet& patterns) {
  // Before batches are made of what a transpose puts in front (product_batches.cc).
  patterns.add(foldTransposedOperands, /*benefit=*/2);
  patterns.add(foldTransposedResult);
}

}  // namespace isthmus

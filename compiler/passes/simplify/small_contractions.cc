// Small contractions become a product and a sum in one kernel, which joins others: those of complex
// numbers, those that add a few terms for each of many results, or that multiply vectors with
// vectors, and tiny ones in loops. A library call, which is for tiles, would cost more than the
// work.
//
// The terms are added in the order of the contracted index, each rounded, as XLA does: sums that
// cancel agree with it to the last bit.
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/decompose/product_sums.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/simplify/patterns.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::RankedTensorType;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

// Many products of vector with vector, as of rows with rows: over (batch, contracted), summed along
// rows.
bool areManyPairs(shlo::DotGeneralOp op, RankedTensorType lhs, RankedTensorType rhs,
                  RankedTensorType type, const TargetModel& target) {
  shlo::DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
  auto fixed = static_cast<int64_t>(numbers.getLhsContractingDimensions().size() +
                                    numbers.getLhsBatchingDimensions().size());
  if (lhs.getRank() != fixed || rhs.getRank() != fixed) return false;
  if (!type.getElementType().isF32() && !type.getElementType().isF64()) return false;
  int64_t terms = 1;
  for (int64_t d : numbers.getLhsContractingDimensions()) {
    terms =
        std::min(terms, target.maxPairTerms) * std::min(lhs.getDimSize(d), target.maxPairTerms + 1);
  }
  return terms > 0 && terms <= target.maxPairTerms && type.getNumElements() >= target.minSums;
}

Value sumOfPairs(shlo::DotGeneralOp op, RankedTensorType lhs, RankedTensorType type,
                 PatternRewriter& rewriter) {
  shlo::DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
  ArrayBuilder b(op, rewriter);
  Dims shape(type.getShape());
  for (int64_t d : numbers.getLhsContractingDimensions()) shape.push_back(lhs.getDimSize(d));
  auto along = [&](Value operand, llvm::ArrayRef<int64_t> batch, llvm::ArrayRef<int64_t> summed) {
    Dims map(tensorTypeOf(operand).getRank());
    int64_t next = 0;
    for (int64_t d : batch) map[d] = next++;
    for (int64_t d : summed) map[d] = next++;
    return b.broadcast(operand, shape, map);
  };
  Value product = b.mul(
      along(op.getLhs(), numbers.getLhsBatchingDimensions(), numbers.getLhsContractingDimensions()),
      along(op.getRhs(), numbers.getRhsBatchingDimensions(),
            numbers.getRhsContractingDimensions()));
  return b.sum(product, llvm::to_vector(llvm::seq<int64_t>(type.getRank(),
                                                           static_cast<int64_t>(shape.size()))));
}

// The operand over contracted and result dimensions: the former begin at `sums` there, batch
// dimensions at `batches` and its own at `offset`.
Value spread(ArrayBuilder& b, Value operand, llvm::ArrayRef<int64_t> contracted,
             llvm::ArrayRef<int64_t> batch, int64_t sums, int64_t batches, int64_t offset,
             llvm::ArrayRef<int64_t> shape) {
  Dims map(tensorTypeOf(operand).getRank(), -1);
  for (int64_t d : contracted) map[d] = sums++;
  for (int64_t d : batch) map[d] = batches++;
  for (int64_t& place : map) {
    if (place < 0) place = offset++;
  }
  return b.broadcast(operand, shape, map);
}

// Whether the operand's elements that one sum takes lie side by side.
bool sumsRows(Value operand, llvm::ArrayRef<int64_t> contracted) {
  const int64_t rank = rankOf(operand);
  return llvm::equal(contracted, llvm::seq(rank - static_cast<int64_t>(contracted.size()), rank));
}

bool isSmall(mlir::Type sumType, int64_t terms, bool isMatrixVector, bool isInLoop, bool isPacked,
             int64_t batches, llvm::ArrayRef<int64_t> resultShape, const TargetModel& target) {
  const bool isComplex = llvm::isa<mlir::ComplexType>(sumType);
  if (terms == 0 || llvm::is_contained(resultShape, 0)) return false;
  // A product alone joins what is around it.
  if (terms == 1 && !isComplex && !sumType.isInteger(1)) return true;
  // Sizes are those of an array that exists: their product does not overflow.
  const int64_t results = llvm::product_of(resultShape);
  if (terms <= (isMatrixVector ? target.maxVectorTerms : target.maxTerms) &&
      results >= target.minSums) {
    return true;
  }
  // Packing small matrices of types that are not summed as they are takes longer than multiplying.
  if (isPacked && terms <= target.maxPackedTerms && results >= target.minSums && batches > 1 &&
      results / batches <= target.maxPackedTerms * target.maxPackedTerms) {
    return true;
  }
  const int64_t most = isComplex  ? target.maxComplexProducts
                       : isInLoop ? target.maxLoopProducts
                                  : 0;
  return terms <= most && results <= most / terms;
}

LogicalResult expandSmall(shlo::DotGeneralOp op, const TargetModel& target,
                          PatternRewriter& rewriter) {
  auto lhs = llvm::dyn_cast<RankedTensorType>(op.getLhs().getType());
  auto rhs = llvm::dyn_cast<RankedTensorType>(op.getRhs().getType());
  auto type = llvm::dyn_cast<RankedTensorType>(op.getType());
  if (!lhs || !rhs || !type || !lhs.hasStaticShape() || !rhs.hasStaticShape() ||
      !type.hasStaticShape()) {
    return mlir::failure();
  }
  mlir::Type sumType = sumTypeOf(op);
  if (!sumType) return mlir::failure();
  shlo::DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
  llvm::ArrayRef<int64_t> leftSum = numbers.getLhsContractingDimensions();
  llvm::ArrayRef<int64_t> rightSum = numbers.getRhsContractingDimensions();
  llvm::ArrayRef<int64_t> leftBatch = numbers.getLhsBatchingDimensions();
  const int64_t most = target.maxComplexProducts;
  Dims shape;
  int64_t terms = 1;
  for (int64_t d : leftSum) {
    shape.push_back(lhs.getDimSize(d));
    terms = std::min(terms, most + 1) * std::min(lhs.getDimSize(d), most + 1);
  }
  // One of the operands has no dimension of its own.
  auto batches = static_cast<int64_t>(leftBatch.size()),
       sums = static_cast<int64_t>(leftSum.size());
  bool isMatrixVector = lhs.getRank() == batches + sums || rhs.getRank() == batches + sums;
  const bool isInLoop = static_cast<bool>(op->getParentOfType<shlo::WhileOp>());
  int64_t items = 1;
  for (int64_t d : leftBatch) items *= lhs.getDimSize(d);
  auto factor = llvm::dyn_cast<mlir::FloatType>(lhs.getElementType());
  const bool isPacked = sumType.isInteger() || (factor && factor.getWidth() < 32);
  if (!isSmall(sumType, terms, isMatrixVector, isInLoop, isPacked, items, type.getShape(),
               target)) {
    if (!areManyPairs(op, lhs, rhs, type, target)) return mlir::failure();
    rewriter.replaceOp(op, sumOfPairs(op, lhs, type, rewriter));
    return mlir::success();
  }
  // Many rows of a matrix times a vector are summed where they lie, other sums are outermost.
  const bool isComplex = llvm::isa<mlir::ComplexType>(sumType);
  const bool isInRows = isMatrixVector && !isInLoop && !isComplex &&
                        (lhs.getRank() == batches + sums ? sumsRows(op.getRhs(), rightSum)
                                                         : sumsRows(op.getLhs(), leftSum));
  const int64_t sumsAt = isInRows ? type.getRank() : 0, resultsAt = isInRows ? 0 : sums;
  shape.insert(isInRows ? shape.begin() : shape.end(), type.getShape().begin(),
               type.getShape().end());
  // A product alone is rounded once, whatever it is multiplied in.
  const mlir::Type own = type.getElementType();
  if (sums == 0 && lhs.getElementType() == own && rhs.getElementType() == own) sumType = own;
  ArrayBuilder b(op, rewriter);
  const int64_t free = resultsAt + batches;
  Value left = spread(b, b.convert(op.getLhs(), sumType), leftSum, leftBatch, sumsAt, resultsAt,
                      free, shape);
  Value right =
      spread(b, b.convert(op.getRhs(), sumType), rightSum, numbers.getRhsBatchingDimensions(),
             sumsAt, resultsAt, free + lhs.getRank() - batches - sums, shape);
  Value product = b.mul(left, right);
  Dims summed = llvm::to_vector(llvm::seq<int64_t>(sumsAt, sumsAt + sums));
  rewriter.replaceOp(op, b.convert(summed.empty() ? product : b.sum(product, summed), own));
  return mlir::success();
}

struct ExpandSmall : mlir::OpRewritePattern<shlo::DotGeneralOp> {
  ExpandSmall(mlir::MLIRContext* context, const TargetModel& target)
      : OpRewritePattern(context), target(target) {}

  LogicalResult matchAndRewrite(shlo::DotGeneralOp op, PatternRewriter& rewriter) const override {
    return expandSmall(op, target, rewriter);
  }

  TargetModel target;
};

}  // namespace

void addSmallContractionPatterns(mlir::RewritePatternSet& patterns, const TargetModel& target) {
  patterns.add<ExpandSmall>(patterns.getContext(), target);
}

}  // namespace isthmus

// Small contractions become a product and a sum in one kernel, which joins others: those of complex
// numbers, those of real ones that add a few terms for each of many results, or that multiply
// vectors with vectors, and tiny ones in loops. A library call, which is for tiles, would cost more
// than the work.
//
// The terms are added in the order of the contracted index, each rounded, as XLA does: sums that
// cancel agree with it to the last bit.
#include "compiler/dialect/array_shape.h"
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

// Of complex numbers.
constexpr int64_t kMaxProducts = 512;
// Of f32 and f64; narrower types add in a wider one, which a sum in one kernel would not.
constexpr int64_t kMaxTerms = 4;
constexpr int64_t kMaxTermsOfVector = 16;  // of matrices times vectors
constexpr int64_t kMinResults = 64;
// In loops, where the call would be made again and again, and keeps what the loop carries in
// memory.
constexpr int64_t kMaxProductsInLoop = 64;
// Of pairs of vectors: a row of a sum that is read once, however the product is computed.
constexpr int64_t kMaxTermsOfPair = 8192;

// Many products of vector with vector, as of rows with rows: over (batch, contracted), summed along
// rows.
bool areManyPairs(shlo::DotGeneralOp op, RankedTensorType lhs, RankedTensorType rhs,
                  RankedTensorType type) {
  shlo::DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
  auto fixed = static_cast<int64_t>(numbers.getLhsContractingDimensions().size() +
                                    numbers.getLhsBatchingDimensions().size());
  if (lhs.getRank() != fixed || rhs.getRank() != fixed) return false;
  if (!type.getElementType().isF32() && !type.getElementType().isF64()) return false;
  int64_t terms = 1;
  for (int64_t d : numbers.getLhsContractingDimensions()) {
    terms = std::min(terms, kMaxTermsOfPair) * std::min(lhs.getDimSize(d), kMaxTermsOfPair + 1);
  }
  return terms > 0 && terms <= kMaxTermsOfPair && type.getNumElements() >= kMinResults;
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

// The operand over (contracted, batch, free of lhs, free of rhs); `offset` is where its free
// dimensions begin there.
Value spread(ArrayBuilder& b, Value operand, llvm::ArrayRef<int64_t> contracted,
             llvm::ArrayRef<int64_t> batch, int64_t offset, llvm::ArrayRef<int64_t> shape) {
  Dims map(tensorTypeOf(operand).getRank(), -1);
  int64_t next = 0;
  for (int64_t d : contracted) map[d] = next++;
  for (int64_t d : batch) map[d] = next++;
  for (int64_t& target : map) {
    if (target < 0) target = offset++;
  }
  return b.broadcast(operand, shape, map);
}

bool isSmall(mlir::Type elementType, int64_t terms, bool isMatrixVector, bool isInLoop,
             llvm::ArrayRef<int64_t> resultShape) {
  bool isComplex = llvm::isa<mlir::ComplexType>(elementType);
  // A product alone is rounded once, whatever sums are kept in, and joins what is around it.
  if (terms == 1 && !isComplex && elementType.isIntOrFloat() && !elementType.isInteger(1)) {
    return true;
  }
  if (!isComplex && !elementType.isF32() && !elementType.isF64()) return false;
  int64_t limit = isComplex        ? kMaxProducts
                  : isInLoop       ? kMaxProductsInLoop
                  : isMatrixVector ? kMaxTermsOfVector
                                   : kMaxTerms;
  if (terms == 0 || terms > limit) return false;
  int64_t results = 1;
  for (int64_t size : resultShape) {
    if (size == 0 || (isComplex && size > kMaxProducts)) return false;
    // Sizes are those of an array that exists: their product does not overflow.
    results *= size;
    if (isComplex && results * terms > kMaxProducts) return false;
  }
  if (isComplex || (isInLoop && results * terms <= kMaxProductsInLoop)) return true;
  return terms <= (isMatrixVector ? kMaxTermsOfVector : kMaxTerms) && results >= kMinResults;
}

LogicalResult expandSmall(shlo::DotGeneralOp op, PatternRewriter& rewriter) {
  auto lhs = llvm::dyn_cast<RankedTensorType>(op.getLhs().getType());
  auto rhs = llvm::dyn_cast<RankedTensorType>(op.getRhs().getType());
  auto type = llvm::dyn_cast<RankedTensorType>(op.getType());
  if (!lhs || !rhs || !type || !lhs.hasStaticShape() || !rhs.hasStaticShape() ||
      !type.hasStaticShape() || lhs.getElementType() != type.getElementType() ||
      rhs.getElementType() != type.getElementType()) {
    return mlir::failure();
  }
  shlo::DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
  llvm::ArrayRef<int64_t> leftSum = numbers.getLhsContractingDimensions();
  llvm::ArrayRef<int64_t> leftBatch = numbers.getLhsBatchingDimensions();
  Dims shape;
  int64_t terms = 1;
  for (int64_t d : leftSum) {
    shape.push_back(lhs.getDimSize(d));
    terms = std::min(terms, kMaxProducts + 1) * std::min(lhs.getDimSize(d), kMaxProducts + 1);
  }
  // One of the operands has no dimension of its own.
  auto batches = static_cast<int64_t>(leftBatch.size()),
       sums = static_cast<int64_t>(leftSum.size());
  bool isMatrixVector = lhs.getRank() == batches + sums || rhs.getRank() == batches + sums;
  const bool isInLoop = static_cast<bool>(op->getParentOfType<shlo::WhileOp>());
  if (!isSmall(type.getElementType(), terms, isMatrixVector, isInLoop, type.getShape())) {
    if (!areManyPairs(op, lhs, rhs, type)) return mlir::failure();
    rewriter.replaceOp(op, sumOfPairs(op, lhs, type, rewriter));
    return mlir::success();
  }
  llvm::append_range(shape, type.getShape());
  ArrayBuilder b(op, rewriter);
  auto fixed = static_cast<int64_t>(leftSum.size() + leftBatch.size());
  Value left = spread(b, op.getLhs(), leftSum, leftBatch, fixed, shape);
  Value right = spread(b, op.getRhs(), numbers.getRhsContractingDimensions(),
                       numbers.getRhsBatchingDimensions(), lhs.getRank(), shape);
  Value product = b.mul(left, right);
  Dims summed = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(leftSum.size())));
  rewriter.replaceOp(op, summed.empty() ? product : b.sum(product, summed));
  return mlir::success();
}

}  // namespace

void addSmallContractionPatterns(mlir::RewritePatternSet& patterns) { patterns.add(expandSmall); }

}  // namespace isthmus

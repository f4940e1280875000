// Reductions of what was only moved, repeated or joined read the arrays themselves: the order of a
// reduction's terms is open, and a term that comes several times is read once.
#include <cmath>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/legalize/reduce_over.h"
#include "compiler/passes/simplify/match.h"
#include "compiler/passes/simplify/patterns.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

bool isReduced(shlo::ReduceOp reduce, int64_t dim) {
  return llvm::is_contained(reduce.getDimensions(), dim);
}

// The operation that makes the one array of static shape that `reduce` combines by an operation,
// from a neutral value on; null if it is none.
mlir::Operation* onlyInput(shlo::ReduceOp reduce) {
  if (reduce.getInputs().size() != 1) return nullptr;
  mlir::Operation* combiner = soleOperation(reduce.getBody());
  auto input = llvm::dyn_cast<mlir::RankedTensorType>(reduce.getInputs()[0].getType());
  auto result = llvm::dyn_cast<mlir::RankedTensorType>(reduce->getResult(0).getType());
  if (!combiner || !input || !result || !input.hasStaticShape() || input.getNumElements() == 0 ||
      input.getElementType() != result.getElementType() ||
      mlir::getElementTypeOrSelf(combiner->getResult(0).getType()) != input.getElementType() ||
      !isNeutral(combiner, reduce.getInitValues()[0])) {
    return nullptr;
  }
  return reduce.getInputs()[0].getDefiningOp();
}

// Whether nothing but reductions reads the array, which then need not exist.
bool isOnlyReduced(mlir::Operation* array) {
  return llvm::all_of(array->getUsers(),
                      [](mlir::Operation* user) { return llvm::isa<shlo::ReduceOp>(user); });
}

// The same reduction of `input` over these dimensions, which are in order.
Value reduceOf(Value input, const Dims& dims, shlo::ReduceOp like, PatternRewriter& rewriter) {
  return dims.empty() ? input : reduceOver(rewriter, like, input, dims).getResult(0);
}

// Arrays of one shape, combined as `like` combines numbers.
Value combine(Value x, Value y, shlo::ReduceOp like, ArrayBuilder& b) {
  Value result = b.apply(like.getBody().front(), {x, y});
  result.getDefiningOp()->setLoc(like.getLoc());
  return result;
}

// What is reduced may be in any order.
LogicalResult reduceUnreversed(shlo::ReduceOp reduce, PatternRewriter& rewriter) {
  auto reverse = llvm::dyn_cast_or_null<shlo::ReverseOp>(onlyInput(reduce));
  if (!reverse || !isOnlyReduced(reverse)) return mlir::failure();
  Dims kept;
  for (int64_t dim : reverse.getDimensions()) {
    if (!isReduced(reduce, dim)) kept.push_back(dim);
  }
  if (kept.size() == reverse.getDimensions().size()) return mlir::failure();
  Value input = reverse.getOperand();
  if (!kept.empty()) input = shlo::ReverseOp::create(rewriter, reverse.getLoc(), input, kept);
  rewriter.replaceOp(reduce, reduceOf(input, Dims(reduce.getDimensions()), reduce, rewriter));
  return mlir::success();
}

// A reshape of what was moved goes behind the reduction, if that takes all or none of the
// dimensions that are split or merged together.
LogicalResult reduceUnreshaped(shlo::ReduceOp reduce, PatternRewriter& rewriter) {
  auto reshape = llvm::dyn_cast_or_null<shlo::ReshapeOp>(onlyInput(reduce));
  if (!reshape || !isOnlyReduced(reshape)) return mlir::failure();
  mlir::Operation* moved = reshape.getOperand().getDefiningOp();
  if (!llvm::isa_and_nonnull<shlo::TransposeOp, shlo::ReverseOp, shlo::BroadcastInDimOp,
                             shlo::ConcatenateOp>(moved)) {
    return mlir::failure();
  }
  const auto from = tensorTypeOf(reshape.getOperand()), to = tensorTypeOf(reshape);
  Dims dims;
  for (int64_t f = 0, t = 0; f < from.getRank() || t < to.getRank();) {
    // The dimensions [first, f) become [.., t): the shortest stretches of as many elements.
    const int64_t first = f;
    int64_t before = 1, after = 1;
    bool all = true, none = true;
    auto takeAfter = [&] {
      after *= to.getDimSize(t);
      if (to.getDimSize(t) != 1) (isReduced(reduce, t) ? none : all) = false;
      ++t;
    };
    if (f < from.getRank()) before *= from.getDimSize(f++);
    while (before != after) {
      if (after < before) {
        takeAfter();
      } else {
        before *= from.getDimSize(f++);
      }
    }
    while (before == 1 && t < to.getRank() && to.getDimSize(t) == 1) takeAfter();
    if (before == 1) continue;  // kept or not, it is the same
    if (!all && !none) return mlir::failure();
    for (int64_t d = first; all && d < f; ++d) dims.push_back(d);
  }
  if (dims.empty()) return mlir::failure();
  Value result = reduceOf(reshape.getOperand(), dims, reduce, rewriter);
  rewriter.replaceOpWithNewOp<shlo::ReshapeOp>(reduce, reduce->getResult(0).getType(), result);
  return mlir::success();
}

// Elements that come several times are read once. Their sum is a product; of narrow floats, which
// would round twice, it stays a sum.
LogicalResult reduceUnrepeated(shlo::ReduceOp reduce, PatternRewriter& rewriter) {
  auto broadcast = llvm::dyn_cast_or_null<shlo::BroadcastInDimOp>(onlyInput(reduce));
  if (!broadcast) return mlir::failure();
  mlir::Operation* combiner = soleOperation(reduce.getBody());
  const auto from = tensorTypeOf(broadcast.getOperand()), to = tensorTypeOf(broadcast);
  mlir::Type element = from.getElementType();
  const bool isSum = llvm::isa<shlo::AddOp>(combiner) && element.isIntOrFloat() &&
                     element.getIntOrFloatBitWidth() >= (element.isInteger() ? 8 : 32);
  if (from.getNumElements() == 0 || !(isSum || isIdempotent(combiner))) return mlir::failure();
  // What is left of the array goes where it went before.
  Dims dims, order;
  int64_t times = 1;
  for (int64_t dim : reduce.getDimensions()) times *= to.getDimSize(dim);
  for (auto [source, dim] : llvm::enumerate(broadcast.getBroadcastDimensions())) {
    if (isReduced(reduce, dim)) {
      dims.push_back(static_cast<int64_t>(source));
      times /= from.getDimSize(static_cast<int64_t>(source));
    } else {
      order.push_back(keptDimension(reduce.getDimensions(), dim));
    }
  }
  const auto results = static_cast<size_t>(tensorTypeOf(reduce->getResult(0)).getRank());
  if (times == 1 && order.size() == results) return mlir::failure();  // a transpose at most
  const double number = static_cast<double>(times);
  if (isSum && element.isInteger() &&
      number >= std::exp2(static_cast<int>(element.getIntOrFloatBitWidth()) - 1)) {
    return mlir::failure();
  }
  Value result = reduceOf(broadcast.getOperand(), dims, reduce, rewriter);
  if (isSum && times > 1) {
    ArrayBuilder b(reduce, rewriter);
    result = b.mul(result, b.like(number, result));
  }
  rewriter.replaceOpWithNewOp<shlo::BroadcastInDimOp>(reduce, reduce->getResult(0).getType(),
                                                      result, order);
  return mlir::success();
}

// Arrays that are joined are reduced one by one, and what that gives combined.
LogicalResult reduceUnjoined(shlo::ReduceOp reduce, PatternRewriter& rewriter) {
  constexpr size_t kMaxParts = 8;
  auto joined = llvm::dyn_cast_or_null<shlo::ConcatenateOp>(onlyInput(reduce));
  if (!joined || !isOnlyReduced(joined) || joined.getInputs().size() > kMaxParts ||
      !isReduced(reduce, static_cast<int64_t>(joined.getDimension()))) {
    return mlir::failure();
  }
  mlir::Operation* combiner = soleOperation(reduce.getBody());
  // Sums of narrow floats are kept wider inside a kernel, and would lose that between two.
  auto narrow = llvm::dyn_cast<mlir::FloatType>(tensorTypeOf(joined).getElementType());
  if (narrow && narrow.getWidth() < 32 && !isIdempotent(combiner)) return mlir::failure();
  ArrayBuilder b(reduce, rewriter);
  Value result;
  for (Value part : joined.getInputs()) {
    if (elementCount(part.getType()) == 0) continue;
    Value reduced = reduceOf(part, Dims(reduce.getDimensions()), reduce, rewriter);
    result = result ? combine(result, reduced, reduce, b) : reduced;
  }
  rewriter.replaceOp(reduce, result);
  return mlir::success();
}

// Columns of arrays that are joined side by side: those of each array are added up in loops of its
// own, which begin where its rows do.
LogicalResult reduceColumnsUnjoined(shlo::ReduceOp reduce, PatternRewriter& rewriter) {
  constexpr size_t kMaxParts = 4;
  constexpr int64_t kMinElements = 1 << 15;  // a kernel for each takes longer to compile
  auto joined = llvm::dyn_cast_or_null<shlo::ConcatenateOp>(onlyInput(reduce));
  if (!joined || !isOnlyReduced(joined) || joined.getInputs().size() > kMaxParts ||
      elementCount(joined.getType()) < kMinElements) {
    return mlir::failure();
  }
  const auto dim = static_cast<int64_t>(joined.getDimension());
  if (dim + 1 != joined.getType().getRank() || isReduced(reduce, dim)) return mlir::failure();
  llvm::SmallVector<Value> parts;
  for (Value part : joined.getInputs()) {
    parts.push_back(reduceOf(part, Dims(reduce.getDimensions()), reduce, rewriter));
  }
  rewriter.replaceOpWithNewOp<shlo::ConcatenateOp>(reduce, reduce->getResult(0).getType(), parts,
                                                   keptDimension(reduce.getDimensions(), dim));
  return mlir::success();
}

// Padding is combined at once, or not at all if it is neutral; along dimensions that are kept it is
// put around the result.
LogicalResult reduceUnpadded(shlo::ReduceOp reduce, PatternRewriter& rewriter) {
  auto pad = llvm::dyn_cast_or_null<shlo::PadOp>(onlyInput(reduce));
  if (!pad || !isOnlyReduced(pad) || elementCount(pad.getOperand().getType()) == 0) {
    return mlir::failure();
  }
  mlir::Operation* combiner = soleOperation(reduce.getBody());
  const bool absorbs = isIdempotent(combiner);
  // A sum that begins with -0 would keep it, but for padding by 0.
  const bool ignores = isNeutral(combiner, pad.getPaddingValue()) &&
                       (!llvm::isa<shlo::AddOp>(combiner) ||
                        !llvm::isa<mlir::FloatType>(tensorTypeOf(pad).getElementType()) ||
                        isPositiveZero(reduce.getInitValues()[0]));
  if (!absorbs && !ignores) return mlir::failure();
  Dims low, high, interior;
  bool isReducedPadded = false, isKeptPadded = false;
  for (auto [d, size] : llvm::enumerate(pad.getType().getShape())) {
    const int64_t before = pad.getEdgePaddingLow()[d], after = pad.getEdgePaddingHigh()[d];
    if (before < 0 || after < 0) return mlir::failure();  // a slice
    const bool isPadded = size != pad.getOperand().getType().getDimSize(static_cast<int64_t>(d));
    if (isReduced(reduce, static_cast<int64_t>(d))) {
      isReducedPadded |= isPadded;
      continue;
    }
    isKeptPadded |= isPadded;
    low.push_back(before);
    high.push_back(after);
    interior.push_back(pad.getInteriorPadding()[d]);
  }
  ArrayBuilder b(reduce, rewriter);
  Value result = reduceOf(pad.getOperand(), Dims(reduce.getDimensions()), reduce, rewriter);
  if (absorbs && isReducedPadded) {
    Value padding = b.broadcast(pad.getPaddingValue(), tensorTypeOf(result).getShape(), {});
    result = combine(result, padding, reduce, b);
  }
  if (isKeptPadded) {
    Value around = pad.getPaddingValue();
    if (absorbs) around = combine(around, reduce.getInitValues()[0], reduce, b);
    result = shlo::PadOp::create(rewriter, reduce.getLoc(), reduce->getResult(0).getType(), result,
                                 around, low, high, interior);
  }
  rewriter.replaceOp(reduce, result);
  return mlir::success();
}

}  // namespace

void addReducedMovePatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(reduceUnreversed);
  patterns.add(reduceUnreshaped);
  patterns.add(reduceUnrepeated);
  patterns.add(reduceUnjoined);
  patterns.add(reduceColumnsUnjoined);
  patterns.add(reduceUnpadded);
}

}  // namespace isthmus

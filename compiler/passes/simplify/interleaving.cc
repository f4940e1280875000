// Two arrays interleaved along the innermost dimension, which programs write as the sum of two
// arrays with zeros between their elements (jax.lax.associative_scan does).
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/simplify/match.h"
#include "compiler/passes/simplify/patterns.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

// An array with zeros between the elements of its last dimension, and that many around them.
struct Spread {
  Value array;
  int64_t low, high;
};

std::optional<Spread> matchSpread(Value value) {
  auto pad = value.getDefiningOp<shlo::PadOp>();
  if (!pad || !pad->hasOneUse() || !isPositiveZero(pad.getPaddingValue())) return std::nullopt;
  size_t rank = pad.getInteriorPadding().size();
  if (rank == 0 || !pad.getOperand().getType().hasStaticShape()) return std::nullopt;
  for (size_t d = 0; d < rank; ++d) {
    bool isLast = d + 1 == rank;
    if (pad.getInteriorPadding()[d] != (isLast ? 1 : 0)) return std::nullopt;
    if (!isLast && (pad.getEdgePaddingLow()[d] != 0 || pad.getEdgePaddingHigh()[d] != 0)) {
      return std::nullopt;
    }
  }
  return Spread{pad.getOperand(), pad.getEdgePaddingLow().back(), pad.getEdgePaddingHigh().back()};
}

Value concatenate(ArrayBuilder& b, mlir::Value first, mlir::Value second, int64_t dimension) {
  mlir::RankedTensorType type = tensorTypeOf(first);
  Dims shape(type.getShape());
  shape[dimension] += tensorTypeOf(second).getDimSize(dimension);
  return shlo::ConcatenateOp::create(
      b.builder(), b.location(), mlir::RankedTensorType::get(shape, type.getElementType()),
      mlir::ValueRange{first, second}, static_cast<uint64_t>(dimension));
}

// Elements [from, to) of the last dimension.
Value part(ArrayBuilder& b, Value array, int64_t from, int64_t to) {
  Dims starts(tensorTypeOf(array).getRank(), 0);
  Dims limits(tensorTypeOf(array).getShape());
  starts.back() = from;
  limits.back() = to;
  return b.slice(array, starts, limits);
}

template <typename Op>
LogicalResult interleave(Op op, PatternRewriter& rewriter) {
  std::optional<Spread> even = matchSpread(op.getLhs()), odd = matchSpread(op.getRhs());
  if (!even || !odd) return mlir::failure();
  if (even->low == 1) std::swap(even, odd);
  int64_t evens = tensorTypeOf(even->array).getShape().back();
  int64_t odds = tensorTypeOf(odd->array).getShape().back();
  // Each place holds an element of one of them: as many of both, or one more of the first.
  bool isEven = evens == odds && even->high == 1 && odd->high == 0;
  bool isOdd = evens == odds + 1 && even->high == 0 && odd->high == 1;
  if (even->low != 0 || odd->low != 1 || odds == 0 || !(isEven || isOdd)) return mlir::failure();

  ArrayBuilder b(op, rewriter);
  // What the other's zeros do to an element: -0 becomes +0.
  auto plusZero = [&](Value array) -> Value {
    return b.make<Op>(array, b.zeros(tensorTypeOf(array)));
  };
  Value first = plusZero(even->array), second = plusZero(odd->array);
  int64_t rank = tensorTypeOf(first).getRank();
  Dims columns(tensorTypeOf(second).getShape());
  columns.push_back(1);
  Value pairs =
      concatenate(b, b.reshape(part(b, first, 0, odds), columns), b.reshape(second, columns), rank);
  Dims woven(tensorTypeOf(second).getShape());
  woven.back() *= 2;
  Value result = b.reshape(pairs, woven);
  if (isOdd) result = concatenate(b, result, part(b, first, odds, evens), rank - 1);
  rewriter.replaceOp(op, result);
  return mlir::success();
}

}  // namespace

void addInterleavingPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(interleave<shlo::AddOp>);
  patterns.add(interleave<shlo::OrOp>);
}

}  // namespace isthmus

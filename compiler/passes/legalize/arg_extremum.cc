// Reducers of argmax and argmin that take an index's word for the order of several NaN.
//
// JAX's reducer keeps its first operand where that is NaN: right as long as elements come in order,
// which StableHLO does not promise and lanes and threads do not keep. Where both are NaN, the index
// decides here, as it does where both are equal; then any order gives the first.
#include "compiler/dialect/dialect.h"
#include "compiler/passes/legalize/patterns.h"

namespace isthmus {
namespace {

using mlir::Value;

bool isCompare(Value value, shlo::ComparisonDirection direction, Value lhs, Value rhs) {
  auto compare = value.getDefiningOp<shlo::CompareOp>();
  return compare && compare.getComparisonDirection() == direction && compare.getLhs() == lhs &&
         compare.getRhs() == rhs;
}

// Whether `op` (and, or) has operands of which one is so and the other otherwise, in any order.
template <typename Op, typename First, typename Second>
bool isPair(Value value, First first, Second second) {
  auto op = value.getDefiningOp<Op>();
  if (!op) return false;
  Value a = op->getOperand(0), b = op->getOperand(1);
  return (first(a) && second(b)) || (first(b) && second(a));
}

struct OrderNanByIndex : mlir::OpRewritePattern<shlo::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  mlir::LogicalResult matchAndRewrite(shlo::ReduceOp reduce,
                                      mlir::PatternRewriter& rewriter) const override {
    mlir::Block& body = reduce.getBody().front();
    if (body.getNumArguments() != 4) return mlir::failure();
    Value x = body.getArgument(0), xIndex = body.getArgument(1);
    Value y = body.getArgument(2), yIndex = body.getArgument(3);
    auto element = llvm::cast<mlir::ShapedType>(x.getType()).getElementType();
    if (!llvm::isa<mlir::FloatType>(element)) return mlir::failure();
    mlir::Operation* end = body.getTerminator();
    auto value = end->getOperand(0).getDefiningOp<shlo::SelectOp>();
    auto index = end->getOperand(1).getDefiningOp<shlo::SelectOp>();
    if (!value || value.getOnTrue() != x || value.getOnFalse() != y) return mlir::failure();
    if (!index || index.getOnTrue() != xIndex || index.getOnFalse() != yIndex) {
      return mlir::failure();
    }

    using Direction = shlo::ComparisonDirection;
    Value wins = value.getPred(), isLower;
    auto isBeyond = [&](Value v) {
      return isCompare(v, Direction::GT, x, y) || isCompare(v, Direction::LT, x, y);
    };
    auto isNan = [&](Value v) { return isCompare(v, Direction::NE, x, x); };
    auto isEqual = [&](Value v) { return isCompare(v, Direction::EQ, x, y); };
    auto isBefore = [&](Value v) {
      if (!isCompare(v, Direction::LT, xIndex, yIndex)) return false;
      isLower = v;
      return true;
    };
    auto isWin = [&](Value v) { return v == wins; };
    auto isTie = [&](Value v) { return isPair<shlo::AndOp>(v, isEqual, isBefore); };
    if (!isPair<shlo::OrOp>(wins, isBeyond, isNan)) return mlir::failure();
    if (!isPair<shlo::OrOp>(index.getPred(), isWin, isTie)) return mlir::failure();

    rewriter.setInsertionPoint(index);
    mlir::Location location = index.getLoc();
    auto differs = [&](Value v) -> Value {
      return shlo::CompareOp::create(rewriter, location, v, v, Direction::NE,
                                     shlo::ComparisonType::NOTYPE);
    };
    Value areNan = shlo::AndOp::create(rewriter, location, wins.getType(), differs(x), differs(y));
    Value isFirst = shlo::SelectOp::create(rewriter, location, wins.getType(), areNan, isLower,
                                           index.getPred());
    rewriter.modifyOpInPlace(index, [&] { index.getPredMutable().assign(isFirst); });
    return mlir::success();
  }
};

}  // namespace

void addArgExtremumPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add<OrderNanByIndex>(patterns.getContext());
}

}  // namespace isthmus

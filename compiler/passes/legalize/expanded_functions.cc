// Special functions that a client has expanded: JAX writes erfc as the approximation that XLA's
// ChloLegalizeToStablehlo makes of it, without a composite around it. Code generation computes the
// function itself faster, and more exactly.
#include <array>
#include <utility>

#include "compiler/dialect/chlo.h"
#include "compiler/dialect/dialect.h"
#include "compiler/passes/legalize/patterns.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::Value;

// The coefficients of the expansion, highest power first (Cephes, ndtrf.c).
constexpr std::array kErf = {7.85386146e-5f, -8.0101937e-4f, 5.18832775e-3f, -2.68538129e-2f,
                             1.12835854e-1f, -3.7612626e-1f, 1.12837911f};
constexpr std::array kErfcBelowTwo = {2.326820e-2f,    -1.38703942e-1f, 3.68742466e-1f,
                                      -5.82473278e-1f, 6.21000468e-1f,  -4.94451523e-1f,
                                      3.404880e-1f,    -2.74112701e-1f, 5.63825965e-1f};
constexpr std::array kErfcFromTwo = {-10.477664f,  12.9772f,      -7.49551868f,    2.92101908f,
                                     -1.01526523f, 4.2184633e-1f, -2.82076746e-1f, 5.64189494e-1f};
constexpr float kSmallestExponent = -88.7228394f;

bool isNumber(Value value, float number) {
  mlir::DenseFPElementsAttr constant;
  return mlir::matchPattern(value, mlir::m_Constant(&constant)) && constant.isSplat() &&
         constant.getElementType().isF32() &&
         constant.getSplatValue<mlir::APFloat>().convertToFloat() == number;
}

// The operands of a commutative op of this kind with one that `isFirst`, that one first; two nulls
// if it is none.
template <typename Op, typename Test>
std::pair<Value, Value> ordered(Value value, Test isFirst) {
  auto op = value.getDefiningOp<Op>();
  if (!op) return {};
  Value a = op->getOperand(0), b = op->getOperand(1);
  if (isFirst(a)) return {a, b};
  if (isFirst(b)) return {b, a};
  return {};
}

template <typename Op>
bool isOf(Value value, Value x, Value y) {
  return ordered<Op>(value, [&](Value a) { return a == x; }).second == y;
}

bool isSquare(Value value, Value x) { return isOf<shlo::MulOp>(value, x, x); }

bool isMagnitude(Value value, Value x) {
  auto op = value.getDefiningOp<shlo::AbsOp>();
  return op && op.getOperand() == x;
}

bool isReciprocal(Value value, llvm::function_ref<bool(Value)> isDivisor) {
  auto op = value.getDefiningOp<shlo::DivOp>();
  return op && isNumber(op.getLhs(), 1) && isDivisor(op.getRhs());
}

// Whether `value` is the polynomial by Horner's rule in something that `isVariable`.
bool isPolynomial(Value value, llvm::ArrayRef<float> coefficients,
                  llvm::function_ref<bool(Value)> isVariable) {
  for (; coefficients.size() > 1; coefficients = coefficients.drop_back()) {
    auto isLast = [&](Value v) { return isNumber(v, coefficients.back()); };
    Value product = ordered<shlo::AddOp>(value, isLast).second;
    if (!product) return false;
    value = ordered<shlo::MulOp>(product, isVariable).second;
    if (!value) return false;
  }
  return isNumber(value, coefficients.front());
}

// A choice by `of` < `limit`: what is chosen if so and if not; two nulls if it is something else.
std::pair<Value, Value> choiceBelow(Value value, llvm::function_ref<bool(Value)> of, float limit) {
  auto select = value.getDefiningOp<shlo::SelectOp>();
  auto compare = select ? select.getPred().getDefiningOp<shlo::CompareOp>() : shlo::CompareOp();
  if (!compare || compare.getComparisonDirection() != shlo::ComparisonDirection::LT ||
      !of(compare.getLhs()) || !isNumber(compare.getRhs(), limit)) {
    return {};
  }
  return {select.getOnTrue(), select.getOnFalse()};
}

// exp(-x²) / |x| times one of two polynomials in 1 / x², or zero where the power vanishes.
bool isTail(Value value, Value x) {
  auto isMinusSquare = [&](Value v) {
    auto negated = v.getDefiningOp<shlo::NegOp>();
    return negated && isSquare(negated.getOperand(), x);
  };
  auto isAbs = [&](Value v) { return isMagnitude(v, x); };
  auto isPower = [&](Value v) {
    auto power = v.getDefiningOp<shlo::ExpOp>();
    return power && isMinusSquare(power.getOperand());
  };
  auto isScale = [&](Value v) {
    Value inverse = ordered<shlo::MulOp>(v, isPower).second;
    return inverse && isReciprocal(inverse, isAbs);
  };
  auto isInverseSquare = [&](Value v) {
    return isReciprocal(v, [&](Value divisor) { return isSquare(divisor, x); });
  };
  auto [vanished, product] = choiceBelow(value, isMinusSquare, kSmallestExponent);
  if (!vanished || !isNumber(vanished, 0)) return false;
  Value factor = ordered<shlo::MulOp>(product, isScale).second;
  if (!factor) return false;
  auto [near, far] = choiceBelow(factor, isAbs, 2);
  return near && isPolynomial(near, kErfcBelowTwo, isInverseSquare) &&
         isPolynomial(far, kErfcFromTwo, isInverseSquare);
}

bool isOneMinusErf(Value value, Value x) {
  auto op = value.getDefiningOp<shlo::SubtractOp>();
  if (!op || !isNumber(op.getLhs(), 1)) return false;
  Value factor = ordered<shlo::MulOp>(op.getRhs(), [&](Value v) { return v == x; }).second;
  return factor && isPolynomial(factor, kErf, [&](Value v) { return isSquare(v, x); });
}

bool isTailOfEitherSign(Value value, Value x) {
  auto [negative, positive] = choiceBelow(value, [&](Value v) { return v == x; }, 0);
  auto mirrored = negative ? negative.getDefiningOp<shlo::SubtractOp>() : shlo::SubtractOp();
  return mirrored && isNumber(mirrored.getLhs(), 2) && mirrored.getRhs() == positive &&
         isTail(positive, x);
}

// The expansion chooses by |x| < 1 between 1 - erf x and the tail.
LogicalResult collectErfc(shlo::SelectOp op, PatternRewriter& rewriter) {
  Value x;
  auto setMagnitude = [&](Value v) {
    auto magnitude = v.getDefiningOp<shlo::AbsOp>();
    if (magnitude) x = magnitude.getOperand();
    return bool(magnitude);
  };
  auto [near, far] = choiceBelow(op.getResult(), setMagnitude, 1);
  if (!near || !isOneMinusErf(near, x) || !isTailOfEitherSign(far, x)) return mlir::failure();
  rewriter.replaceOpWithNewOp<chlo::ErfcOp>(op, op.getType(), x);
  return mlir::success();
}

// Narrow floats are expanded in f32 and rounded once, as the function of them is.
LogicalResult narrowErfc(shlo::ConvertOp op, PatternRewriter& rewriter) {
  auto erfc = op.getOperand().getDefiningOp<chlo::ErfcOp>();
  auto widened = erfc ? erfc->getOperand(0).getDefiningOp<shlo::ConvertOp>() : shlo::ConvertOp();
  if (!widened || widened.getOperand().getType() != op.getType()) return mlir::failure();
  mlir::Type narrow = mlir::getElementTypeOrSelf(op.getType());
  if (!narrow.isF16() && !narrow.isBF16()) return mlir::failure();
  rewriter.replaceOpWithNewOp<chlo::ErfcOp>(op, op.getType(), widened.getOperand());
  return mlir::success();
}

}  // namespace

void addExpandedFunctionPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(collectErfc);
  patterns.add(narrowErfc);
}

}  // namespace isthmus

// Elementwise operations of chlo by those of stablehlo.
//
// They reach us from text only: JAX's client sends composites with a decomposition. Complex
// operands, erf and erfc are left to the backend; functions with no short formula (lgamma and its
// kin) are in special_functions.cc.
#include <cmath>
#include <limits>
#include <numbers>

#include "compiler/dialect/chlo.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/legalize/float_function.h"
#include "compiler/passes/legalize/patterns.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::Value;
using enum shlo::ComparisonDirection;

mlir::FloatType floatOf(Value value) {
  return llvm::dyn_cast<mlir::FloatType>(mlir::getElementTypeOrSelf(value.getType()));
}

Value absolute(ArrayBuilder& b, Value x) { return b.make<shlo::AbsOp>(x); }
Value logOnePlus(ArrayBuilder& b, Value x) { return b.make<shlo::Log1pOp>(x); }

// The magnitude from `positive`, the sign of x.
Value withSignOf(ArrayBuilder& b, Value x, Value positive) {
  Value negative = b.make<shlo::NegOp>(positive);
  return b.select(b.compare(x, b.like(0, x), LT), negative, positive);
}

Value squareRoot(ArrayBuilder& b, Value x) { return b.make<shlo::SqrtOp>(x); }

// (1 - x) (1 + x), which does not cancel near 1.
Value oneMinusSquare(ArrayBuilder& b, Value x) {
  Value one = b.like(1, x);
  return b.mul(b.sub(one, x), b.add(one, x));
}

// asin x = 2 atan2(x, 1 + sqrt(1 - x²))
Value arcSine(ArrayBuilder& b, Value x) {
  Value root = squareRoot(b, oneMinusSquare(b, x));
  return b.mul(b.like(2, x), b.make<shlo::Atan2Op>(x, b.add(b.like(1, x), root)));
}

// acos x = 2 atan2(sqrt(1 - x²), 1 + x)
Value arcCosine(ArrayBuilder& b, Value x) {
  Value root = squareRoot(b, oneMinusSquare(b, x));
  Value angle = b.mul(b.like(2, x), b.make<shlo::Atan2Op>(root, b.add(b.like(1, x), x)));
  Value atMinusOne = b.compare(x, b.like(-1, x), EQ);
  return b.select(atMinusOne, b.like(std::numbers::pi, x), angle);
}

Value arcTangent(ArrayBuilder& b, Value x) { return b.make<shlo::Atan2Op>(x, b.like(1, x)); }

// Where squares would overflow, ln(2x) stands for the inverse of both hyperbolic functions.
Value logOfTwice(ArrayBuilder& b, Value x) {
  return b.add(b.make<shlo::LogOp>(x), b.like(std::numbers::ln2, x));
}
double squareLimit(Value x) {
  mlir::FloatType type = floatOf(x);
  return std::sqrt(llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble()) / 2;
}

// asinh x = sign x ln(1 + a + a² / (1 + sqrt(a² + 1))), a = |x|
Value arcHyperbolicSine(ArrayBuilder& b, Value x) {
  Value a = absolute(b, x), one = b.like(1, x);
  Value square = b.mul(a, a);
  Value root = squareRoot(b, b.add(square, one));
  Value value = logOnePlus(b, b.add(a, b.div(square, b.add(one, root))));
  Value isLarge = b.compare(a, b.like(squareLimit(x), x), GE);
  Value signedValue = withSignOf(b, x, b.select(isLarge, logOfTwice(b, a), value));
  return b.select(b.compare(a, b.like(0, x), EQ), x, signedValue);
}

// acosh x = ln(1 + t + sqrt(t (t + 2))), t = x - 1
Value arcHyperbolicCosine(ArrayBuilder& b, Value x) {
  Value t = b.sub(x, b.like(1, x));
  Value root = b.mul(squareRoot(b, t), squareRoot(b, b.add(t, b.like(2, x))));
  Value isLarge = b.compare(x, b.like(squareLimit(x), x), GE);
  return b.select(isLarge, logOfTwice(b, x), logOnePlus(b, b.add(t, root)));
}

// atanh x = (ln(1 + x) - ln(1 - x)) / 2
Value arcHyperbolicTangent(ArrayBuilder& b, Value x) {
  Value difference = b.sub(logOnePlus(b, x), logOnePlus(b, b.make<shlo::NegOp>(x)));
  Value half = b.mul(difference, b.like(0.5, x));
  return b.select(b.compare(x, b.like(0, x), EQ), x, half);
}

// exp(x) / 2 as (exp(x / 2) / 2) exp(x / 2): finite in places where exp(x) is not.
Value halfExp(ArrayBuilder& b, Value x) {
  Value root = b.make<shlo::ExpOp>(b.mul(x, b.like(0.5, x)));
  return b.mul(b.mul(root, b.like(0.5, x)), root);
}

Value hyperbolicCosine(ArrayBuilder& b, Value x) {
  return b.add(halfExp(b, x), halfExp(b, b.make<shlo::NegOp>(x)));
}

// Near 0: e = expm1 |x|, sinh |x| = (e + e / (e + 1)) / 2.
Value hyperbolicSine(ArrayBuilder& b, Value x) {
  Value large = b.sub(halfExp(b, x), halfExp(b, b.make<shlo::NegOp>(x)));
  Value a = absolute(b, x), one = b.like(1, x);
  Value e = b.make<shlo::Expm1Op>(a);
  Value near = b.mul(b.like(0.5, x), b.add(e, b.div(e, b.add(e, one))));
  Value small = b.select(b.compare(a, b.like(0, x), EQ), x, withSignOf(b, x, near));
  return b.select(b.compare(a, one, LT), small, large);
}

Value isInfinite(ArrayBuilder& b, Value x) {
  return b.compare(absolute(b, x), b.like(std::numeric_limits<double>::infinity(), x), EQ);
}
Value isPlusInfinity(ArrayBuilder& b, Value x) {
  return b.compare(x, b.like(std::numeric_limits<double>::infinity(), x), EQ);
}
Value isMinusInfinity(ArrayBuilder& b, Value x) {
  return b.compare(x, b.like(-std::numeric_limits<double>::infinity(), x), EQ);
}

template <typename Op, Value (*kFunction)(ArrayBuilder&, Value)>
LogicalResult legalizeFunction(Op op, PatternRewriter& rewriter) {
  return replaceFloatFunction(op, rewriter, [&](mlir::ValueRange x) {
    ArrayBuilder b(op, rewriter);
    return kFunction(b, x[0]);
  });
}

LogicalResult legalizeTan(chlo::TanOp op, PatternRewriter& rewriter) {
  rewriter.replaceOpWithNewOp<shlo::TanOp>(op, op.getType(), op.getOperand());
  return mlir::success();
}

LogicalResult legalizeSquare(chlo::SquareOp op, PatternRewriter& rewriter) {
  rewriter.replaceOpWithNewOp<shlo::MulOp>(op, op.getType(), op.getOperand(), op.getOperand());
  return mlir::success();
}

LogicalResult legalizeConj(chlo::ConjOp op, PatternRewriter& rewriter) {
  auto array = llvm::dyn_cast<mlir::RankedTensorType>(op.getOperand().getType());
  auto complex = array ? llvm::dyn_cast<mlir::ComplexType>(array.getElementType()) : nullptr;
  if (!complex) {
    rewriter.replaceOp(op, op.getOperand());
    return mlir::success();
  }
  auto part = array.clone(complex.getElementType());
  Value real = shlo::RealOp::create(rewriter, op.getLoc(), part, op.getOperand());
  Value imag = shlo::ImagOp::create(rewriter, op.getLoc(), part, op.getOperand());
  imag = shlo::NegOp::create(rewriter, op.getLoc(), part, imag);
  rewriter.replaceOpWithNewOp<shlo::ComplexOp>(op, array, real, imag);
  return mlir::success();
}

Value highHalfOfWords(ArrayBuilder& b, Value x, Value y);

// In a type of twice the width; 64 bits by halves.
LogicalResult legalizeMulhi(chlo::MulhiOp op, PatternRewriter& rewriter) {
  auto array = llvm::dyn_cast<mlir::RankedTensorType>(op.getType());
  auto type = array ? llvm::dyn_cast<mlir::IntegerType>(array.getElementType()) : nullptr;
  if (!type || type.getWidth() > 64 || !array.hasStaticShape()) return mlir::failure();
  ArrayBuilder b(op, rewriter);
  Value x = op.getLhs(), y = op.getRhs();
  if (type.getWidth() == 64) {
    rewriter.replaceOp(op, highHalfOfWords(b, x, y));
    return mlir::success();
  }
  auto wide = mlir::IntegerType::get(op.getContext(), 64, type.getSignedness());
  Value product = b.mul(b.convert(x, wide), b.convert(y, wide));
  Value bits = b.like(type.getWidth(), product);
  Value high = type.isUnsigned() ? b.make<shlo::ShiftRightLogicalOp>(product, bits)
                                 : b.make<shlo::ShiftRightArithmeticOp>(product, bits);
  rewriter.replaceOp(op, b.convert(high, type));
  return mlir::success();
}

// Of 64-bit words: the product of halves with carries; a signed factor that is negative takes the
// other one off the high word.
Value highHalfOfWords(ArrayBuilder& b, Value x, Value y) {
  Value mask = b.like(0xffffffff, x), half = b.like(32, x);
  auto low = [&](Value v) { return b.make<shlo::AndOp>(v, mask); };
  auto high = [&](Value v) { return b.make<shlo::ShiftRightLogicalOp>(v, half); };
  Value lowProduct = b.mul(low(x), low(y));
  Value middle = b.add(b.mul(high(x), low(y)), high(lowProduct));
  Value other = b.add(b.mul(low(x), high(y)), low(middle));
  Value result = b.add(b.mul(high(x), high(y)), b.add(high(middle), high(other)));
  auto type = llvm::cast<mlir::IntegerType>(tensorTypeOf(x).getElementType());
  if (type.isUnsigned()) return result;
  auto ifNegative = [&](Value sign, Value value) {
    return b.make<shlo::AndOp>(b.make<shlo::ShiftRightArithmeticOp>(sign, b.like(63, x)), value);
  };
  return b.sub(result, b.add(ifNegative(x, y), ifNegative(y, x)));
}

// Steps through the bit patterns, whose order is that of the magnitudes.
LogicalResult legalizeNextAfter(chlo::NextAfterOp op, PatternRewriter& rewriter) {
  Value x = op.getX(), y = op.getY();
  mlir::FloatType type = floatOf(x);
  auto array = llvm::dyn_cast<mlir::RankedTensorType>(x.getType());
  if (!type || !array || !array.hasStaticShape() || type.getWidth() < 16) return mlir::failure();
  ArrayBuilder b(op, rewriter);
  auto bitsType = array.clone(rewriter.getIntegerType(type.getWidth()));
  auto bitsOf = [&](Value v) -> Value {
    return shlo::BitcastConvertOp::create(rewriter, op.getLoc(), bitsType, v);
  };
  auto numberOf = [&](Value v) -> Value {
    return shlo::BitcastConvertOp::create(rewriter, op.getLoc(), array, v);
  };
  Value zero = b.like(0, x), one = b.splat(1, bitsType);
  Value xBits = bitsOf(x), yBits = bitsOf(y);
  Value isAway = b.compare(b.compare(x, y, LT), b.compare(x, zero, GT), EQ);
  Value stepped = b.select(isAway, b.add(xBits, one), b.sub(xBits, one));
  // From zero: the smallest number with the sign of y.
  auto signBit =
      rewriter.getIntegerAttr(bitsType.getElementType(), llvm::APInt::getSignMask(type.getWidth()));
  Value mask = shlo::ConstantOp::create(
      rewriter, op.getLoc(), mlir::DenseElementsAttr::get(bitsType, mlir::Attribute(signBit)));
  Value smallest = b.make<shlo::OrOp>(b.make<shlo::AndOp>(yBits, mask), one);
  Value result = numberOf(b.select(b.compare(x, zero, EQ), smallest, stepped));
  result = b.select(b.compare(x, y, EQ), y, result);
  Value isNan = b.make<shlo::OrOp>(b.compare(x, x, NE), b.compare(y, y, NE));
  rewriter.replaceOp(op, b.select(isNan, b.add(x, y), result));
  return mlir::success();
}

}  // namespace

void addChloElementwisePatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(legalizeFunction<chlo::AcosOp, arcCosine>);
  patterns.add(legalizeFunction<chlo::AcoshOp, arcHyperbolicCosine>);
  patterns.add(legalizeFunction<chlo::AsinOp, arcSine>);
  patterns.add(legalizeFunction<chlo::AsinhOp, arcHyperbolicSine>);
  patterns.add(legalizeFunction<chlo::AtanOp, arcTangent>);
  patterns.add(legalizeFunction<chlo::AtanhOp, arcHyperbolicTangent>);
  patterns.add(legalizeFunction<chlo::CoshOp, hyperbolicCosine>);
  patterns.add(legalizeFunction<chlo::SinhOp, hyperbolicSine>);
  patterns.add(legalizeFunction<chlo::IsInfOp, isInfinite>);
  patterns.add(legalizeFunction<chlo::IsPosInfOp, isPlusInfinity>);
  patterns.add(legalizeFunction<chlo::IsNegInfOp, isMinusInfinity>);
  patterns.add(legalizeConj);
  patterns.add(legalizeMulhi);
  patterns.add(legalizeNextAfter);
  patterns.add(legalizeSquare);
  patterns.add(legalizeTan);
}

}  // namespace isthmus

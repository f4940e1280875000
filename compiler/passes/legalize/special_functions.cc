// Special functions of chlo by elementwise arithmetic of stablehlo, so that they fuse and are
// computed in vectors on every device. Formulas are those of Abramowitz and Stegun; polynomials
// come from generate_special_coefficients.py.
#include <array>
#include <limits>
#include <numbers>

#include "compiler/dialect/chlo.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/legalize/float_function.h"
#include "compiler/passes/legalize/patterns.h"
#include "compiler/passes/legalize/special_coefficients.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus {
namespace {

using namespace coefficients;
using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::Value;
using enum shlo::ComparisonDirection;
using Coefficients = llvm::ArrayRef<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Arithmetic on arrays of f32 or f64.
class Math : public ArrayBuilder {
 public:
  Math(mlir::Operation* op, mlir::OpBuilder& builder, Value model)
      : ArrayBuilder(op, builder), model_(model) {}

  bool isDouble() { return mlir::getElementTypeOrSelf(model_.getType()).isF64(); }
  Coefficients choose(Coefficients single, Coefficients twice) {
    return isDouble() ? twice : single;
  }

  Value number(double x) { return like(x, model_); }
  Value negate(Value x) { return make<shlo::NegOp>(x); }
  Value absolute(Value x) { return make<shlo::AbsOp>(x); }
  Value log(Value x) { return make<shlo::LogOp>(x); }
  Value squareRoot(Value x) { return make<shlo::SqrtOp>(x); }
  Value floor(Value x) { return make<shlo::FloorOp>(x); }
  Value power(Value x, Value y) { return make<shlo::PowOp>(x, y); }
  Value both(Value a, Value b) { return make<shlo::AndOp>(a, b); }
  Value reciprocal(Value x) { return div(number(1), x); }
  Value plus(Value x, double y) { return add(x, number(y)); }
  Value times(Value x, double y) { return mul(x, number(y)); }
  Value less(Value x, double limit) { return compare(x, number(limit), LT); }
  Value isWhole(Value x) { return compare(x, floor(x), EQ); }
  Value isEven(Value x) { return isWhole(times(x, 0.5)); }

  // By Horner's rule, the highest power first.
  Value polynomial(Coefficients coefficients, Value x) {
    Value result = number(coefficients.front());
    for (double c : coefficients.drop_front()) result = plus(mul(result, x), c);
    return result;
  }

 private:
  Value model_;
};

// erf_inv(x) / x by polynomials in w = -ln(1 - x²) and in its root (Giles 2010, "Approximating the
// erfinv function").
Value inverseErf(Math& b, Value x) {
  Value w = b.negate(b.log(b.mul(b.sub(b.number(1), x), b.plus(x, 1))));
  Value root = b.squareRoot(w);
  auto about = [&](double centre) { return b.plus(root, -centre); };
  Value ratio;
  if (b.isDouble()) {
    Value near = b.polynomial(kErfInvNearF64, b.plus(w, -3.125));
    Value middle = b.polynomial(kErfInvMiddleF64, about(kErfInvMiddleCentre));
    Value far = b.polynomial(kErfInvFarthestF64, about(kErfInvFarthestCentre));
    ratio = b.select(b.less(w, 6.25), near, b.select(b.less(w, 16), middle, far));
  } else {
    Value near = b.polynomial(kErfInvNearF32, b.plus(w, -2.5));
    Value far = b.polynomial(kErfInvFarF32, about(kErfInvFarCentre));
    ratio = b.select(b.less(w, 5), near, far);
  }
  Value isEnd = b.compare(b.absolute(x), b.number(1), EQ);
  return b.mul(x, b.select(isEnd, b.number(kInfinity), ratio));
}

// How far x is from the next whole number, with its sign.
Value fractionOf(Math& b, Value x) { return b.sub(x, b.make<shlo::RoundNearestEvenOp>(x)); }

// sin(πf) / π for |f| up to a half.
Value sineOf(Math& b, Value f) {
  return b.mul(f, b.polynomial(b.choose(kSineF32, kSineF64), b.mul(f, f)));
}

// 6.1.17 for negative x: lgamma x = -ln |sin(πx) / π| - lgamma(1 - x). From 2.5 on 6.1.41, and
// below that recurrences (6.1.15) to lgamma(2 + s) = s (s + 1) P(s), |s| up to a half, which is
// exact near both roots.
Value logGamma(Math& b, Value x) {
  Value one = b.number(1);
  Value isNegative = b.less(x, 0);
  Value y = b.select(isNegative, b.sub(one, x), x);

  Value isBelowHalf = b.less(y, 0.5), isBelowSecond = b.less(y, 1.5);
  // (1 - x - 1 would have lost what is left of a small x.)
  Value fromOne = b.select(isNegative, b.negate(x), b.sub(y, one));
  Value s = b.select(isBelowHalf, y, b.select(isBelowSecond, fromOne, b.plus(y, -2)));
  Value near =
      b.mul(b.mul(s, b.plus(s, 1)), b.polynomial(b.choose(kLgammaNearF32, kLgammaNearF64), s));
  // What the recurrences take the logarithm of.
  Value factor = b.select(isBelowHalf, b.mul(y, b.plus(y, 1)), b.select(isBelowSecond, y, one));

  Value inverse = b.reciprocal(y);
  Value rest =
      b.mul(inverse, b.polynomial(b.choose(kLgammaFarF32, kLgammaFarF64), b.mul(inverse, inverse)));
  constexpr double kHalfLogTwoPi = 0.918938533204672741780329736405617640;
  Value stirling = b.mul(b.plus(y, -0.5), b.plus(b.log(y), -1));
  Value far = b.add(b.plus(stirling, kHalfLogTwoPi - 0.5), rest);

  Value isNear = b.less(y, 2.5);
  Value value = b.select(isNear, near, far);
  factor = b.select(isNear, factor, one);
  Value sine = b.absolute(sineOf(b, fractionOf(b, x)));
  Value logarithm = b.log(b.select(isNegative, b.div(sine, factor), factor));
  value = b.sub(b.select(isNegative, b.negate(value), value), logarithm);
  // At poles the value for 1 - x may be infinite too.
  Value isPole = b.both(isNegative, b.make<shlo::OrOp>(b.compare(sine, b.number(0), EQ),
                                                       b.compare(x, b.number(-kInfinity), EQ)));
  return b.select(isPole, b.number(kInfinity), value);
}

// 6.3.7 for negative x: ψ(x) = ψ(1 - x) - π / tan(πx). From 2 on 6.3.18; below that 6.3.5 to
// (t - root) P(t - 3/2), t from 1 to 2, which is exact near the root.
Value digamma(Math& b, Value x) {
  Value isNegative = b.less(x, 0);
  Value y = b.select(isNegative, b.sub(b.number(1), x), x);
  Value inverse = b.reciprocal(y);

  Value isBelowOne = b.less(y, 1);
  Value t = b.select(isBelowOne, b.plus(y, 1), y);
  const bool isDouble = b.isDouble();
  Value fromRoot = b.plus(b.plus(t, isDouble ? -kDigammaRoot : -kDigammaRootF32),
                          isDouble ? -kDigammaRootRest : -kDigammaRootRestF32);
  Value near =
      b.mul(fromRoot, b.polynomial(b.choose(kDigammaNearF32, kDigammaNearF64), b.plus(t, -1.5)));
  near = b.sub(near, b.select(isBelowOne, inverse, b.number(0)));

  Value square = b.mul(inverse, inverse);
  Value rest = b.mul(square, b.polynomial(b.choose(kDigammaFarF32, kDigammaFarF64), square));
  Value far = b.sub(b.sub(b.log(y), b.times(inverse, 0.5)), rest);

  Value value = b.select(b.less(y, 2), near, far);
  Value f = fractionOf(b, x);
  Value cosine = sineOf(b, b.sub(b.number(0.5), b.absolute(f)));
  Value cotangent = b.div(b.times(cosine, std::numbers::pi), sineOf(b, f));
  Value reflected = b.sub(value, cotangent);
  Value isPole = b.both(b.compare(x, b.number(0), LE), b.isWhole(x));
  return b.select(isPole, b.number(kNan), b.select(isNegative, reflected, value));
}

// I1(x) e^-x as x times a polynomial (9.6.10), and by inverse powers from 8 on (9.7.1).
Value besselI1e(Math& b, Value x) {
  Value y = b.absolute(x);
  Value near = b.mul(
      x, b.polynomial(b.choose(kBesselNearF32, kBesselNearF64), b.plus(b.times(y, 0.25), -1)));
  Value series =
      b.polynomial(b.choose(kBesselFarF32, kBesselFarF64), b.plus(b.div(b.number(16), y), -1));
  Value far = b.div(series, b.squareRoot(y));
  far = b.select(b.less(x, 0), b.negate(far), far);
  return b.select(b.less(y, 8), near, far);
}

// B(2k) / (2k)! of 23.2.23: 2 (-1)^(k+1) ζ(2k) / (2π)^2k.
constexpr std::array<double, 12> kEulerMaclaurin = {
    1.0 / 12,
    -1.0 / 720,
    1.0 / 30240,
    -1.0 / 1209600,
    1.0 / 47900160,
    -691.0 / 1307674368000,
    1.0 / 74724249600,
    -3617.0 / 10670622842880000,
    43867.0 / 5109094217170944000,
    -174611.0 / 802857662698291200000.0,
    77683.0 / 14101100039391805440000.0,
    -236364091.0 / 1693824136731743669452800000.0,
};

// The sum over k from 0 of (a + k)^-s, where a is large enough: the Euler-Maclaurin formula.
Value zetaTail(Math& b, Value s, Value a, int terms) {
  Value inverse = b.reciprocal(a);
  Value integral = b.power(a, b.sub(b.number(1), s));
  Value term = b.mul(s, inverse), square = b.mul(inverse, inverse);
  Value series = b.number(0.5);
  for (int k = 0; k < terms; ++k) {
    if (k > 0) {
      Value factors = b.mul(b.plus(s, 2 * k - 1), b.plus(s, 2 * k));
      term = b.mul(term, b.mul(factors, square));
    }
    series = b.add(series, b.times(term, kEulerMaclaurin[static_cast<size_t>(k)]));
  }
  Value sum = b.add(b.reciprocal(b.plus(s, -1)), b.mul(inverse, series));
  // Where the integral vanishes, powers of s / a may be infinite.
  return b.select(b.compare(integral, b.number(0), EQ), integral, b.mul(integral, sum));
}

// The sum over k from 0 of (q + k)^-s. If q is negative, s is whole, and terms are those of a
// positive argument with the first p^-s, (p + 1)^-s, … to (-q)^-s of another, by the sign of
// (-1)^s.
Value zeta(Math& b, Value s, Value q) {
  const int explicitTerms = b.isDouble() ? 7 : 4, terms = b.isDouble() ? 12 : 5;
  Value exponent = b.negate(s);
  Value isNegative = b.less(q, 0), zero = b.number(0);
  Value first = b.select(isNegative, b.sub(q, b.floor(q)), q);
  Value p = b.sub(b.make<shlo::CeilOp>(q), q);
  Value sum = zetaTail(b, s, b.plus(first, explicitTerms), terms), negative;
  {
    Value from = b.plus(p, explicitTerms), to = b.sub(b.number(1), q);
    Value difference = b.sub(zetaTail(b, s, from, terms), zetaTail(b, s, to, terms));
    negative = b.select(b.compare(to, from, GT), difference, zero);
  }
  for (int k = explicitTerms - 1; k >= 0; --k) {
    sum = b.add(sum, b.power(b.plus(first, k), exponent));
    // (p + k and -q differ by a whole number, but p may have been rounded.)
    Value at = b.plus(p, k);
    Value isTerm = b.compare(at, b.sub(b.number(0.5), q), LT);
    negative = b.add(negative, b.select(isTerm, b.power(at, exponent), zero));
  }
  Value isEven = b.isEven(s);
  Value infinity = b.number(kInfinity), nan = b.number(kNan);
  negative = b.add(sum, b.select(isEven, negative, b.negate(negative)));
  Value value = b.select(isNegative, b.select(b.isWhole(s), negative, nan), sum);
  Value isPole = b.both(b.compare(q, zero, LE), b.isWhole(q));
  value = b.select(isPole, b.select(isEven, infinity, nan), value);
  Value isOne = b.compare(s, b.number(1), EQ);
  Value ofNoSum = b.select(isOne, b.select(b.compare(q, q, EQ), infinity, nan), nan);
  return b.select(b.compare(s, b.number(1), GT), value, ofNoSum);
}

// 6.4.10: ψ(n, x) = (-1)^(n + 1) n! ζ(n + 1, x).
Value polygamma(Math& b, Value n, Value x) {
  Value order = b.plus(n, 1);
  Value magnitude = b.mul(b.make<shlo::ExpOp>(logGamma(b, order)), zeta(b, order, x));
  Value value = b.select(b.isEven(n), b.negate(magnitude), magnitude);
  value = b.select(b.compare(n, b.number(0), EQ), digamma(b, x), value);
  Value isOrder = b.both(b.compare(n, b.number(0), GE), b.isWhole(n));
  return b.select(isOrder, value, b.number(kNan));
}

template <typename Op, auto kFunction>
LogicalResult legalizeSpecial(Op op, PatternRewriter& rewriter) {
  return replaceFloatFunction(op, rewriter, [&](mlir::ValueRange x) {
    Math b(op, rewriter, x[0]);
    if constexpr (Op::template hasTrait<mlir::OpTrait::OneOperand>()) {
      return kFunction(b, x[0]);
    } else {
      return kFunction(b, x[0], x[1]);
    }
  });
}

}  // namespace

void addSpecialFunctionPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(legalizeSpecial<chlo::BesselI1eOp, besselI1e>);
  patterns.add(legalizeSpecial<chlo::DigammaOp, digamma>);
  patterns.add(legalizeSpecial<chlo::ErfInvOp, inverseErf>);
  patterns.add(legalizeSpecial<chlo::LgammaOp, logGamma>);
  patterns.add(legalizeSpecial<chlo::PolygammaOp, polygamma>);
  patterns.add(legalizeSpecial<chlo::ZetaOp, zeta>);
}

}  // namespace isthmus

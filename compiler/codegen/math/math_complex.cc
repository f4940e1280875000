// Arithmetic and functions of complex numbers.
#include <cmath>
#include <limits>

#include "compiler/codegen/elementwise/elementwise.h"

namespace isthmus::codegen {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// sqrt(a^2 + b^2) without overflow or underflow on the way.
V hypotenuse(V a, V b) {
  V x = abs(a);
  V y = abs(b);
  V larger = select(x > y, x, y);
  V smaller = select(x > y, y, x);
  V ratio = smaller / larger;
  V result = larger * sqrt(fma(ratio, ratio, 1.0));
  result = select(larger == 0.0, 0.0, result);
  // Infinity beside NaN is infinity.
  V nan = isNan(a) | isNan(b);
  result = select(nan, std::numeric_limits<double>::quiet_NaN(), result);
  return select((x == kInf) | (y == kInf), kInf, result);
}

ComplexV divide(ComplexV a, ComplexV b) {
  // Smith's algorithm: scaled by the larger part of the divisor.
  V swap = abs(b.im) > abs(b.re);
  V large = select(swap, b.im, b.re);
  V small = select(swap, b.re, b.im);
  V ratio = small / large;
  V denominator = fma(small, ratio, large);
  V p = select(swap, a.im, a.re);
  V q = select(swap, a.re, a.im);
  V re = fma(q, ratio, p) / denominator;
  V cross = fma(-p, ratio, q) / denominator;
  V im = select(swap, -cross, cross);
  // What C's annex G says of a zero divisor, of an infinite one and of an infinite dividend: signed
  // infinities, zeros, and infinities in the quotient's direction. An infinity that Smith's
  // algorithm has made NaN in both parts is one of these.
  V zero = (b.re == 0.0) & (b.im == 0.0);
  V infinity = copySign(re.k(kInf), b.re);
  re = select(zero, infinity * a.re, re);
  im = select(zero, infinity * a.im, im);
  V infinite =
      ((abs(b.re) == kInf) | (abs(b.im) == kInf)) & (abs(a.re) < kInf) & (abs(a.im) < kInf);
  re = select(infinite, 0.0, re);
  im = select(infinite, 0.0, im);
  V lost = isNan(re) & isNan(im) & ((abs(a.re) == kInf) | (abs(a.im) == kInf)) &
           (abs(b.re) < kInf) & (abs(b.im) < kInf);
  V x = copySign(select(abs(a.re) == kInf, a.re.k(1.0), a.re.k(0.0)), a.re);
  V y = copySign(select(abs(a.im) == kInf, a.im.k(1.0), a.im.k(0.0)), a.im);
  re = select(lost, (x * b.re + y * b.im) * kInf, re);
  im = select(lost, (y * b.re - x * b.im) * kInf, im);
  return {re, im};
}

ComplexV multiply(ComplexV a, ComplexV b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

ComplexV exponential(ComplexV z) {
  V scale = exp(z.re);
  V c = cos(z.im);
  V s = sin(z.im);
  // The parts may be finite where e^x is not.
  V root = exp(z.re * 0.5);
  V re = select(scale == kInf, root * c * root, scale * c);
  V im = select(scale == kInf, root * s * root, scale * s);
  // Real arguments stay real (0 * inf would be NaN), and e^-inf is 0 whatever the angle.
  im = select(z.im == 0.0, z.im, im);
  V vanishes = z.re == -kInf;
  return {select(vanishes, 0.0, re), select(vanishes, 0.0, im)};
}

ComplexV logarithm(ComplexV z) {
  // log|z|; near |z| = 1 by log1p of |z|^2 - 1 so that no digits cancel.
  V x = abs(z.re);
  V y = abs(z.im);
  V larger = select(x > y, x, y);
  V smaller = select(x > y, y, x);
  V near = fma(larger - 1.0, larger + 1.0, smaller * smaller);
  V closeToOne = (larger > 0.5) & (larger < 2.0) & (smaller < 2.0);
  V re = select(closeToOne, log1p(near) * 0.5, log(hypotenuse(z.re, z.im)));
  return {re, atan2(z.im, z.re)};
}

ComplexV squareRoot(ComplexV z) {
  V magnitude = hypotenuse(z.re, z.im);
  // The part without cancellation first, the other from the product.
  V t = sqrt(fma(magnitude, 0.5, abs(z.re) * 0.5));
  V u = abs(z.im) / (t * 2.0);
  u = select(t == 0.0, 0.0, u);
  V negative = z.re < 0.0;
  V re = select(negative, u, t);
  V im = copySign(select(negative, t, u), z.im);
  V infinite = abs(z.im) == kInf;
  re = select(infinite, kInf, re);
  im = select(infinite, z.im, im);
  V toTheRight = (z.re == kInf) & (abs(z.im) < kInf);
  im = select(toTheRight, copySign(im.k(0.0), z.im), im);
  V toTheLeft = (z.re == -kInf) & (abs(z.im) < kInf);
  re = select(toTheLeft, 0.0, re);
  im = select(toTheLeft, copySign(im.k(kInf), z.im), im);
  return {re, im};
}

// e^x - 1 and its use in tanh, which would cancel near zero.
ComplexV exponentialMinusOne(ComplexV z) {
  // e^x cos y - 1 = expm1(x) cos y - 2 sin^2(y / 2)
  V s = sin(z.im * 0.5);
  V re = fma(expm1(z.re), cos(z.im), s * s * -2.0);
  ComplexV e = exponential(z);
  return {select(z.re > 80.0, e.re, re), e.im};
}

ComplexV logPlusOne(ComplexV z) {
  // log|1 + z| = log1p(2x + x^2 + y^2) / 2 while that does not overflow.
  V square = fma(z.re, z.re + 2.0, z.im * z.im);
  V fits = (abs(z.re) < 1e3) & (abs(z.im) < 1e3);
  ComplexV shifted = logarithm({z.re + 1.0, z.im});
  return {select(fits, log1p(square) * 0.5, shifted.re), shifted.im};
}

ComplexV hyperbolicTangent(ComplexV z) {
  // With t = tan y, u = tanh x: (u + it) / (1 + iut), the imaginary axis included.
  V u = tanh(z.re);
  V s = sin(z.im);
  V c = cos(z.im);
  // sinh x cosh x and so on, scaled by cosh^2 x: 1 / cosh^2 x = (1 - u)(1 + u).
  V e = exp(abs(z.re) * -2.0);
  V sech = e * 4.0 / ((e + 1.0) * (e + 1.0));
  // tanh z = (u + i s c sech^2) / (c^2 + u^2 s^2) scaled.
  V denominator = fma(c * c, sech, u * u);
  V re = u / denominator;
  V im = s * c * sech / denominator;
  im = select(z.im == 0.0, z.im, im);
  // At infinity it is 1 or -1 whatever the angle, which has no sine there if it is not finite.
  V infinite = abs(z.re) == kInf;
  V angleless = infinite & (isNan(z.im) | (abs(z.im) == kInf));
  re = select(infinite, u, re);
  im = select(angleless, copySign(im.k(0.0), z.im), im);
  return {re, im};
}

ComplexV tangent(ComplexV z) {
  // tan z = -i tanh(iz)
  ComplexV t = hyperbolicTangent({-z.im, z.re});
  return {t.im, -t.re};
}

// e^(b log a), with the powers of zero as XLA has them.
ComplexV power(ComplexV a, ComplexV b) {
  ComplexV l = logarithm(a);
  ComplexV e = exponential(multiply(b, l));
  V zeroBase = (a.re == 0.0) & (a.im == 0.0);
  V zeroExponent = (b.re == 0.0) & (b.im == 0.0);
  V re = select(zeroBase, 0.0, e.re);
  V im = select(zeroBase, 0.0, e.im);
  return {select(zeroExponent, 1.0, re), select(zeroExponent, 0.0, im)};
}

// -i log((x + iy) / sqrt(x^2 + y^2))
ComplexV arcTangent2(ComplexV y, ComplexV x) {
  ComplexV xx = multiply(x, x);
  ComplexV yy = multiply(y, y);
  ComplexV length = squareRoot({xx.re + yy.re, xx.im + yy.im});
  ComplexV l = logarithm(divide({x.re - y.im, x.im + y.re}, length));
  return {l.im, -l.re};
}

ComplexV sign(ComplexV a) {
  V magnitude = hypotenuse(a.re, a.im);
  V zero = magnitude == 0.0;
  return {select(zero, 0.0, a.re / magnitude), select(zero, 0.0, a.im / magnitude)};
}

ComplexV cubeRoot(ComplexV a) {
  ComplexV l = logarithm(a);
  ComplexV root = exponential({l.re * (1.0 / 3), l.im * (1.0 / 3)});
  V zero = (a.re == 0.0) & (a.im == 0.0);
  return {select(zero, 0.0, root.re), select(zero, 0.0, root.im)};
}

// 1 / (1 + e^-z)
ComplexV logistic(ComplexV a) {
  ComplexV e = exponential({-a.re, -a.im});
  return divide({a.re.k(1.0), a.re.k(0.0)}, {e.re + 1.0, e.im});
}

// Both without their common factor, in which a product by a sine or a cosine may be finite where
// they are not.
struct Hyperbolic {
  V sinh;
  V cosh;
  V factor;
};

Hyperbolic hyperbolic(V x) {
  V isLarge = abs(x) > 80.0;
  V root = exp(abs(x) * 0.5);
  V half = root * 0.5;
  V e = expm1(abs(x));
  V sinh = select(isLarge, half, (e + e / (e + 1.0)) * 0.5);
  V power = exp(abs(x)) * 0.5;
  return {copySign(sinh, x), select(isLarge, half, power + 0.25 / power),
          select(isLarge, root, root.k(1.0))};
}

// sin x cosh y + i cos x sinh y; imaginary arguments stay imaginary (0 * inf would be NaN).
ComplexV sine(ComplexV a) {
  Hyperbolic y = hyperbolic(a.im);
  V re = sin(a.re) * y.cosh * y.factor;
  return {select(a.re == 0.0, a.re, re), cos(a.re) * y.sinh * y.factor};
}

// cos x cosh y - i sin x sinh y
ComplexV cosine(ComplexV a) {
  Hyperbolic y = hyperbolic(a.im);
  V im = sin(a.re) * y.sinh * y.factor;
  im = select(a.re == 0.0, a.re * copySign(a.re.k(1.0), a.im), im);
  return {cos(a.re) * y.cosh * y.factor, -im};
}

// The greater pair of (real, imaginary) in lexicographic order.
ComplexV greater(ComplexV a, ComplexV b) {
  V first = (a.re > b.re) | ((a.re == b.re) & (a.im > b.im));
  return {select(first, a.re, b.re), select(first, a.im, b.im)};
}

ComplexV lesser(ComplexV a, ComplexV b) {
  ComplexV opposite = greater({-a.re, -a.im}, {-b.re, -b.im});
  return {-opposite.re, -opposite.im};
}

}  // namespace

bool complexOp(OpCode op, llvm::ArrayRef<ComplexV> x, ComplexV* result) {
  const ComplexV& a = x[0];
  switch (op) {
    case OpCode::Shlo_AddOp:
      *result = {a.re + x[1].re, a.im + x[1].im};
      return true;
    case OpCode::Shlo_SubtractOp:
      *result = {a.re - x[1].re, a.im - x[1].im};
      return true;
    case OpCode::Shlo_MulOp:
      *result = multiply(a, x[1]);
      return true;
    case OpCode::Shlo_DivOp:
      *result = divide(a, x[1]);
      return true;
    case OpCode::Shlo_NegOp:
      *result = {-a.re, -a.im};
      return true;
    case OpCode::Shlo_AbsOp:
      *result = {hypotenuse(a.re, a.im), {}};
      return true;
    case OpCode::Shlo_SignOp:
      *result = sign(a);
      return true;
    case OpCode::Shlo_ExpOp:
      *result = exponential(a);
      return true;
    case OpCode::Shlo_Expm1Op:
      *result = exponentialMinusOne(a);
      return true;
    case OpCode::Shlo_LogOp:
      *result = logarithm(a);
      return true;
    case OpCode::Shlo_Log1pOp:
      *result = logPlusOne(a);
      return true;
    case OpCode::Shlo_SqrtOp:
      *result = squareRoot(a);
      return true;
    case OpCode::Shlo_RsqrtOp:
      *result = divide({a.re.k(1.0), a.re.k(0.0)}, squareRoot(a));
      return true;
    case OpCode::Shlo_CbrtOp:
      *result = cubeRoot(a);
      return true;
    case OpCode::Shlo_LogisticOp:
      *result = logistic(a);
      return true;
    case OpCode::Shlo_TanhOp:
      *result = hyperbolicTangent(a);
      return true;
    case OpCode::Shlo_TanOp:
      *result = tangent(a);
      return true;
    case OpCode::Shlo_SineOp:
      *result = sine(a);
      return true;
    case OpCode::Shlo_CosineOp:
      *result = cosine(a);
      return true;
    case OpCode::Shlo_PowOp:
      *result = power(a, x[1]);
      return true;
    case OpCode::Shlo_Atan2Op:
      *result = arcTangent2(a, x[1]);
      return true;
    case OpCode::Shlo_MaxOp:
      *result = greater(a, x[1]);
      return true;
    case OpCode::Shlo_MinOp:
      *result = lesser(a, x[1]);
      return true;
    case OpCode::Shlo_ClampOp:
      *result = lesser(greater(x[1], a), x[2]);
      return true;
    default:
      return false;
  }
}

}  // namespace isthmus::codegen

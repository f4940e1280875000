// Elementwise operations that are exact or one rounding away from it.
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <limits>

#include "compiler/reference/scalar/number_format.h"
#include "compiler/reference/scalar/scalar.h"

namespace isthmus::reference::scalars {
namespace {

Scalar complexNumber(double re, double im) {
  Scalar value;
  value.re = re;
  value.im = im;
  return value;
}

Scalar bitsOf(uint64_t bits) {
  Scalar value;
  value.bits = bits;
  return value;
}

int64_t asSigned(const Scalar& x) { return static_cast<int64_t>(x.bits); }

// The bits of an integer without those of its sign extension.
uint64_t ownBits(ElementType type, const Scalar& x) {
  int width = bitWidth(type);
  return width >= 64 ? x.bits : x.bits & ((uint64_t{1} << width) - 1);
}

int threeWay(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) return 2;
  return x < y ? -1 : x > y ? 1 : 0;
}

// 0 for numbers, with the sign of a NaN otherwise.
int nanSide(double x) { return std::isnan(x) ? (std::signbit(x) ? -1 : 1) : 0; }

int totalOrder(double x, double y) {
  if (std::isnan(x) || std::isnan(y)) {
    return std::clamp(nanSide(x) - nanSide(y), -1, 1);
  }
  if (x == y) return std::signbit(y) - std::signbit(x);
  return x < y ? -1 : 1;
}

// Saturating, towards zero; NaN is 0.
uint64_t toInteger(double x, ElementType to) {
  if (std::isnan(x)) return 0;
  x = std::trunc(x);
  // The first power of two that is too large is exact in double.
  if (x >= std::ldexp(1.0, bitWidth(to) - (isSignedInteger(to) ? 1 : 0))) return maxInteger(to);
  if (x <= static_cast<double>(minInteger(to))) return static_cast<uint64_t>(minInteger(to));
  return isSignedInteger(to) ? static_cast<uint64_t>(static_cast<int64_t>(x))
                             : static_cast<uint64_t>(x);
}

// Greater or lesser of two, by `sign`; NaN wins, and 0 is greater than -0.
double extreme(double x, double y, int sign) {
  if (std::isnan(x)) return x;
  if (std::isnan(y)) return y;
  return totalOrder(x, y) * sign >= 0 ? x : y;
}

Scalar extremeOf(ElementType type, const Scalar& x, const Scalar& y, int sign) {
  if (isFloat(type)) return makeFloat(extreme(x.re, y.re, sign));
  if (isComplex(type)) {
    if (std::isnan(x.re) || std::isnan(x.im)) return x;
    if (std::isnan(y.re) || std::isnan(y.im)) return y;
  }
  return compare(type, x, y) * sign >= 0 ? x : y;
}

double signOf(double x) { return std::isnan(x) || x == 0 ? x : std::copysign(1.0, x); }

}  // namespace

Scalar makeFloat(double value) { return complexNumber(value, 0); }
Scalar makeInteger(int64_t value) { return bitsOf(static_cast<uint64_t>(value)); }
Scalar makeBool(bool value) { return bitsOf(value ? 1 : 0); }

Scalar abs(ElementType type, const Scalar& x) {
  if (isComplex(type)) {
    return makeFloat(static_cast<double>(
        std::hypot(static_cast<long double>(x.re), static_cast<long double>(x.im))));
  }
  if (isFloat(type)) return makeFloat(std::fabs(x.re));
  return isSignedInteger(type) && asSigned(x) < 0 ? bitsOf(0 - x.bits) : x;
}

Scalar ceil(ElementType, const Scalar& x) { return makeFloat(std::ceil(x.re)); }
Scalar floor(ElementType, const Scalar& x) { return makeFloat(std::floor(x.re)); }
Scalar roundAwayFromZero(ElementType, const Scalar& x) { return makeFloat(std::round(x.re)); }
Scalar roundToEven(ElementType, const Scalar& x) { return makeFloat(std::nearbyint(x.re)); }

Scalar countLeadingZeros(ElementType type, const Scalar& x) {
  return makeInteger(std::countl_zero(ownBits(type, x)) - (64 - bitWidth(type)));
}
Scalar populationCount(ElementType type, const Scalar& x) {
  return makeInteger(std::popcount(ownBits(type, x)));
}

Scalar negate(ElementType type, const Scalar& x) {
  if (isFloat(type) || isComplex(type)) return complexNumber(-x.re, -x.im);
  return bitsOf(0 - x.bits);
}
Scalar bitNot(ElementType type, const Scalar& x) {
  return isBool(type) ? makeBool(x.bits == 0) : bitsOf(~x.bits);
}
Scalar real(ElementType, const Scalar& x) { return makeFloat(x.re); }
Scalar imaginary(ElementType, const Scalar& x) { return makeFloat(x.im); }
Scalar conjugate(ElementType type, const Scalar& x) {
  return isComplex(type) ? complexNumber(x.re, -x.im) : x;
}
Scalar isFinite(ElementType, const Scalar& x) { return makeBool(std::isfinite(x.re)); }
Scalar isInfinite(ElementType, const Scalar& x) { return makeBool(std::isinf(x.re)); }
Scalar isMinusInfinity(ElementType, const Scalar& x) {
  return makeBool(std::isinf(x.re) && x.re < 0);
}
Scalar isPlusInfinity(ElementType, const Scalar& x) {
  return makeBool(std::isinf(x.re) && x.re > 0);
}

Scalar sign(ElementType type, const Scalar& x) {
  if (isFloat(type)) return makeFloat(signOf(x.re));
  if (isComplex(type)) {
    double nan = std::numeric_limits<double>::quiet_NaN();
    if (std::isnan(x.re) || std::isnan(x.im)) return complexNumber(nan, nan);
    if (x.re == 0 && x.im == 0) return complexNumber(0, 0);
    Scalar modulus = normalized(abs(type, x), partType(type));
    return divide(type, x, modulus);
  }
  if (isSignedInteger(type) && asSigned(x) < 0) return makeInteger(-1);
  return makeInteger(x.bits == 0 ? 0 : 1);
}

Scalar square(ElementType type, const Scalar& x) { return multiply(type, x, x); }

Scalar add(ElementType type, const Scalar& x, const Scalar& y) {
  if (isBool(type)) return bitsOf(x.bits | y.bits);
  if (isInteger(type)) return bitsOf(x.bits + y.bits);
  return complexNumber(x.re + y.re, x.im + y.im);
}

Scalar subtract(ElementType type, const Scalar& x, const Scalar& y) {
  if (isInteger(type)) return bitsOf(x.bits - y.bits);
  return complexNumber(x.re - y.re, x.im - y.im);
}

Scalar multiply(ElementType type, const Scalar& x, const Scalar& y) {
  if (isBool(type)) return bitsOf(x.bits & y.bits);
  if (isInteger(type)) return bitsOf(x.bits * y.bits);
  if (isFloat(type)) return makeFloat(x.re * y.re);
  long double a = x.re, b = x.im, c = y.re, d = y.im;
  return complexNumber(static_cast<double>(a * c - b * d), static_cast<double>(a * d + b * c));
}

Scalar divide(ElementType type, const Scalar& x, const Scalar& y) {
  if (isFloat(type)) return makeFloat(x.re / y.re);
  if (isComplex(type)) {
    std::complex<long double> quotient =
        std::complex<long double>(x.re, x.im) / std::complex<long double>(y.re, y.im);
    return complexNumber(static_cast<double>(quotient.real()),
                         static_cast<double>(quotient.imag()));
  }
  if (y.bits == 0) return makeInteger(-1);
  if (!isSignedInteger(type)) return bitsOf(x.bits / y.bits);
  if (asSigned(y) == -1) return bitsOf(0 - x.bits);
  return makeInteger(asSigned(x) / asSigned(y));
}

Scalar remainder(ElementType type, const Scalar& x, const Scalar& y) {
  if (isFloat(type)) return makeFloat(std::fmod(x.re, y.re));
  if (y.bits == 0) return x;
  if (!isSignedInteger(type)) return bitsOf(x.bits % y.bits);
  if (asSigned(y) == -1) return makeInteger(0);
  return makeInteger(asSigned(x) % asSigned(y));
}

Scalar maximum(ElementType type, const Scalar& x, const Scalar& y) {
  return extremeOf(type, x, y, 1);
}
Scalar minimum(ElementType type, const Scalar& x, const Scalar& y) {
  return extremeOf(type, x, y, -1);
}

Scalar bitAnd(ElementType, const Scalar& x, const Scalar& y) { return bitsOf(x.bits & y.bits); }
Scalar bitOr(ElementType, const Scalar& x, const Scalar& y) { return bitsOf(x.bits | y.bits); }
Scalar bitXor(ElementType, const Scalar& x, const Scalar& y) { return bitsOf(x.bits ^ y.bits); }

// Amounts are unsigned numbers of the type's width.
Scalar shiftLeft(ElementType type, const Scalar& x, const Scalar& y) {
  uint64_t amount = ownBits(type, y);
  return bitsOf(amount >= static_cast<uint64_t>(bitWidth(type)) ? 0 : x.bits << amount);
}
Scalar shiftRightArithmetic(ElementType type, const Scalar& x, const Scalar& y) {
  auto width = static_cast<uint64_t>(bitWidth(type));
  uint64_t amount = std::min(ownBits(type, y), width - 1);
  // The highest bit of an unsigned type moves in like a sign, too.
  uint64_t bits = ownBits(type, x) << (64 - width);
  return makeInteger(static_cast<int64_t>(bits) >> (64 - width) >> amount);
}
Scalar shiftRightLogical(ElementType type, const Scalar& x, const Scalar& y) {
  uint64_t amount = ownBits(type, y);
  return bitsOf(amount >= static_cast<uint64_t>(bitWidth(type)) ? 0 : ownBits(type, x) >> amount);
}

Scalar makeComplex(ElementType, const Scalar& re, const Scalar& im) {
  return complexNumber(re.re, im.re);
}

Scalar multiplyHigh(ElementType type, const Scalar& x, const Scalar& y) {
  int width = bitWidth(type);
  if (isSignedInteger(type)) {
    __int128 product = static_cast<__int128>(asSigned(x)) * asSigned(y);
    return makeInteger(static_cast<int64_t>(product >> width));
  }
  unsigned __int128 product = static_cast<unsigned __int128>(x.bits) * y.bits;
  return bitsOf(static_cast<uint64_t>(product >> width));
}

Scalar nextAfter(ElementType type, const Scalar& x, const Scalar& y) {
  if (std::isnan(x.re) || std::isnan(y.re)) {
    return makeFloat(std::numeric_limits<double>::quiet_NaN());
  }
  if (x.re == y.re) return y;
  uint64_t sign = uint64_t{1} << (bitWidth(type) - 1);
  uint64_t bits = encodeFloat(x.re, type);
  if ((bits & ~sign) == 0) return makeFloat(decodeFloat(y.re < 0 ? sign | 1 : 1, type));
  bool growsAway = (x.re < y.re) == (x.re > 0);
  return makeFloat(decodeFloat(growsAway ? bits + 1 : bits - 1, type));
}

Scalar convert(ElementType from, const Scalar& x, ElementType to) {
  if (!isFloat(from) && !isComplex(from)) {
    if (isBool(to)) return makeBool(x.bits != 0);
    if (isInteger(to)) return x;
    // To float at once: by way of double, 64-bit integers would be rounded twice.
    if (partType(to) == ElementType::kF32) {
      return makeFloat(isSignedInteger(from) ? static_cast<float>(asSigned(x))
                                             : static_cast<float>(x.bits));
    }
    return makeFloat(isSignedInteger(from) ? static_cast<double>(asSigned(x))
                                           : static_cast<double>(x.bits));
  }
  if (isBool(to)) return makeBool(x.re != 0);
  if (isInteger(to)) return bitsOf(toInteger(x.re, to));
  return isComplex(from) && isComplex(to) ? x : makeFloat(x.re);
}

int compare(ElementType type, const Scalar& x, const Scalar& y) {
  if (isFloat(type)) return threeWay(x.re, y.re);
  if (isComplex(type)) {
    int first = threeWay(x.re, y.re);
    return first != 0 ? first : threeWay(x.im, y.im);
  }
  if (x.bits == y.bits) return 0;
  return (isSignedInteger(type) ? asSigned(x) < asSigned(y) : x.bits < y.bits) ? -1 : 1;
}

int compareTotally(ElementType type, const Scalar& x, const Scalar& y) {
  if (isFloat(type)) return totalOrder(x.re, y.re);
  if (isComplex(type)) {
    int first = totalOrder(x.re, y.re);
    return first != 0 ? first : totalOrder(x.im, y.im);
  }
  return compare(type, x, y);
}

}  // namespace isthmus::reference::scalars

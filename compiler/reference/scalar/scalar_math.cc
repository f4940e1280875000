// Functions that are rounded: C's long double ones, and the definitions by them.
#include <cmath>
#include <complex>

#include "compiler/reference/scalar/number_format.h"
#include "compiler/reference/scalar/scalar.h"

namespace isthmus::reference::scalars {
namespace {

using Real = long double;
using Complex = std::complex<Real>;

Complex complexOf(const Scalar& x) { return {x.re, x.im}; }

Scalar scalarOf(const Complex& z) {
  Scalar value;
  value.re = static_cast<double>(z.real());
  value.im = static_cast<double>(z.imag());
  return value;
}
Scalar scalarOf(Real x) { return makeFloat(static_cast<double>(x)); }

template <typename RealFunction, typename ComplexFunction>
Scalar apply(ElementType type, const Scalar& x, RealFunction real, ComplexFunction complex) {
  return isComplex(type) ? scalarOf(complex(complexOf(x)))
                         : scalarOf(real(static_cast<Real>(x.re)));
}

// i * z, without multiplying by the zero real part of i.
Complex timesI(const Complex& z) { return {-z.imag(), z.real()}; }
Complex timesMinusI(const Complex& z) { return {z.imag(), -z.real()}; }

Complex expm1Of(const Complex& z) {
  if (z.imag() == 0) return {std::expm1(z.real()), z.imag()};
  Real half = std::sin(z.imag() / 2);
  Real e = std::exp(z.real());
  Real re = std::isinf(z.real()) ? (e == 0 ? Real(-1) : e * std::cos(z.imag()))
                                 : std::expm1(z.real()) * std::cos(z.imag()) - 2 * half * half;
  Real im = e == 0 ? std::copysign(Real(0), std::sin(z.imag())) : e * std::sin(z.imag());
  return {re, im};
}

Complex log1pOf(const Complex& z) {
  Real x = z.real(), y = z.imag();
  Real argument = std::atan2(y, 1 + x);
  if (std::fabs(x) > 1e8L || std::fabs(y) > 1e8L || std::isnan(x) || std::isnan(y)) {
    return {std::log(std::hypot(1 + x, y)), argument};
  }
  return {std::log1p(x * (2 + x) + y * y) / 2, argument};
}

// Integers by repeated squaring, modulo the width.
Scalar integerPower(ElementType type, const Scalar& x, const Scalar& y) {
  auto exponent = static_cast<int64_t>(y.bits);
  if (isSignedInteger(type) && exponent < 0) {
    auto base = static_cast<int64_t>(x.bits);
    if (base == 1) return makeInteger(1);
    if (base == -1) return makeInteger(exponent % 2 == 0 ? 1 : -1);
    return makeInteger(0);
  }
  uint64_t result = 1;
  uint64_t factor = x.bits;
  for (uint64_t rest = y.bits; rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) result *= factor;
    factor *= factor;
  }
  return makeInteger(static_cast<int64_t>(result));
}

}  // namespace

Scalar cbrt(ElementType type, const Scalar& x) {
  return apply(
      type, x, [](Real v) { return std::cbrt(v); },
      [](const Complex& z) {
        Real modulus = std::cbrt(std::abs(z));
        return std::polar(modulus, std::arg(z) / 3);
      });
}

Scalar sqrt(ElementType type, const Scalar& x) {
  return apply(
      type, x, [](Real v) { return std::sqrt(v); }, [](const Complex& z) { return std::sqrt(z); });
}

Scalar rsqrt(ElementType type, const Scalar& x) {
  return apply(
      type, x, [](Real v) { return 1 / std::sqrt(v); },
      [](const Complex& z) {
        // By the conjugate, as dividing by an infinite or zero root would lose its direction.
        Complex root = std::sqrt(z);
        Real norm = std::abs(z);
        if (std::isinf(norm)) return Complex(0, std::copysign(Real(0), -root.imag()));
        return std::conj(root) / norm;
      });
}

Scalar exponential(ElementType type, const Scalar& x) {
  return apply(
      type, x, [](Real v) { return std::exp(v); }, [](const Complex& z) { return std::exp(z); });
}

Scalar exponentialMinusOne(ElementType type, const Scalar& x) {
  return apply(type, x, [](Real v) { return std::expm1(v); }, expm1Of);
}

Scalar log(ElementType type, const Scalar& x) {
  return apply(
      type, x, [](Real v) { return std::log(v); }, [](const Complex& z) { return std::log(z); });
}

Scalar logPlusOne(ElementType type, const Scalar& x) {
  return apply(type, x, [](Real v) { return std::log1p(v); }, log1pOf);
}

Scalar logistic(ElementType type, const Scalar& x) {
  return apply(
      type, x, [](Real v) { return 1 / (1 + std::exp(-v)); },
      [](const Complex& z) { return Real(1) / (Real(1) + std::exp(-z)); });
}

Scalar sine(ElementType type, const Scalar& x) {
  return apply(
      type, x, [](Real v) { return std::sin(v); }, [](const Complex& z) { return std::sin(z); });
}
Scalar cosine(ElementType type, const Scalar& x) {
  return apply(
      type, x, [](Real v) { return std::cos(v); }, [](const Complex& z) { return std::cos(z); });
}
Scalar tangent(ElementType type, const Scalar& x) {
  return apply(
      type, x, [](Real v) { return std::tan(v); }, [](const Complex& z) { return std::tan(z); });
}
Scalar tanh(ElementType type, const Scalar& x) {
  return apply(
      type, x, [](Real v) { return std::tanh(v); }, [](const Complex& z) { return std::tanh(z); });
}
Scalar sinh(ElementType type, const Scalar& x) {
  return apply(
      type, x, [](Real v) { return std::sinh(v); }, [](const Complex& z) { return std::sinh(z); });
}
Scalar cosh(ElementType type, const Scalar& x) {
  return apply(
      type, x, [](Real v) { return std::cosh(v); }, [](const Complex& z) { return std::cosh(z); });
}
Scalar asin(ElementType type, const Scalar& x) {
  return apply(
      type, x, [](Real v) { return std::asin(v); }, [](const Complex& z) { return std::asin(z); });
}
// For asin z = u + i v: cosh v cos u + i |v|. The cosine is the sine of acos |z|, which does not
// cancel where u is near a right angle.
Scalar asinAcosKernel(ElementType, const Scalar& x) {
  Complex z = complexOf(x), inFirstQuadrant(std::abs(z.real()), std::abs(z.imag()));
  Complex w = std::acos(inFirstQuadrant);
  Real v = std::abs(w.imag());
  // From here on cosh v is |z| and the sine of the angle is that of z.
  bool isFar = std::abs(inFirstQuadrant) > 1e100L;
  return scalarOf(Complex(isFar ? inFirstQuadrant.imag() : std::cosh(v) * std::sin(w.real()), v));
}
Scalar acos(ElementType type, const Scalar& x) {
  return apply(
      type, x, [](Real v) { return std::acos(v); }, [](const Complex& z) { return std::acos(z); });
}
Scalar atan(ElementType type, const Scalar& x) {
  return apply(
      type, x, [](Real v) { return std::atan(v); }, [](const Complex& z) { return std::atan(z); });
}
Scalar asinh(ElementType type, const Scalar& x) {
  return apply(
      type, x, [](Real v) { return std::asinh(v); },
      [](const Complex& z) { return std::asinh(z); });
}
Scalar acosh(ElementType type, const Scalar& x) {
  return apply(
      type, x, [](Real v) { return std::acosh(v); },
      [](const Complex& z) { return std::acosh(z); });
}
Scalar atanh(ElementType type, const Scalar& x) {
  return apply(
      type, x, [](Real v) { return std::atanh(v); },
      [](const Complex& z) { return std::atanh(z); });
}

Scalar power(ElementType type, const Scalar& x, const Scalar& y) {
  if (isInteger(type)) return integerPower(type, x, y);
  if (isFloat(type)) {
    return scalarOf(std::pow(static_cast<Real>(x.re), static_cast<Real>(y.re)));
  }
  Complex base = complexOf(x), exponent = complexOf(y);
  if (exponent == Complex(0)) return scalarOf(Complex(1));
  if (base == Complex(0)) {
    if (exponent.real() > 0) return scalarOf(Complex(0));
    return scalarOf(std::pow(base, exponent));
  }
  return scalarOf(std::exp(exponent * std::log(base)));
}

Scalar atan2(ElementType type, const Scalar& y, const Scalar& x) {
  if (!isComplex(type)) {
    return scalarOf(std::atan2(static_cast<Real>(y.re), static_cast<Real>(x.re)));
  }
  Complex a = complexOf(y), b = complexOf(x);
  return scalarOf(timesMinusI(std::log((b + timesI(a)) / std::sqrt(a * a + b * b))));
}

}  // namespace isthmus::reference::scalars

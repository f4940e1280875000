// Special functions by their series and recurrences (Abramowitz and Stegun), in long double.
#include <cmath>
#include <limits>

#include "compiler/reference/scalar/scalar.h"

namespace isthmus::reference::scalars {
namespace {

using Real = long double;

constexpr Real kPi = 3.141592653589793238462643383279502884L;
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();
constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
// B(2), B(4), …: coefficients of the Euler-Maclaurin formula.
constexpr Real kBernoulli[] = {1.0L / 6,       -1.0L / 30, 1.0L / 42,      -1.0L / 30,    5.0L / 66,
                               -691.0L / 2730, 7.0L / 6,   -3617.0L / 510, 43867.0L / 798};

Scalar scalarOf(Real x) { return makeFloat(static_cast<double>(x)); }

// 6.3.6 and 6.3.18: recurrence upwards, then the asymptotic series.
Real digammaOf(Real x) {
  if (std::isnan(x) || x == -kInfinity) return kNan;
  if (x == kInfinity) return x;
  if (x <= 0 && x == std::floor(x)) return kNan;
  if (x < 0) {
    // 6.3.7: reflection; the argument of the tangent reduced before it is scaled.
    Real fraction = x - std::floor(x);
    return digammaOf(1 - x) - kPi / std::tan(kPi * fraction);
  }
  Real sum = 0;
  for (; x < 20; x += 1) sum -= 1 / x;
  sum += std::log(x) - 1 / (2 * x);
  Real power = x * x;
  for (int k = 0; k < 9; ++k, power *= x * x) sum -= kBernoulli[k] / ((2 * k + 2) * power);
  return sum;
}

// 23.2.3 with an offset: the first terms, then Euler-Maclaurin's remainder.
Real zetaOf(Real s, Real q) {
  if (std::isnan(s) || std::isnan(q)) return kNan;
  if (s == 1) return kInfinity;
  if (s < 1) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return s == std::floor(s) && std::fmod(s, 2.0L) == 0 ? kInfinity : kNan;
    if (s != std::floor(s)) return kNan;
    // The terms of negative numbers are q^-s, (q + 1)^-s, … to the last of them, which is -p.
    Real p = std::ceil(q) - q;
    Real negative = zetaOf(s, p) - zetaOf(s, 1 - q);
    return zetaOf(s, q - std::floor(q)) + (std::fmod(s, 2.0L) == 0 ? negative : -negative);
  }
  Real sum = 0;
  Real a = q;
  for (int k = 0; k < 25; ++k, a += 1) sum += std::pow(a, -s);
  sum += std::pow(a, 1 - s) / (s - 1) + std::pow(a, -s) / 2;
  Real term = s * std::pow(a, -s - 1);  // s (s+1) … a^(-s-2k+1) / (2k)!
  for (int k = 0; k < 9; ++k) {
    Real even = 2 * k + 2;
    term /= even;
    sum += kBernoulli[k] * term;
    term *= (s + even - 1) * (s + even) / ((even + 1) * a * a);
  }
  return sum;
}

// 9.6.10 (ascending series) and 9.7.1 (asymptotic expansion), times e^-|x|.
Real besselI1eOf(Real x) {
  Real y = std::fabs(x);
  Real value = 0;
  if (y < 40) {
    Real term = y / 2;
    for (int k = 1; term > value * 1e-22L && k < 400; ++k) {
      value += term;
      term *= (y / 2) * (y / 2) / (static_cast<Real>(k) * (k + 1));
    }
    value *= std::exp(-y);
  } else if (std::isinf(y)) {
    value = 0;
  } else {
    Real term = 1;
    for (int k = 1; k < 30 && std::fabs(term) > 1e-22L; ++k) {
      value += term;
      Real odd = 2 * k - 1;
      term *= -(4 - odd * odd) / (8 * k * y);
    }
    value /= std::sqrt(2 * kPi * y);
  }
  return std::isnan(x) ? x : std::copysign(value, x);
}

// Newton's iteration on erf, or on erfc where erf is close to one.
Real inverseErfOf(Real x) {
  if (std::isnan(x) || std::fabs(x) > 1) return kNan;
  if (std::fabs(x) == 1) return std::copysign(kInfinity, x);
  if (x == 0) return x;
  Real target = std::fabs(x);
  // Winitzki's approximation to start with.
  Real logarithm = std::log1p(-target * target);
  Real a = 2 / (kPi * 0.147L) + logarithm / 2;
  Real y = std::sqrt(std::sqrt(a * a - logarithm / 0.147L) - a);
  for (int i = 0; i < 60; ++i) {
    Real error = target < 0.5L ? std::erf(y) - target : (1 - target) - std::erfc(y);
    Real step = error * std::sqrt(kPi) / 2 * std::exp(y * y);
    y -= step;
    if (std::fabs(step) <= 1e-19L * y) break;
  }
  return std::copysign(y, x);
}

}  // namespace

Scalar erf(ElementType, const Scalar& x) { return scalarOf(std::erf(static_cast<Real>(x.re))); }
Scalar erfc(ElementType, const Scalar& x) { return scalarOf(std::erfc(static_cast<Real>(x.re))); }
Scalar inverseErf(ElementType, const Scalar& x) { return scalarOf(inverseErfOf(x.re)); }
Scalar logGamma(ElementType, const Scalar& x) {
  int sign = 0;
  return scalarOf(lgammal_r(x.re, &sign));
}
Scalar digamma(ElementType, const Scalar& x) { return scalarOf(digammaOf(x.re)); }
Scalar besselI1e(ElementType, const Scalar& x) { return scalarOf(besselI1eOf(x.re)); }
Scalar zeta(ElementType, const Scalar& x, const Scalar& q) { return scalarOf(zetaOf(x.re, q.re)); }

Scalar polygamma(ElementType, const Scalar& n, const Scalar& x) {
  Real order = n.re;
  if (order < 0 || order != std::floor(order)) return scalarOf(kNan);
  if (order == 0) return scalarOf(digammaOf(x.re));
  // 6.4.10
  Real sign = std::fmod(order, 2.0L) == 1 ? 1 : -1;
  return scalarOf(sign * std::exp(std::lgamma(order + 1)) * zetaOf(order + 1, x.re));
}

}  // namespace isthmus::reference::scalars

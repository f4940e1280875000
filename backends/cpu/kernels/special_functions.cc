#include "backends/cpu/kernels/special_functions.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <utility>

#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/parallel_for.h"

namespace isthmus::cpu {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Bernoulli's numbers of even index from 2, of the Euler-Maclaurin formula.
constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30, 1.0 / 42,      -1.0 / 30,    5.0 / 66,
                                 -691.0 / 2730, 7.0 / 6,   -3617.0 / 510, 43867.0 / 798};

bool isWhole(double x) { return x == std::floor(x); }

// Abramowitz and Stegun 6.3.5, 6.3.7 and 6.3.18: upwards to where the asymptotic series holds. In
// long double, since the sum cancels near the roots.
long double digamma(long double x) {
  if (std::isnan(x) || x == -kInfinity || (x <= 0 && x == std::floor(x))) return kNan;
  if (x == kInfinity) return x;
  constexpr long double pi = std::numbers::pi_v<long double>;
  if (x < 0) return digamma(1 - x) - pi / std::tan(pi * (x - std::floor(x)));
  long double below = 0;
  for (; x < 20; x += 1) below += 1 / x;
  long double series = 0;
  const long double power = 1 / (x * x);
  for (int k = 8; k >= 0; --k) series = (series + kBernoulli[k] / (2 * k + 2)) * power;
  return std::log(x) - 0.5L / x - series - below;
}

// The sum over k of (q + k)^-s: some terms, then the Euler-Maclaurin formula.
double zeta(double s, double q) {
  if (std::isnan(s) || std::isnan(q) || s < 1) return kNan;
  if (s == 1) return kInfinity;
  if (q <= 0 && isWhole(q)) return isWhole(s) && std::fmod(s, 2) == 0 ? kInfinity : kNan;
  if (q <= 0 && !isWhole(s)) return kNan;
  constexpr int kTerms = 16;
  // To where the formula holds, for negative q too.
  const int terms = kTerms + (q < 0 ? static_cast<int>(std::min(-std::floor(q), 1e6)) : 0);
  const double a = q + terms;
  const double edge = std::pow(a, -s);
  double tail = 0, term = s * edge / a;
  for (int k = 0; k < 9; ++k) {
    const double even = 2 * k + 2;
    term /= even;
    tail += kBernoulli[k] * term;
    term *= (s + even - 1) / a * ((s + even) / a) / (even + 1);
  }
  double sum = tail + edge / 2 + edge * a / (s - 1);
  for (int k = terms - 1; k >= 0; --k) sum += std::pow(q + k, -s);
  return sum;
}

double polygamma(double n, double x) {
  if (n < 0 || !isWhole(n)) return kNan;
  if (n == 0) return static_cast<double>(digamma(x));
  const double sign = std::fmod(n, 2) == 1 ? 1 : -1;
  return sign * std::tgamma(n + 1) * zeta(n + 1, x);
}

// Abramowitz and Stegun 9.6.10 and 9.7.1, times e^-|x|.
double besselI1e(double x) {
  const double y = std::fabs(x);
  if (std::isnan(x)) return x;
  double value = 0, term = 0;
  if (y < 30) {
    term = y / 2;
    for (int k = 1; term > value * 1e-18; ++k) {
      value += term;
      term *= y * y / (4.0 * k * (k + 1));
    }
    value *= std::exp(-y);
  } else if (y < kInfinity) {
    term = 1;
    for (int k = 1; k < 30 && std::fabs(term) > 1e-18; ++k) {
      value += term;
      const double odd = 2 * k - 1;
      term *= (odd * odd - 4) / (8 * k * y);
    }
    value /= std::sqrt(2 * kPi * y);
  }
  return std::copysign(value, x);
}

// Newton's iteration from Winitzki's approximation; by erfc where erf is close to one.
double inverseErf(double x) {
  const double target = std::fabs(x);
  if (std::isnan(x) || target > 1) return kNan;
  if (target == 1) return std::copysign(kInfinity, x);
  if (target == 0) return x;
  const double logarithm = std::log1p(-target * target), a = 2 / (kPi * 0.147) + logarithm / 2;
  // (The difference of the root and a cancels for small arguments.)
  double y = target < 1e-3 ? target * std::sqrt(kPi) / 2
                           : std::sqrt(std::sqrt(a * a - logarithm / 0.147) - a);
  for (int i = 0; i < 20; ++i) {
    const double error = target < 0.5 ? std::erf(y) - target : (1 - target) - std::erfc(y);
    const double step = error * std::sqrt(kPi) / 2 * std::exp(y * y);
    y -= step;
    if (std::fabs(step) <= 1e-16 * y) break;
  }
  return std::copysign(y, x);
}

double logGamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

double evaluate(SpecialFunction function, double x, double y) {
  switch (function) {
    case SpecialFunction::kBesselI1e:
      return besselI1e(x);
    case SpecialFunction::kDigamma:
      return static_cast<double>(digamma(x));
    case SpecialFunction::kErf:
      return std::erf(x);
    case SpecialFunction::kErfInv:
      return inverseErf(x);
    case SpecialFunction::kErfc:
      return std::erfc(x);
    case SpecialFunction::kLgamma:
      return logGamma(x);
    case SpecialFunction::kPolygamma:
      return polygamma(x, y);
    case SpecialFunction::kZeta:
      return zeta(x, y);
    default:
      return kNan;
  }
}

using Complex = std::complex<double>;

// sqrt(a² - x²) + i log(a + sqrt(a² - 1)), where a is the mean of |z + 1| and |z - 1|, x = |re z|
// and y = |im z| (Hull, Fairgrieve and Tang 1997). The differences a - x are written so that they
// do not cancel.
Complex asinAcosKernel(Complex z) {
  const double x = std::fabs(z.real()), y = std::fabs(z.imag());
  const double logarithm = std::fabs(std::asin(Complex(x, y)).imag());
  if (std::isnan(x) || std::isnan(y)) return {kNan, logarithm};
  // Here a² - x² rounds to y², and squares might overflow.
  if (std::max(x, y) > 1e100) return {y, logarithm};
  const double r = std::hypot(x + 1, y), s = std::hypot(x - 1, y);
  const double mean = ((r + s) / 2 + x) / 2;
  if (x > 1) return {y * std::sqrt(mean * (1 / (r + x + 1) + 1 / (s + (x - 1)))), logarithm};
  return {std::sqrt(mean * (y * y / (r + x + 1) + (s + (1 - x)))), logarithm};
}

Complex evaluate(SpecialFunction function, Complex z) {
  switch (function) {
    case SpecialFunction::kAcos:
      return std::acos(z);
    case SpecialFunction::kAcosh:
      return std::acosh(z);
    case SpecialFunction::kAsin:
      return std::asin(z);
    case SpecialFunction::kAsinAcosKernel:
      return asinAcosKernel(z);
    case SpecialFunction::kAsinh:
      return std::asinh(z);
    case SpecialFunction::kAtan:
      return std::atan(z);
    case SpecialFunction::kAtanh:
      return std::atanh(z);
    case SpecialFunction::kCosh:
      return std::cosh(z);
    case SpecialFunction::kSinh:
      return std::sinh(z);
    default:
      return {kNan, kNan};
  }
}

// The next value after x towards y among the 2^bits ones of a format of one byte.
uint8_t nextSmallFloat(ElementType type, uint8_t xBits, uint8_t yBits) {
  const float* values = smallFloatTable(type);
  const int bits = elementBits(type);
  const float x = values[xBits], y = values[yBits];
  if (std::isnan(x) || x == y) return std::isnan(x) ? xBits : yBits;
  if (std::isnan(y)) return yBits;
  const int sign = 1 << (bits - 1);
  int best = -1;
  for (int code = 0; code < 1 << bits; ++code) {
    const float value = values[code];
    if (x < y ? !(value > x) : !(value < x)) continue;
    const bool nearer = best < 0 || (x < y ? value < values[best] : value > values[best]);
    // A zero keeps the sign that x has, where there are two.
    const bool sameSign = best >= 0 && value == values[best] && (code & sign) == (xBits & sign);
    if (nearer || sameSign) best = code;
  }
  return static_cast<uint8_t>(best < 0 ? xBits : best);
}

struct Call {
  const SpecialDescriptor& d;
  void* const* buffers;

  void run(int64_t begin, int64_t end) const {
    const bool isBinary = d.function == SpecialFunction::kPolygamma ||
                          d.function == SpecialFunction::kZeta ||
                          d.function == SpecialFunction::kNextAfter;
    void* result = buffers[isBinary ? 2 : 1];
    for (int64_t i = begin; i < end; ++i) {
      if (d.function == SpecialFunction::kNextAfter) {
        static_cast<uint8_t*>(result)[i] =
            nextSmallFloat(d.type, static_cast<const uint8_t*>(buffers[0])[i],
                           static_cast<const uint8_t*>(buffers[1])[i]);
      } else if (elementClass(d.type) == ElementClass::kComplex) {
        const auto z = loadElement<Complex128>(buffers[0], d.type, i);
        const Complex value = evaluate(d.function, Complex(z.re, z.im));
        storeElement(result, d.type, i, Complex128{value.real(), value.imag()});
      } else {
        const double x = loadElement<double>(buffers[0], d.type, i);
        const double y = isBinary ? loadElement<double>(buffers[1], d.type, i) : 0;
        storeElement(result, d.type, i, evaluate(d.function, x, y));
      }
    }
  }
};

}  // namespace

std::optional<SpecialFunction> specialFunctionOf(std::string_view name) {
  static constexpr std::pair<std::string_view, SpecialFunction> kNames[] = {
      {"_asin_acos_kernel", SpecialFunction::kAsinAcosKernel},
      {"acos", SpecialFunction::kAcos},
      {"acosh", SpecialFunction::kAcosh},
      {"asin", SpecialFunction::kAsin},
      {"asinh", SpecialFunction::kAsinh},
      {"atan", SpecialFunction::kAtan},
      {"atanh", SpecialFunction::kAtanh},
      {"bessel_i1e", SpecialFunction::kBesselI1e},
      {"cosh", SpecialFunction::kCosh},
      {"digamma", SpecialFunction::kDigamma},
      {"erf", SpecialFunction::kErf},
      {"erf_inv", SpecialFunction::kErfInv},
      {"erfc", SpecialFunction::kErfc},
      {"lgamma", SpecialFunction::kLgamma},
      {"next_after", SpecialFunction::kNextAfter},
      {"polygamma", SpecialFunction::kPolygamma},
      {"sinh", SpecialFunction::kSinh},
      {"zeta", SpecialFunction::kZeta},
  };
  for (const auto& [known, function] : kNames) {
    if (known == name) return function;
  }
  return std::nullopt;
}

bool hasSpecialFunction(SpecialFunction function, ElementType type) {
  switch (function) {
    case SpecialFunction::kAcos:
    case SpecialFunction::kAcosh:
    case SpecialFunction::kAsin:
    case SpecialFunction::kAsinAcosKernel:
    case SpecialFunction::kAsinh:
    case SpecialFunction::kAtan:
    case SpecialFunction::kAtanh:
    case SpecialFunction::kCosh:
    case SpecialFunction::kSinh:
      return elementClass(type) == ElementClass::kComplex;
    case SpecialFunction::kNextAfter:
      return isFloat8OrSmaller(type);
    default:
      return elementClass(type) == ElementClass::kFloat;
  }
}

extern "C" int32_t isthmus_rt_special(IsthmusRun* run, const void* descriptor,
                                      void* const* buffers) {
  const auto& d = *static_cast<const SpecialDescriptor*>(descriptor);
  Call call{d, buffers};
  parallelFor(*run->services, d.elements, 512,
              [&](int64_t begin, int64_t end) { call.run(begin, end); });
  return 0;
}

}  // namespace isthmus::cpu

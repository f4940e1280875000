#include "backends/cpu/kernels/special_functions.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>

#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/parallel_for.h"

namespace isthmus::cpu {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double evaluate(SpecialFunction function, double x) {
  switch (function) {
    case SpecialFunction::kErf:
      return std::erf(x);
    case SpecialFunction::kErfc:
      return std::erfc(x);
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
    void* result = buffers[d.function == SpecialFunction::kNextAfter ? 2 : 1];
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
        storeElement(result, d.type, i, evaluate(d.function, x));
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
      {"cosh", SpecialFunction::kCosh},
      {"erf", SpecialFunction::kErf},
      {"erfc", SpecialFunction::kErfc},
      {"next_after", SpecialFunction::kNextAfter},
      {"sinh", SpecialFunction::kSinh},
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

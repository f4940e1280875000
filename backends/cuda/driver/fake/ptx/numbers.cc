#include "backends/cuda/driver/fake/ptx/numbers.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace isthmus::ptx {
namespace {

// One step further from zero where the last bit is even: odd, as its exact value is no multiple.
double stickyBit(double rounded, double rest) {
  if (rest == 0 || !std::isfinite(rounded)) return rounded;
  auto bits = std::bit_cast<uint64_t>(rounded);
  if (bits & 1) return rounded;
  bool isFurther = (rest > 0) == (rounded > 0);
  return std::bit_cast<double>(isFurther ? bits + 1 : bits - 1);
}

template <typename T>
double oddInteger(T value) {
  auto rounded = static_cast<double>(value);
  auto rest = static_cast<__int128>(value) - static_cast<__int128>(rounded);
  return stickyBit(rounded, static_cast<double>(rest));
}

}  // namespace

double toIntegral(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearest:
      return std::nearbyint(value);
    case Rounding::kAway:
      return std::round(value);
    case Rounding::kZero:
      return std::trunc(value);
    case Rounding::kDown:
      return std::floor(value);
    case Rounding::kUp:
      return std::ceil(value);
  }
  return value;
}

uint32_t encode(double value, FloatFormat format, Rounding rounding, bool saturates) {
  int m = format.mantissaBits, bias = (1 << (format.exponentBits - 1)) - 1, least = 1 - bias;
  uint32_t ones = (1u << (m + format.exponentBits)) - 1;
  if (std::isnan(value)) return ones;
  uint32_t sign = std::signbit(value) ? ones + 1 : 0;
  uint32_t infinity = ones & ~((1u << m) - 1);
  uint32_t largest = format.hasInfinity ? infinity - 1 : ones - 1;
  uint32_t overflow = saturates ? largest : format.hasInfinity ? infinity : ones;
  double magnitude = std::fabs(value);
  if (std::isinf(value)) return sign | overflow;
  if (magnitude == 0) return sign;
  if (sign && rounding == Rounding::kDown) {
    rounding = Rounding::kUp;
  } else if (sign && rounding == Rounding::kUp) {
    rounding = Rounding::kDown;
  }
  int exponent = std::max(std::ilogb(magnitude), least);
  if (exponent > bias + 1) exponent = bias + 1;
  double steps = toIntegral(std::ldexp(magnitude, m - exponent), rounding);
  double bits = std::ldexp(exponent - least, m) + steps;
  if (bits <= largest) return sign | static_cast<uint32_t>(bits);
  bool isTruncated = rounding == Rounding::kZero || rounding == Rounding::kDown;
  return sign | (isTruncated ? largest : overflow);
}

double decode(uint32_t bits, FloatFormat format) {
  int m = format.mantissaBits, bias = (1 << (format.exponentBits - 1)) - 1;
  uint32_t ones = (1u << (m + format.exponentBits)) - 1;
  uint32_t magnitude = bits & ones, exponent = magnitude >> m,
           mantissa = magnitude & ((1u << m) - 1);
  double value;
  if (format.hasInfinity && exponent == (1u << format.exponentBits) - 1) {
    value = mantissa ? std::numeric_limits<double>::quiet_NaN()
                     : std::numeric_limits<double>::infinity();
  } else if (!format.hasInfinity && magnitude == ones) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, 1 - bias - m);
  } else {
    value = std::ldexp(mantissa + (1u << m), static_cast<int>(exponent) - bias - m);
  }
  return bits > ones ? -value : value;
}

double toDouble(F16 value) {
  static const auto& table = *[] {
    auto* all = new std::array<double, 65536>;
    for (uint32_t bits = 0; bits < 65536; ++bits) (*all)[bits] = decode(bits, kF16Format);
    return all;
  }();
  return table[value.bits];
}

double toDouble(Bf16 value) {
  return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16));
}

F16 toF16(double value) {
  return {static_cast<uint16_t>(encode(value, kF16Format, Rounding::kNearest))};
}
Bf16 toBf16(double value) {
  return {static_cast<uint16_t>(encode(value, kBf16Format, Rounding::kNearest))};
}

double oddSum(double a, double b) {
  // What Knuth's sum loses of a + b.
  double sum = a + b, part = sum - a;
  double lost = (a - (sum - part)) + (b - part);
  return stickyBit(sum, lost);
}

double oddFma(double a, double b, double c) {
  double product = a * b;
  double lost = std::fma(a, b, -product);
  // Products of narrow numbers are exact.
  return lost == 0 ? oddSum(product, c) : stickyBit(std::fma(a, b, c), lost);
}

double oddDouble(int64_t value) { return oddInteger(value); }
double oddDouble(uint64_t value) { return oddInteger(value); }

}  // namespace isthmus::ptx

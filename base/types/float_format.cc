// One decoder and one encoder for all small formats, driven by their parameters.
#include "base/types/float_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace isthmus {
namespace {

// Indexed by the value of the enumeration; those of other types are of no bits.
constexpr auto kFloatFormats = [] {
  std::array<FloatFormat, 34> formats = {};
  auto set = [&](ElementType type, FloatFormat format) {
    formats[static_cast<size_t>(type)] = format;
  };
  set(ElementType::kF16, {5, 10, 15, SpecialValues::kIeee});
  set(ElementType::kBF16, {8, 7, 127, SpecialValues::kIeee});
  set(ElementType::kF8E5M2, {5, 2, 15, SpecialValues::kIeee});
  set(ElementType::kF8E4M3, {4, 3, 7, SpecialValues::kIeee});
  set(ElementType::kF8E3M4, {3, 4, 3, SpecialValues::kIeee});
  set(ElementType::kF8E4M3FN, {4, 3, 7, SpecialValues::kOneNan});
  set(ElementType::kF8E4M3B11FNUZ, {4, 3, 11, SpecialValues::kNegativeZeroIsNan});
  set(ElementType::kF8E5M2FNUZ, {5, 2, 16, SpecialValues::kNegativeZeroIsNan});
  set(ElementType::kF8E4M3FNUZ, {4, 3, 8, SpecialValues::kNegativeZeroIsNan});
  set(ElementType::kF8E8M0FNU, {8, 0, 127, SpecialValues::kExponentOnly});
  set(ElementType::kF6E2M3FN, {2, 3, 1, SpecialValues::kNone});
  set(ElementType::kF6E3M2FN, {3, 2, 3, SpecialValues::kNone});
  set(ElementType::kF4E2M1FN, {2, 1, 1, SpecialValues::kNone});
  return formats;
}();

// The code, without sign, of the largest finite number.
int largestFinite(const FloatFormat& format) {
  int all = (1 << (format.exponentBits + format.mantissaBits)) - 1;
  switch (format.special) {
    case SpecialValues::kIeee:
      return all - (1 << format.mantissaBits);
    case SpecialValues::kOneNan:
    case SpecialValues::kExponentOnly:
      return all - 1;
    default:
      return all;
  }
}

float magnitudeOf(const FloatFormat& format, int code) {
  int exponent = code >> format.mantissaBits;
  int mantissa = code & ((1 << format.mantissaBits) - 1);
  if (exponent == 0) {
    return std::ldexp(static_cast<float>(mantissa), 1 - format.bias - format.mantissaBits);
  }
  return std::ldexp(static_cast<float>(mantissa + (1 << format.mantissaBits)),
                    exponent - format.bias - format.mantissaBits);
}

// The MX specification of the Open Compute Project leaves the conversion open. As XLA and ml_dtypes
// do it: ties go up, and what is not positive has no code.
uint16_t encodePower(const FloatFormat& format, double value) {
  const int nan = largestFinite(format) + 1;
  if (!(value > 0) || std::isinf(value)) return static_cast<uint16_t>(nan);
  int exponent;
  double fraction = std::frexp(value, &exponent);  // in [0.5, 1)
  int code = exponent - 1 + format.bias;
  if (fraction >= 0.75) ++code;
  return static_cast<uint16_t>(std::clamp(code, 0, nan));
}

}  // namespace

const FloatFormat* floatFormatOf(ElementType type) {
  const auto index = static_cast<size_t>(type);
  const bool isKnown = index < kFloatFormats.size() && kFloatFormats[index].exponentBits != 0;
  return isKnown ? &kFloatFormats[index] : nullptr;
}

float decodeFloat(const FloatFormat& format, uint32_t code) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const int valueBits = format.exponentBits + format.mantissaBits;
  const int pattern = static_cast<int>(code) & ((1 << valueBits) - 1);
  if (format.special == SpecialValues::kExponentOnly) {
    return pattern > largestFinite(format) ? kNan : std::ldexp(1.0f, pattern - format.bias);
  }
  const bool isNegative = ((code >> valueBits) & 1) != 0;
  if (format.special == SpecialValues::kNegativeZeroIsNan && isNegative && pattern == 0) {
    return kNan;
  }
  float value;
  if (pattern <= largestFinite(format)) {
    value = magnitudeOf(format, pattern);
  } else {
    const bool isInfinity = format.hasInfinity() && pattern == largestFinite(format) + 1;
    value = isInfinity ? std::numeric_limits<float>::infinity() : kNan;
  }
  return isNegative ? -value : value;
}

uint16_t encodeFloat(const FloatFormat& format, double value) {
  if (format.special == SpecialValues::kExponentOnly) return encodePower(format, value);
  const int signBit = 1 << (format.exponentBits + format.mantissaBits);
  const int sign = std::signbit(value) ? signBit : 0;
  const int largest = largestFinite(format);
  // What NaN and a number that is too large become.
  int nan = 0, tooLarge = 0;
  switch (format.special) {
    case SpecialValues::kIeee:
      tooLarge = sign | (largest + 1);
      nan = tooLarge | 1 << (format.mantissaBits - 1);
      break;
    case SpecialValues::kOneNan:
      nan = tooLarge = sign | (largest + 1);
      break;
    case SpecialValues::kNone:
      nan = signBit;
      tooLarge = sign | largest;
      break;
    default:
      nan = tooLarge = signBit;
      break;
  }
  if (std::isnan(value)) return static_cast<uint16_t>(nan);
  const double absolute = std::fabs(value);
  if (std::isinf(absolute)) return static_cast<uint16_t>(tooLarge);
  const int smallest = 1 - format.bias;  // exponent of the smallest normal number
  const int exponent = absolute == 0 ? smallest : std::max(std::ilogb(absolute), smallest);
  // Scaling by a power of two is exact, so this is the only rounding. Codes of numbers of one sign
  // are in their order: subnormal ones count from 0, and each exponent adds 2^mantissaBits, of
  // which the leading digit of the mantissa is one.
  const auto mantissa =
      static_cast<int>(std::nearbyint(std::ldexp(absolute, format.mantissaBits - exponent)));
  const int pattern = ((exponent - smallest) << format.mantissaBits) + mantissa;
  if (pattern > largest) return static_cast<uint16_t>(tooLarge);
  if (pattern == 0 && !format.hasNegativeZero()) return 0;
  return static_cast<uint16_t>(sign | pattern);
}

}  // namespace isthmus

// One decoder and one encoder for all the small formats, driven by their parameters.
#include "runtime/collectives/small_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace isthmus {
namespace {

struct NamedFormat {
  ElementType type;
  SmallFloatFormat format;
};

constexpr NamedFormat kFormats[] = {
    {ElementType::kF8E5M2, {5, 2, 15, SpecialValues::kIeee}},
    {ElementType::kF8E4M3, {4, 3, 7, SpecialValues::kIeee}},
    {ElementType::kF8E3M4, {3, 4, 3, SpecialValues::kIeee}},
    {ElementType::kF8E4M3FN, {4, 3, 7, SpecialValues::kOneNan}},
    {ElementType::kF8E4M3B11FNUZ, {4, 3, 11, SpecialValues::kNegativeZeroIsNan}},
    {ElementType::kF8E5M2FNUZ, {5, 2, 16, SpecialValues::kNegativeZeroIsNan}},
    {ElementType::kF8E4M3FNUZ, {4, 3, 8, SpecialValues::kNegativeZeroIsNan}},
    {ElementType::kF8E8M0FNU, {8, 0, 127, SpecialValues::kExponentOnly}},
    {ElementType::kF6E2M3FN, {2, 3, 1, SpecialValues::kNone}},
    {ElementType::kF6E3M2FN, {3, 2, 3, SpecialValues::kNone}},
    {ElementType::kF4E2M1FN, {2, 1, 1, SpecialValues::kNone}},
};

// The pattern, without sign, of the largest finite number.
int largestFinite(const SmallFloatFormat& format) {
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

float magnitude(const SmallFloatFormat& format, int pattern) {
  int exponent = pattern >> format.mantissaBits;
  int mantissa = pattern & ((1 << format.mantissaBits) - 1);
  // A format of powers of two only has no zero and no subnormal numbers.
  if (format.special == SpecialValues::kExponentOnly) return std::ldexp(1.0f, exponent - 127);
  if (exponent == 0) {
    return std::ldexp(static_cast<float>(mantissa), 1 - format.bias - format.mantissaBits);
  }
  return std::ldexp(static_cast<float>(mantissa + (1 << format.mantissaBits)),
                    exponent - format.bias - format.mantissaBits);
}

uint8_t encodeExponentOnly(float value) {
  if (!(value > 0) || std::isinf(value)) return value == 0 ? 0 : 0xff;
  int exponent;
  float fraction = std::frexp(value, &exponent);  // value = fraction * 2^exponent, in [0.5, 1)
  // The neighbours are 0.5 and 1 times 2^exponent. Halfway is up: the only digit is always odd.
  int pattern = exponent - 1 + 127;
  if (fraction >= 0.75f) ++pattern;
  if (pattern < 0) return 0;
  return static_cast<uint8_t>(pattern > 254 ? 255 : pattern);
}

}  // namespace

const SmallFloatFormat* smallFloatFormat(ElementType type) {
  for (const NamedFormat& named : kFormats) {
    if (named.type == type) return &named.format;
  }
  return nullptr;
}

float decodeSmallFloat(const SmallFloatFormat& format, uint8_t bits) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  int valueBits = format.exponentBits + format.mantissaBits;
  int all = (1 << valueBits) - 1;
  int pattern = bits & all;
  if (format.special == SpecialValues::kExponentOnly) {
    return pattern == all ? kNan : magnitude(format, pattern);
  }
  bool isNegative = ((bits >> valueBits) & 1) != 0;
  if (format.special == SpecialValues::kNegativeZeroIsNan && isNegative && pattern == 0) {
    return kNan;
  }
  float value;
  if (format.special == SpecialValues::kOneNan && pattern == all) {
    value = kNan;
  } else if (format.special == SpecialValues::kIeee &&
             (pattern >> format.mantissaBits) == (1 << format.exponentBits) - 1) {
    bool isInfinity = (pattern & ((1 << format.mantissaBits) - 1)) == 0;
    value = isInfinity ? std::numeric_limits<float>::infinity() : kNan;
  } else {
    value = magnitude(format, pattern);
  }
  return isNegative ? -value : value;
}

uint8_t encodeSmallFloat(const SmallFloatFormat& format, float value) {
  if (format.special == SpecialValues::kExponentOnly) return encodeExponentOnly(value);
  int valueBits = format.exponentBits + format.mantissaBits;
  int all = (1 << valueBits) - 1;
  int sign = std::signbit(value) ? 1 << valueBits : 0;
  int largest = largestFinite(format);
  // What a NaN and a number that is too large become.
  int nan = all, tooLarge = all;
  if (format.special == SpecialValues::kIeee) {
    nan = largest + 1 + (1 << (format.mantissaBits - 1));
    tooLarge = largest + 1;
  } else if (format.special == SpecialValues::kNegativeZeroIsNan) {
    nan = tooLarge = 1 << valueBits;
  } else if (format.special == SpecialValues::kNone) {
    nan = 1 << valueBits;  // there is none; -0, as other implementations have it
    tooLarge = largest;
  }
  bool nanHasSign =
      format.special == SpecialValues::kIeee || format.special == SpecialValues::kOneNan;
  if (std::isnan(value)) return static_cast<uint8_t>(nanHasSign ? sign | nan : nan);
  float absolute = std::fabs(value);
  if (std::isinf(absolute)) return static_cast<uint8_t>(sign | tooLarge);
  int exponent = absolute == 0 ? 0 : std::ilogb(absolute);
  int smallest = 1 - format.bias;
  int unit = std::max(exponent, smallest) - format.mantissaBits;
  // Scaling by a power of two is exact, so this is the only rounding.
  auto count = static_cast<int>(std::nearbyint(std::ldexp(absolute, -unit)));
  int pattern;
  if (absolute == 0 || exponent < smallest) {
    pattern = count;  // subnormal; one that rounds up to the first normal has its pattern
  } else {
    pattern = ((exponent - smallest) << format.mantissaBits) + count;
  }
  if (pattern > largest) return static_cast<uint8_t>(sign | tooLarge);
  if (pattern == 0 && format.special == SpecialValues::kNegativeZeroIsNan) return 0;
  return static_cast<uint8_t>(sign | pattern);
}

}  // namespace isthmus

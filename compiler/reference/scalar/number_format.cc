// Numbers and their bits, from the formats' definitions.
#include "compiler/reference/scalar/number_format.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace isthmus::reference {

bool isBool(ElementType type) { return type == ElementType::kPred; }

bool isSignedInteger(ElementType type) {
  switch (type) {
    case ElementType::kS2:
    case ElementType::kS4:
    case ElementType::kS8:
    case ElementType::kS16:
    case ElementType::kS32:
    case ElementType::kS64:
      return true;
    default:
      return false;
  }
}

bool isUnsignedInteger(ElementType type) {
  switch (type) {
    case ElementType::kU2:
    case ElementType::kU4:
    case ElementType::kU8:
    case ElementType::kU16:
    case ElementType::kU32:
    case ElementType::kU64:
      return true;
    default:
      return false;
  }
}

bool isInteger(ElementType type) { return isSignedInteger(type) || isUnsignedInteger(type); }

bool isComplex(ElementType type) { return type == ElementType::kC64 || type == ElementType::kC128; }

bool isFloat(ElementType type) {
  return !isBool(type) && !isInteger(type) && !isComplex(type) && bitWidth(type) != 0;
}

int bitWidth(ElementType type) {
  // The evaluator knows no integers of one bit.
  if (type == ElementType::kS1 || type == ElementType::kU1) return 0;
  return elementBits(type);
}

ElementType partType(ElementType type) {
  if (type == ElementType::kC64) return ElementType::kF32;
  if (type == ElementType::kC128) return ElementType::kF64;
  return type;
}

ElementType complexOf(ElementType type) {
  if (type == ElementType::kF32) return ElementType::kC64;
  if (type == ElementType::kF64) return ElementType::kC128;
  return ElementType::kInvalid;
}

FloatFormat floatFormat(ElementType type) {
  switch (type) {
    case ElementType::kF64:
      return {11, 52, 1023, Specials::kIeee};
    case ElementType::kF32:
      return {8, 23, 127, Specials::kIeee};
    case ElementType::kF16:
      return {5, 10, 15, Specials::kIeee};
    case ElementType::kBF16:
      return {8, 7, 127, Specials::kIeee};
    case ElementType::kF8E5M2:
      return {5, 2, 15, Specials::kIeee};
    case ElementType::kF8E4M3:
      return {4, 3, 7, Specials::kIeee};
    case ElementType::kF8E3M4:
      return {3, 4, 3, Specials::kIeee};
    case ElementType::kF8E4M3FN:
      return {4, 3, 7, Specials::kOneNan};
    case ElementType::kF8E4M3B11FNUZ:
      return {4, 3, 11, Specials::kNegativeZeroIsNan};
    case ElementType::kF8E5M2FNUZ:
      return {5, 2, 16, Specials::kNegativeZeroIsNan};
    case ElementType::kF8E4M3FNUZ:
      return {4, 3, 8, Specials::kNegativeZeroIsNan};
    case ElementType::kF8E8M0FNU:
      return {8, 0, 127, Specials::kExponentOnly};
    case ElementType::kF6E2M3FN:
      return {2, 3, 1, Specials::kNone};
    case ElementType::kF6E3M2FN:
      return {3, 2, 3, Specials::kNone};
    case ElementType::kF4E2M1FN:
      return {2, 1, 1, Specials::kNone};
    default:
      return {};
  }
}

namespace {

// The pattern, without sign, of the largest finite number.
uint64_t largestFinite(const FloatFormat& format) {
  uint64_t ones = (uint64_t{1} << (format.exponentBits + format.mantissaBits)) - 1;
  switch (format.specials) {
    case Specials::kIeee:
      return ones - (uint64_t{1} << format.mantissaBits);
    case Specials::kOneNan:
    case Specials::kExponentOnly:
      return ones - 1;
    case Specials::kNegativeZeroIsNan:
    case Specials::kNone:
      return ones;
  }
  return ones;
}

uint64_t signBit(const FloatFormat& format) {
  return uint64_t{1} << (format.exponentBits + format.mantissaBits);
}

uint64_t nanBits(const FloatFormat& format, bool negative) {
  uint64_t sign = negative ? signBit(format) : 0;
  uint64_t ones = signBit(format) - 1;
  switch (format.specials) {
    case Specials::kIeee:
      // Quiet: the highest mantissa bit.
      return sign | (ones - (uint64_t{1} << format.mantissaBits) + 1) |
             uint64_t{1} << (format.mantissaBits - 1);
    case Specials::kOneNan:
      return sign | ones;
    case Specials::kExponentOnly:
      return ones;
    case Specials::kNegativeZeroIsNan:
      return signBit(format);
    case Specials::kNone:
      // Negative zero stands for it, as in ml_dtypes.
      return signBit(format);
  }
  return ones;
}

double decodeSmall(uint64_t bits, const FloatFormat& format) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (format.specials == Specials::kExponentOnly) {
    return bits == 255 ? nan : std::ldexp(1.0, static_cast<int>(bits) - format.bias);
  }
  bool negative = (bits & signBit(format)) != 0;
  uint64_t magnitude = bits & (signBit(format) - 1);
  if (format.specials == Specials::kNegativeZeroIsNan && negative && magnitude == 0) return nan;
  if (magnitude > largestFinite(format)) {
    bool isInfinity = format.specials == Specials::kIeee && magnitude == largestFinite(format) + 1;
    if (!isInfinity) return negative ? -nan : nan;
    double infinity = std::numeric_limits<double>::infinity();
    return negative ? -infinity : infinity;
  }
  int exponent = static_cast<int>(magnitude >> format.mantissaBits);
  uint64_t mantissa = magnitude & ((uint64_t{1} << format.mantissaBits) - 1);
  if (exponent == 0) {
    exponent = 1;
  } else {
    mantissa |= uint64_t{1} << format.mantissaBits;
  }
  double value =
      std::ldexp(static_cast<double>(mantissa), exponent - format.bias - format.mantissaBits);
  return negative ? -value : value;
}

uint64_t encodeSmall(double value, const FloatFormat& format) {
  bool negative = std::signbit(value);
  uint64_t sign = negative ? signBit(format) : 0;
  if (std::isnan(value)) return nanBits(format, negative);
  if (format.specials == Specials::kExponentOnly) {
    // Neither zero nor a sign: what is no positive number has no encoding.
    if (negative || value == 0 || std::isinf(value)) return nanBits(format, false);
    int exponent = 0;
    double fraction = std::frexp(value, &exponent);  // in [0.5, 1)
    // Ties go up: the only digit of a power is always odd.
    int field = exponent - 1 + format.bias;
    if (fraction >= 0.75) ++field;
    if (field < 0) return 0;
    return field > 254 ? nanBits(format, false) : static_cast<uint64_t>(field);
  }
  double magnitude = std::fabs(value);
  uint64_t bits = 0;
  bool isTooLarge = std::isinf(magnitude);
  if (!isTooLarge && magnitude != 0) {
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    int field = std::max(exponent - 1 + format.bias, 1);
    // Exact scaling, then one rounding to nearest even.
    double scaled =
        std::nearbyint(std::ldexp(magnitude, format.mantissaBits + format.bias - field));
    if (scaled >= std::ldexp(1.0, format.mantissaBits + 1)) {
      scaled /= 2;
      ++field;
    }
    auto mantissa = static_cast<uint64_t>(scaled);
    uint64_t hidden = uint64_t{1} << format.mantissaBits;
    if (field >= (1 << format.exponentBits)) {
      isTooLarge = true;
    } else {
      bits = mantissa < hidden
                 ? mantissa
                 : (static_cast<uint64_t>(field) << format.mantissaBits) | (mantissa - hidden);
      isTooLarge = bits > largestFinite(format);
    }
  }
  if (isTooLarge) {
    if (format.specials == Specials::kIeee) return sign | (largestFinite(format) + 1);
    if (format.specials == Specials::kNone) return sign | largestFinite(format);
    return nanBits(format, negative);
  }
  if (bits == 0 && format.specials == Specials::kNegativeZeroIsNan) return 0;
  return sign | bits;
}

}  // namespace

uint64_t encodeFloat(double value, ElementType type) {
  if (type == ElementType::kF64) return std::bit_cast<uint64_t>(value);
  if (type == ElementType::kF32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  return encodeSmall(value, floatFormat(type));
}

double decodeFloat(uint64_t bits, ElementType type) {
  if (type == ElementType::kF64) return std::bit_cast<double>(bits);
  if (type == ElementType::kF32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  return decodeSmall(bits, floatFormat(type));
}

double roundToPrecision(double value, ElementType type, int exponentBits, int mantissaBits) {
  if (std::isnan(value) && mantissaBits == 0) {
    // Nothing tells it from an infinity.
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  }
  if (!std::isfinite(value) || value == 0) return value;
  FloatFormat own = floatFormat(type);
  // |value| in [2^exponent, 2^(exponent + 1)), or less where the type's numbers are subnormal.
  auto exponentOf = [&](double x) { return std::max(std::ilogb(x), 1 - own.bias); };
  if (mantissaBits < own.mantissaBits) {
    // Scaled exactly, rounded once.
    int shift = mantissaBits - exponentOf(value);
    value = std::ldexp(std::nearbyint(std::ldexp(value, shift)), -shift);
  }
  if (exponentBits >= own.exponentBits || value == 0) return value;
  int bias = (1 << (exponentBits - 1)) - 1;
  int exponent = std::ilogb(value);
  if (exponent > bias) {
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  }
  return exponent < 1 - bias ? std::copysign(0.0, value) : value;
}

uint64_t wrapInteger(uint64_t value, ElementType type) {
  int bits = bitWidth(type);
  if (isBool(type)) return value != 0;
  if (bits >= 64) return value;
  uint64_t mask = (uint64_t{1} << bits) - 1;
  value &= mask;
  if (isSignedInteger(type) && ((value >> (bits - 1)) & 1) != 0) value |= ~mask;
  return value;
}

int64_t minInteger(ElementType type) {
  if (!isSignedInteger(type)) return 0;
  return static_cast<int64_t>(~uint64_t{0} << (bitWidth(type) - 1));
}

uint64_t maxInteger(ElementType type) {
  int bits = bitWidth(type) - (isSignedInteger(type) ? 1 : 0);
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

}  // namespace isthmus::reference

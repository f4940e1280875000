// Floating-point formats of at most 16 bits: how each is laid out, and its codes as numbers.
#pragma once

#include <cstdint>

#include "isthmus/types.h"

namespace isthmus {

// How a format spells what is not a finite number.
enum class SpecialValues {
  kIeee,               // the highest exponent holds infinities and NaN
  kOneNan,             // no infinity; all bits but the sign set is NaN ("FN")
  kNegativeZeroIsNan,  // no infinity, no negative zero ("FNUZ")
  kNone,               // neither infinity nor NaN
  kExponentOnly,       // positive powers of two, no zero; all ones is NaN ("E8M0FNU")
};

struct FloatFormat {
  int exponentBits;
  int mantissaBits;
  int bias;
  SpecialValues special;

  constexpr bool hasInfinity() const { return special == SpecialValues::kIeee; }
  constexpr bool hasNan() const { return special != SpecialValues::kNone; }
  constexpr bool hasNegativeZero() const {
    return special != SpecialValues::kNegativeZeroIsNan && special != SpecialValues::kExponentOnly;
  }
};

// The format of a float type of at most 16 bits; null for all other types.
const FloatFormat* floatFormatOf(ElementType type);

// The number that a code means. Bits above the format's are not looked at.
float decodeFloat(const FloatFormat& format, uint32_t code);

// The code of the nearest number, of two as near the even one. What is too large becomes infinity,
// or NaN where there is no infinity, or the largest number where there is neither. NaN becomes
// negative zero where there is no NaN, as in ml_dtypes. Of powers of two the larger is as near as
// the even one would be, since all are odd; zero and what is negative become NaN there.
uint16_t encodeFloat(const FloatFormat& format, double value);

}  // namespace isthmus

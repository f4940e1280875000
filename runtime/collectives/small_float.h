// Conversion of the floating-point types of 8 bits and fewer to and from float.
#pragma once

#include <array>
#include <cstdint>

#include "isthmus/types.h"

namespace isthmus {

// How a format spells what is not a number.
enum class SpecialValues {
  kIeee,               // all-ones exponent: infinities and NaNs
  kOneNan,             // all bits but the sign set: NaN; no infinity ("FN")
  kNegativeZeroIsNan,  // no infinity, no -0 ("FNUZ")
  kNone,               // every pattern is a finite number; too large ones become the largest
  kExponentOnly,       // unsigned powers of two; all ones is NaN ("E8M0FNU")
};

struct SmallFloatFormat {
  int exponentBits;
  int mantissaBits;
  int bias;
  SpecialValues special;
};

// The format of an element type of at most 8 bits; null if it is not a floating-point one.
const SmallFloatFormat* smallFloatFormat(ElementType type);

float decodeSmallFloat(const SmallFloatFormat& format, uint8_t bits);
// Rounds to nearest, ties to even.
uint8_t encodeSmallFloat(const SmallFloatFormat& format, float value);

}  // namespace isthmus

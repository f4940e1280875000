// Element types as numbers: classes, widths, and the conversion between their bits and doubles.
#pragma once

#include <cstdint>

#include "isthmus/types.h"

namespace isthmus::reference {

bool isBool(ElementType type);
bool isSignedInteger(ElementType type);
bool isUnsignedInteger(ElementType type);
bool isInteger(ElementType type);
bool isFloat(ElementType type);
bool isComplex(ElementType type);

// Bits that carry information: 1 for bools, 4 for s4 though it is stored in a byte.
int bitWidth(ElementType type);

// The float type of a complex type's parts; the type itself otherwise.
ElementType partType(ElementType type);
// The complex type with parts of a float type.
ElementType complexOf(ElementType type);

// How a float format encodes what is no finite number.
enum class Specials {
  kIeee,               // the highest exponent holds infinities and NaN
  kOneNan,             // no infinity; all ones is NaN
  kNegativeZeroIsNan,  // no infinity, no negative zero
  kExponentOnly,       // powers of two; all ones is NaN
  kNone,               // neither infinity nor NaN
};

// A float format of up to 16 bits; larger ones are C++'s float and double.
struct FloatFormat {
  int exponentBits = 0;
  int mantissaBits = 0;
  int bias = 0;
  Specials specials = Specials::kIeee;
};

// The format of a float type.
FloatFormat floatFormat(ElementType type);

// Rounds to nearest even. What is too large becomes infinity where there is one, else NaN, else the
// largest number; NaN becomes the largest pattern of its sign where there is none.
uint64_t encodeFloat(double value, ElementType type);
double decodeFloat(uint64_t bits, ElementType type);

// `value`, which has a float type, rounded to a format of so many bits with infinities but without
// subnormal numbers, and back.
double roundToPrecision(double value, ElementType type, int exponentBits, int mantissaBits);

// The low bits of an integer as its type has them: sign- or zero-extended.
uint64_t wrapInteger(uint64_t value, ElementType type);

// Least and greatest value of an integer type. Those of unsigned types are of the low 64 bits.
int64_t minInteger(ElementType type);
uint64_t maxInteger(ElementType type);

}  // namespace isthmus::reference

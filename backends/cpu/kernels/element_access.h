// Reading and writing single elements of any type, for packing and for rare types.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isthmus/types.h"

namespace isthmus::cpu {

// elementSizeBytes, for use in constant expressions; 0 for types without storage.
constexpr size_t storageBytes(ElementType type) {
  switch (type) {
    case ElementType::kInvalid:
    case ElementType::kToken:
      return 0;
    case ElementType::kS16:
    case ElementType::kU16:
    case ElementType::kF16:
    case ElementType::kBF16:
      return 2;
    case ElementType::kS32:
    case ElementType::kU32:
    case ElementType::kF32:
      return 4;
    case ElementType::kS64:
    case ElementType::kU64:
    case ElementType::kF64:
    case ElementType::kC64:
      return 8;
    case ElementType::kC128:
      return 16;
    default:
      return 1;
  }
}

enum class ElementClass { kNone, kPred, kSigned, kUnsigned, kFloat, kComplex };

constexpr ElementClass elementClass(ElementType type) {
  switch (type) {
    case ElementType::kPred:
      return ElementClass::kPred;
    case ElementType::kS1:
    case ElementType::kS2:
    case ElementType::kS4:
    case ElementType::kS8:
    case ElementType::kS16:
    case ElementType::kS32:
    case ElementType::kS64:
      return ElementClass::kSigned;
    case ElementType::kU1:
    case ElementType::kU2:
    case ElementType::kU4:
    case ElementType::kU8:
    case ElementType::kU16:
    case ElementType::kU32:
    case ElementType::kU64:
      return ElementClass::kUnsigned;
    case ElementType::kC64:
    case ElementType::kC128:
      return ElementClass::kComplex;
    case ElementType::kInvalid:
    case ElementType::kToken:
      return ElementClass::kNone;
    default:
      return ElementClass::kFloat;
  }
}

constexpr bool isFloat8OrSmaller(ElementType type) {
  return elementClass(type) == ElementClass::kFloat && storageBytes(type) == 1;
}

// All values of the one-byte float formats, by their bits (the low 4 or 6 for the narrower ones).
const float* smallFloatTable(ElementType type);

// Of a one-byte float format; rounds as `encodeFloat` of base/types/float_format.h.
uint8_t encodeSmallFloat(ElementType type, double value);

float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
uint16_t floatToBfloat16(float value);
inline float bfloat16ToFloat(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  __builtin_memcpy(&value, &wide, sizeof(value));
  return value;
}

struct Complex64 {
  float re, im;
};
struct Complex128 {
  double re, im;
};

// Element `index` of the array at `data`, converted to the accumulation type T: float, double,
// uint32_t, uint64_t (integers modulo 2^bits, floats truncated), Complex64 or Complex128.
template <typename T>
T loadElement(const void* data, ElementType type, int64_t index);

// The reverse, from the accumulation type.
template <typename T>
void storeElement(void* data, ElementType type, int64_t index, T value);

}  // namespace isthmus::cpu

// Element types and array types, as every layer names them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace isthmus {

// The values are those of PJRT_Buffer_Type (C API 0.114).
enum class ElementType : int32_t {
  kInvalid = 0,
  kPred = 1,
  kS8 = 2,
  kS16 = 3,
  kS32 = 4,
  kS64 = 5,
  kU8 = 6,
  kU16 = 7,
  kU32 = 8,
  kU64 = 9,
  kF16 = 10,
  kF32 = 11,
  kF64 = 12,
  kBF16 = 13,
  kC64 = 14,
  kC128 = 15,
  kF8E5M2 = 16,
  kF8E4M3FN = 17,
  kF8E4M3B11FNUZ = 18,
  kF8E5M2FNUZ = 19,
  kF8E4M3FNUZ = 20,
  kS4 = 21,
  kU4 = 22,
  kToken = 23,
  kS2 = 24,
  kU2 = 25,
  kF8E4M3 = 26,
  kF8E3M4 = 27,
  kF8E8M0FNU = 28,
  kF4E2M1FN = 29,
  kS1 = 30,
  kU1 = 31,
  kF6E2M3FN = 32,
  kF6E3M2FN = 33,
};

// Bytes that one element takes in memory: types narrower than a byte are stored one to a byte (in
// the low bits, sign-extended for signed types), which is also how the C API hands them over.
// 0 for tokens and kInvalid.
size_t elementSizeBytes(ElementType type);

// Bits of an element that tell values apart: 8 for each byte, but 1 for booleans, and 1, 2, 4 or 6
// for the types that take but a part of their byte. 0 for tokens and kInvalid.
int elementBits(ElementType type);

// StableHLO's name of the type: "f32", "i8", "ui8", "i1", "complex<f32>", "f8E4M3FN", "token".
std::string_view elementTypeName(ElementType type);

// A dense array. Rank 0 is a scalar. Programs see row-major arrays only (the last dimension is
// contiguous); others exist at their border, for callers that ask for them.
struct ArrayType {
  ElementType elementType = ElementType::kInvalid;
  std::vector<int64_t> dims;
  // The dimensions in the order in which they vary in memory, the contiguous one first. Empty for
  // row-major, which is never spelled out, so that equal layouts compare equal.
  std::vector<int64_t> minorToMajor = {};

  bool operator==(const ArrayType&) const = default;

  int64_t numElements() const;
  // Bytes of the whole array. The product never overflows for a type that passed `isValid`.
  size_t sizeBytes() const;
  // Sets the layout. False, and nothing changes, if `order` is not a permutation of the dimensions.
  bool setMinorToMajor(std::vector<int64_t> order);
  // The row-major type of the same memory: its dimensions from the slowest to the contiguous one.
  ArrayType rowMajorOfMemory() const;
  // True if no dimension is negative and the size in bytes fits in 62 bits.
  bool isValid() const;
  // "tensor<2x3xf32>", or "tensor<2x3xf32, {0,1}>" with the minor-to-major order of another layout.
  std::string toString() const;
};

}  // namespace isthmus

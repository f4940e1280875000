// The types that PTX's instructions end in.
#pragma once

#include <cstdint>
#include <string_view>

namespace isthmus::ptx {

enum class Type : uint8_t {
  kNone,
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kB128,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kU16x2,
  kS16x2,
  kF16,
  kF16x2,
  kBf16,
  kBf16x2,
  kTf32,
  kF32,
  kF64,
  kE4m3x2,
  kE5m2x2,
};

// kNone if `name`, such as "u32", is no type.
Type typeOf(std::string_view name);
// Of a value in memory; 0 for predicates.
int bytesOf(Type type);
// As integers: .bN counts as unsigned.
bool isSigned(Type type);
bool isFloat(Type type);

}  // namespace isthmus::ptx

// Keys of any type as unsigned integers whose order is the wanted one.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/sort/sort.h"

namespace isthmus::cpu {

// Width in bits of the mapped key: 8, 16, 32 or 64. Every type has one; complex types have none
// (0), as they are no keys.
constexpr int sortKeyBits(ElementType type) {
  ElementClass kind = elementClass(type);
  if (kind == ElementClass::kComplex || kind == ElementClass::kNone) return 0;
  if (isFloat8OrSmaller(type)) return 32;  // through f32
  return static_cast<int>(storageBytes(type)) * 8;
}

// Bits of a byte that an integer of less than a byte does not use. They are copies of its sign or
// zero, as whoever made the array liked.
inline int unusedBits(ElementType type) {
  const ElementClass kind = elementClass(type);
  const bool isInteger = kind == ElementClass::kSigned || kind == ElementClass::kUnsigned;
  const int bits = elementBits(type);
  return isInteger && bits < 8 ? 8 - bits : 0;
}

// Floats of B bits with `mantissaBits`: flips so that unsigned order is total order.
template <typename B>
inline B totalOrderKey(B bits) {
  constexpr B sign = B(1) << (sizeof(B) * 8 - 1);
  return (bits & sign) ? B(~bits) : B(bits | sign);
}

template <typename B>
inline B numericKey(B bits, B infinity) {
  constexpr B sign = B(1) << (sizeof(B) * 8 - 1);
  B magnitude = bits & B(~sign);
  if (magnitude == 0) return sign;
  if (magnitude > infinity) return B(~B(0));
  return totalOrderKey(bits);
}

// Calls visit(mapper) where mapper(data, index) gives the key of one element as K (an unsigned
// type of sortKeyBits bits), complemented for descending keys.
template <typename K, typename Visit>
void withKeyMapper(const SortKey& key, Visit visit) {
  const K flip = key.descending ? K(~K(0)) : K(0);
  auto raw = [](const void* data, int64_t index) {
    K bits;
    std::memcpy(&bits, static_cast<const char*>(data) + index * int64_t{sizeof(K)}, sizeof(K));
    return bits;
  };
  if constexpr (sizeof(K) == 1) {
    if (const int unused = unusedBits(key.type)) {
      const K sign = elementClass(key.type) == ElementClass::kSigned ? K(0x80) : K(0);
      visit([=](const void* data, int64_t index) {
        return K((K(raw(data, index) << unused) ^ sign) ^ flip);
      });
      return;
    }
  }
  const bool numeric = key.order == SortOrder::kNumeric;
  switch (elementClass(key.type)) {
    case ElementClass::kSigned:
      visit([=](const void* data, int64_t index) {
        return K((raw(data, index) ^ (K(1) << (sizeof(K) * 8 - 1))) ^ flip);
      });
      return;
    case ElementClass::kFloat: {
      if (isFloat8OrSmaller(key.type)) {
        if constexpr (std::is_same_v<K, uint32_t>) {
          const float* table = smallFloatTable(key.type);
          visit([=](const void* data, int64_t index) {
            uint32_t bits =
                std::bit_cast<uint32_t>(table[static_cast<const uint8_t*>(data)[index]]);
            return K((numeric ? numericKey<K>(bits, 0x7F800000u) : totalOrderKey<K>(bits)) ^ flip);
          });
        }
        return;
      }
      K infinity = 0;
      if constexpr (sizeof(K) == 2) infinity = key.type == ElementType::kBF16 ? 0x7F80 : 0x7C00;
      if constexpr (sizeof(K) == 4) infinity = 0x7F800000u;
      if constexpr (sizeof(K) == 8) infinity = 0x7FF0000000000000u;
      if (numeric) {
        visit([=](const void* data, int64_t index) {
          return K(numericKey<K>(raw(data, index), infinity) ^ flip);
        });
      } else {
        visit([=](const void* data, int64_t index) {
          return K(totalOrderKey<K>(raw(data, index)) ^ flip);
        });
      }
      return;
    }
    default:
      visit([=](const void* data, int64_t index) { return K(raw(data, index) ^ flip); });
  }
}

}  // namespace isthmus::cpu

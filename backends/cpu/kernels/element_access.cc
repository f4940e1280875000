// Conversions between stored element types and accumulation types.
#include "backends/cpu/kernels/element_access.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/types/float_format.h"

namespace isthmus::cpu {
namespace {

struct SmallTables {
  std::array<std::array<float, 256>, 34> values;
  SmallTables() {
    for (int type = 0; type < 34; ++type) {
      for (unsigned code = 0; code < 256; ++code) {
        auto elementType = static_cast<ElementType>(type);
        values[type][code] =
            isFloat8OrSmaller(elementType) ? decodeFloat(*floatFormatOf(elementType), code) : 0.0f;
      }
    }
  }
};

template <typename Float>
uint64_t floatToInteger(Float value) {
  if (!(value == value)) return 0;
  if (value >= Float(9223372036854775808.0)) {
    return value >= Float(18446744073709551616.0) ? ~uint64_t{0} : static_cast<uint64_t>(value);
  }
  if (value <= Float(-9223372036854775808.0)) return uint64_t{1} << 63;
  return static_cast<uint64_t>(static_cast<int64_t>(value));
}

template <typename S>
S loadRaw(const void* data, int64_t index) {
  S value;
  std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<int64_t>(sizeof(S)),
              sizeof(S));
  return value;
}

template <typename S>
void storeRaw(void* data, int64_t index, S value) {
  std::memcpy(static_cast<char*>(data) + index * static_cast<int64_t>(sizeof(S)), &value,
              sizeof(S));
}

// From a real or integer value to T.
template <typename T, typename S>
T fromReal(S value) {
  if constexpr (std::is_same_v<T, Complex64>) {
    return {static_cast<float>(value), 0.0f};
  } else if constexpr (std::is_same_v<T, Complex128>) {
    return {static_cast<double>(value), 0.0};
  } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<S>) {
    return static_cast<T>(floatToInteger(value));
  } else {
    return static_cast<T>(value);
  }
}

template <typename T>
T fromComplex(double re, double im) {
  if constexpr (std::is_same_v<T, Complex64>) {
    return {static_cast<float>(re), static_cast<float>(im)};
  } else if constexpr (std::is_same_v<T, Complex128>) {
    return {re, im};
  } else {
    return fromReal<T>(re);
  }
}

// The real part of T as a float type or an integer.
template <typename Float, typename T>
Float toFloat(T value) {
  if constexpr (std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>) {
    return static_cast<Float>(value.re);
  } else {
    return static_cast<Float>(value);
  }
}

template <typename T>
uint64_t toInteger(T value) {
  if constexpr (std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>) {
    return floatToInteger(value.re);
  } else if constexpr (std::is_floating_point_v<T>) {
    return floatToInteger(value);
  } else {
    return value;
  }
}

int64_t signExtend(uint64_t value, int bits) {
  return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

}  // namespace

const float* smallFloatTable(ElementType type) {
  static const SmallTables tables;
  return tables.values[static_cast<size_t>(type)].data();
}

uint8_t encodeSmallFloat(ElementType type, double value) {
  return static_cast<uint8_t>(encodeFloat(*floatFormatOf(type), value));
}

float halfToFloat(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 31;
  uint32_t mantissa = bits & 0x3FF;
  uint32_t wide;
  if (exponent == 31) {
    wide = sign | 0x7F800000 | (mantissa << 13);
  } else if (exponent != 0) {
    wide = sign | ((exponent + 112) << 23) | (mantissa << 13);
  } else {
    float value = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -value : value;
  }
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

uint16_t floatToHalf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00 | ((bits >> 13) & 0x3FF));
  if (magnitude >= 0x477FF000) return sign | 0x7C00;  // rounds to 65536 or more
  if (magnitude < 0x38800000) {                       // below the smallest normal half
    double scaled = std::ldexp(static_cast<double>(std::fabs(value)), 24);
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(scaled)));
  }
  uint32_t rounded = magnitude + 0xFFF + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

uint16_t floatToBfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

template <typename T>
T loadElement(const void* data, ElementType type, int64_t index) {
  switch (type) {
    case ElementType::kPred:
      return fromReal<T>(static_cast<int32_t>(loadRaw<uint8_t>(data, index) != 0));
    case ElementType::kS1:
    case ElementType::kS2:
    case ElementType::kS4:
    case ElementType::kS8:
      return fromReal<T>(loadRaw<int8_t>(data, index));
    case ElementType::kS16:
      return fromReal<T>(loadRaw<int16_t>(data, index));
    case ElementType::kS32:
      return fromReal<T>(loadRaw<int32_t>(data, index));
    case ElementType::kS64:
      return fromReal<T>(loadRaw<int64_t>(data, index));
    case ElementType::kU1:
    case ElementType::kU2:
    case ElementType::kU4:
    case ElementType::kU8:
      return fromReal<T>(loadRaw<uint8_t>(data, index));
    case ElementType::kU16:
      return fromReal<T>(loadRaw<uint16_t>(data, index));
    case ElementType::kU32:
      return fromReal<T>(loadRaw<uint32_t>(data, index));
    case ElementType::kU64:
      return fromReal<T>(loadRaw<uint64_t>(data, index));
    case ElementType::kF16:
      return fromReal<T>(halfToFloat(loadRaw<uint16_t>(data, index)));
    case ElementType::kBF16:
      return fromReal<T>(bfloat16ToFloat(loadRaw<uint16_t>(data, index)));
    case ElementType::kF32:
      return fromReal<T>(loadRaw<float>(data, index));
    case ElementType::kF64:
      return fromReal<T>(loadRaw<double>(data, index));
    case ElementType::kC64: {
      auto value = loadRaw<Complex64>(data, index);
      return fromComplex<T>(value.re, value.im);
    }
    case ElementType::kC128: {
      auto value = loadRaw<Complex128>(data, index);
      return fromComplex<T>(value.re, value.im);
    }
    default:
      return fromReal<T>(smallFloatTable(type)[loadRaw<uint8_t>(data, index)]);
  }
}

template <typename T>
void storeElement(void* data, ElementType type, int64_t index, T value) {
  switch (type) {
    case ElementType::kPred:
      return storeRaw<uint8_t>(data, index, toInteger(value) != 0);
    case ElementType::kS1:
      return storeRaw<int8_t>(data, index, static_cast<int8_t>(signExtend(toInteger(value), 1)));
    case ElementType::kS2:
      return storeRaw<int8_t>(data, index, static_cast<int8_t>(signExtend(toInteger(value), 2)));
    case ElementType::kS4:
      return storeRaw<int8_t>(data, index, static_cast<int8_t>(signExtend(toInteger(value), 4)));
    case ElementType::kU1:
      return storeRaw<uint8_t>(data, index, toInteger(value) & 1);
    case ElementType::kU2:
      return storeRaw<uint8_t>(data, index, toInteger(value) & 3);
    case ElementType::kU4:
      return storeRaw<uint8_t>(data, index, toInteger(value) & 15);
    case ElementType::kS8:
    case ElementType::kU8:
      return storeRaw<uint8_t>(data, index, static_cast<uint8_t>(toInteger(value)));
    case ElementType::kS16:
    case ElementType::kU16:
      return storeRaw<uint16_t>(data, index, static_cast<uint16_t>(toInteger(value)));
    case ElementType::kS32:
    case ElementType::kU32:
      return storeRaw<uint32_t>(data, index, static_cast<uint32_t>(toInteger(value)));
    case ElementType::kS64:
    case ElementType::kU64:
      return storeRaw<uint64_t>(data, index, toInteger(value));
    case ElementType::kF16:
      return storeRaw<uint16_t>(data, index, floatToHalf(toFloat<float>(value)));
    case ElementType::kBF16:
      return storeRaw<uint16_t>(data, index, floatToBfloat16(toFloat<float>(value)));
    case ElementType::kF32:
      return storeRaw<float>(data, index, toFloat<float>(value));
    case ElementType::kF64:
      return storeRaw<double>(data, index, toFloat<double>(value));
    case ElementType::kC64:
      if constexpr (requires { value.im; }) {
        return storeRaw<Complex64>(data, index,
                                   {static_cast<float>(value.re), static_cast<float>(value.im)});
      } else {
        return storeRaw<Complex64>(data, index, {toFloat<float>(value), 0.0f});
      }
    case ElementType::kC128:
      if constexpr (requires { value.im; }) {
        return storeRaw<Complex128>(data, index, {value.re, value.im});
      } else {
        return storeRaw<Complex128>(data, index, {toFloat<double>(value), 0.0});
      }
    default:
      return storeRaw<uint8_t>(data, index, encodeSmallFloat(type, toFloat<double>(value)));
  }
}

#define ISTHMUS_INSTANTIATE(T)                                  \
  template T loadElement<T>(const void*, ElementType, int64_t); \
  template void storeElement<T>(void*, ElementType, int64_t, T);
ISTHMUS_INSTANTIATE(float)
ISTHMUS_INSTANTIATE(double)
ISTHMUS_INSTANTIATE(uint32_t)
ISTHMUS_INSTANTIATE(uint64_t)
ISTHMUS_INSTANTIATE(Complex64)
ISTHMUS_INSTANTIATE(Complex128)
#undef ISTHMUS_INSTANTIATE

}  // namespace isthmus::cpu

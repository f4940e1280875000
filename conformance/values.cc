#include "conformance/values.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

namespace isthmus::conformance {
namespace {

// A float format as its bits are laid out: sign, exponent, fraction. NaNs are not told apart.
struct FloatFormat {
  int exponentBits;
  int fractionBits;
  bool hasInfinity;
};

struct TypeInfo {
  const char* name;
  size_t bytes;
  FloatFormat format = {0, 0, false};
};

// By PJRT_Buffer_Type.
constexpr TypeInfo kTypes[] = {{"invalid", 0},
                               {"pred", 1},
                               {"s8", 1},
                               {"s16", 2},
                               {"s32", 4},
                               {"s64", 8},
                               {"u8", 1},
                               {"u16", 2},
                               {"u32", 4},
                               {"u64", 8},
                               {"f16", 2, {5, 10, true}},
                               {"f32", 4, {8, 23, true}},
                               {"f64", 8, {11, 52, true}},
                               {"bf16", 2, {8, 7, true}},
                               {"c64", 8, {8, 23, true}},
                               {"c128", 16, {11, 52, true}},
                               {"f8e5m2", 1},
                               {"f8e4m3fn", 1},
                               {"f8e4m3b11fnuz", 1},
                               {"f8e5m2fnuz", 1},
                               {"f8e4m3fnuz", 1},
                               {"s4", 1},
                               {"u4", 1},
                               {"token", 0},
                               {"s2", 1},
                               {"u2", 1},
                               {"f8e4m3", 1},
                               {"f8e3m4", 1},
                               {"f8e8m0fnu", 1},
                               {"f4e2m1fn", 1},
                               {"s1", 1},
                               {"u1", 1},
                               {"f6e2m3fn", 1},
                               {"f6e3m2fn", 1}};

const TypeInfo* infoOf(PJRT_Buffer_Type type) {
  const auto index = static_cast<size_t>(type);
  return index < std::size(kTypes) ? &kTypes[index] : nullptr;
}

bool isComplex(PJRT_Buffer_Type type) {
  return type == PJRT_Buffer_Type_C64 || type == PJRT_Buffer_Type_C128;
}

// Of an element of less than a byte.
int bitsOf(PJRT_Buffer_Type type) {
  switch (type) {
    case PJRT_Buffer_Type_S4:
    case PJRT_Buffer_Type_U4:
    case PJRT_Buffer_Type_F4E2M1FN:
      return 4;
    case PJRT_Buffer_Type_S2:
    case PJRT_Buffer_Type_U2:
      return 2;
    case PJRT_Buffer_Type_S1:
    case PJRT_Buffer_Type_U1:
      return 1;
    case PJRT_Buffer_Type_F6E2M3FN:
    case PJRT_Buffer_Type_F6E3M2FN:
      return 6;
    default:
      return 8;
  }
}

uint64_t loadBits(const char* data, size_t bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, data, bytes);
  return bits;
}

bool isNan(uint64_t bits, const FloatFormat& format) {
  const uint64_t exponent = (uint64_t{1} << format.exponentBits) - 1;
  return ((bits >> format.fractionBits) & exponent) == exponent &&
         (bits & ((uint64_t{1} << format.fractionBits) - 1)) != 0;
}

// Numbers in the order of their values, neighbours one apart; both zeros are 0.
int64_t ordinal(uint64_t bits, const FloatFormat& format) {
  const uint64_t sign = uint64_t{1} << (format.exponentBits + format.fractionBits);
  const auto magnitude = static_cast<int64_t>(bits & (sign - 1));
  return bits & sign ? -magnitude : magnitude;
}

bool nearParts(const char* a, const char* b, size_t bytes, const FloatFormat& format,
               int64_t ulps) {
  const uint64_t x = loadBits(a, bytes), y = loadBits(b, bytes);
  if (x == y) return true;
  if (format.exponentBits == 0) return false;
  if (isNan(x, format) || isNan(y, format)) return isNan(x, format) && isNan(y, format);
  if (ulps == 0) return false;
  // Devices may take subnormal results for zero, as XLA does on CPUs.
  const int64_t smallestNormal = int64_t{1} << format.fractionBits;
  if (ordinal(y, format) == 0 && std::llabs(ordinal(x, format)) < smallestNormal) return true;
  return std::llabs(ordinal(x, format) - ordinal(y, format)) <= ulps;
}

double toDouble(const char* at, size_t bytes) {
  float single;
  double value;
  if (bytes == sizeof(single)) return std::memcpy(&single, at, bytes), single;
  return std::memcpy(&value, at, bytes), value;
}

// What `ulps` of the largest finite part of f32 or f64 are; 0 for other types.
double slackOf(const HostArray& array, size_t width, const FloatFormat& format, int64_t ulps) {
  if (format.fractionBits != 23 && format.fractionBits != 52) return 0;
  double largest = 0;
  for (size_t at = 0; at + width <= array.bytes.size(); at += width) {
    const double value = std::abs(toDouble(array.bytes.data() + at, width));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  return static_cast<double>(ulps) * std::ldexp(largest, -format.fractionBits);
}

}  // namespace

std::string nameOf(PJRT_Buffer_Type type) {
  const TypeInfo* info = infoOf(type);
  return info ? info->name : "type " + std::to_string(type);
}

PJRT_Buffer_Type typeOfName(std::string_view name) {
  for (size_t i = 1; i < std::size(kTypes); ++i) {
    if (name == kTypes[i].name) return static_cast<PJRT_Buffer_Type>(i);
  }
  return PJRT_Buffer_Type_INVALID;
}

size_t elementBytes(PJRT_Buffer_Type type) {
  const TypeInfo* info = infoOf(type);
  return info ? info->bytes : 0;
}

std::vector<PJRT_Buffer_Type> allTypes() {
  std::vector<PJRT_Buffer_Type> types;
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    if (kTypes[i].bytes > 0) types.push_back(static_cast<PJRT_Buffer_Type>(i));
  }
  return types;
}

int64_t HostArray::size() const {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

std::string HostArray::describe() const {
  std::string text = nameOf(type) + "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

std::string HostArray::element(int64_t index) const {
  const size_t width = elementBytes(type);
  const char* at = bytes.data() + static_cast<size_t>(index) * width;
  auto number = [](double value) {
    char text[40];
    std::snprintf(text, sizeof(text), "%.17g", value);
    return std::string(text);
  };
  auto real = [&](const char* p, size_t size) {
    float f;
    double d;
    if (size == 4) return std::memcpy(&f, p, 4), number(f);
    return std::memcpy(&d, p, 8), number(d);
  };
  if (type == PJRT_Buffer_Type_F32 || type == PJRT_Buffer_Type_F64) return real(at, width);
  if (isComplex(type)) {
    return "(" + real(at, width / 2) + ", " + real(at + width / 2, width / 2) + ")";
  }
  char text[40];
  std::snprintf(text, sizeof(text), "0x%0*llx", static_cast<int>(2 * width),
                static_cast<unsigned long long>(loadBits(at, width)));
  return text;
}

HostArray iota(PJRT_Buffer_Type type, std::vector<int64_t> dims) {
  HostArray array{type, std::move(dims), {}};
  const size_t width = elementBytes(type);
  array.bytes.resize(static_cast<size_t>(array.size()) * width);
  for (int64_t i = 0; i < array.size(); ++i) {
    char* at = array.bytes.data() + static_cast<size_t>(i) * width;
    const auto f = static_cast<float>(i + 1);
    const auto d = static_cast<double>(i + 1);
    if (type == PJRT_Buffer_Type_F32 || type == PJRT_Buffer_Type_C64) {
      std::memcpy(at, &f, 4);
    } else if (type == PJRT_Buffer_Type_F64 || type == PJRT_Buffer_Type_C128) {
      std::memcpy(at, &d, 8);
    } else if (type == PJRT_Buffer_Type_PRED) {
      *at = static_cast<char>(i % 3 == 0);
    } else if (width == 1) {
      const int bits = bitsOf(type);
      const auto value = static_cast<uint8_t>((i + 1) & ((1 << std::min(bits, 6)) - 1));
      const bool isSigned =
          type == PJRT_Buffer_Type_S4 || type == PJRT_Buffer_Type_S2 || type == PJRT_Buffer_Type_S1;
      const bool isNegative = isSigned && (value >> (bits - 1)) != 0;
      *at = static_cast<char>(isNegative ? value | (0xFF << bits) : value);
    } else {
      const auto bits = static_cast<uint64_t>(i + 1);
      std::memcpy(at, &bits, width);
    }
  }
  return array;
}

std::string difference(const HostArray& expected, const HostArray& got, Tolerance tolerance) {
  if (expected.type != got.type || expected.dims != got.dims) {
    return expected.describe() + " expected, got " + got.describe();
  }
  if (expected.bytes.size() != got.bytes.size()) {
    return std::to_string(expected.bytes.size()) + " bytes expected, got " +
           std::to_string(got.bytes.size());
  }
  const int parts = isComplex(expected.type) ? 2 : 1;
  const TypeInfo& info = *infoOf(expected.type);
  const size_t width = info.bytes / parts;
  const int64_t ulps = tolerance.ulps;
  const double slack = tolerance.ofLargest ? slackOf(expected, width, info.format, ulps) : 0;
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < expected.size() * parts; ++i) {
    const size_t at = static_cast<size_t>(i) * width;
    const char* wanted = expected.bytes.data() + at;
    const char* given = got.bytes.data() + at;
    if (nearParts(wanted, given, width, info.format, ulps)) continue;
    // What lies in a byte above its element says nothing.
    if (const int bits = bitsOf(expected.type); bits < 8) {
      if (((*wanted ^ *given) & ((1 << bits) - 1)) == 0) continue;
    }
    if (slack > 0 && std::abs(toDouble(wanted, width) - toDouble(given, width)) <= slack) continue;
    if (wrong++ == 0) first = i / parts;
  }
  if (wrong == 0) return "";
  return "element " + std::to_string(first) + " is " + got.element(first) + ", expected " +
         expected.element(first) + " (" + std::to_string(wrong) + " of " +
         std::to_string(expected.size() * parts) + " differ by more than " + std::to_string(ulps) +
         " ulps)";
}

}  // namespace isthmus::conformance

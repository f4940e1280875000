// Arrays on the host, and how near two of them are.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "isthmus/pjrt_c_api.h"

namespace isthmus::conformance {

// "f32", "s8"; "type 99" for a number that no version has.
std::string nameOf(PJRT_Buffer_Type type);
// The type of that name; INVALID if there is none.
PJRT_Buffer_Type typeOfName(std::string_view name);
// Bytes of one element on the host; 0 for INVALID and TOKEN. Types of less than a byte take one.
size_t elementBytes(PJRT_Buffer_Type type);
// Every type that has elements.
std::vector<PJRT_Buffer_Type> allTypes();

template <typename T>
inline constexpr PJRT_Buffer_Type kTypeOf = PJRT_Buffer_Type_INVALID;
template <>
inline constexpr PJRT_Buffer_Type kTypeOf<float> = PJRT_Buffer_Type_F32;
template <>
inline constexpr PJRT_Buffer_Type kTypeOf<double> = PJRT_Buffer_Type_F64;
template <>
inline constexpr PJRT_Buffer_Type kTypeOf<int32_t> = PJRT_Buffer_Type_S32;
template <>
inline constexpr PJRT_Buffer_Type kTypeOf<uint8_t> = PJRT_Buffer_Type_U8;

// Dense, row-major.
struct HostArray {
  PJRT_Buffer_Type type = PJRT_Buffer_Type_F32;
  std::vector<int64_t> dims;
  std::vector<char> bytes;

  int64_t size() const;

  template <typename T>
  static HostArray of(std::vector<int64_t> dims, const std::vector<T>& values) {
    HostArray array{kTypeOf<T>, std::move(dims), {}};
    array.bytes.resize(values.size() * sizeof(T));
    std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
    return array;
  }
  template <typename T>
  std::vector<T> as() const {
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
  // "f32[2,3]".
  std::string describe() const;
  // Element `index` as text.
  std::string element(int64_t index) const;
};

// Every element different, as far as the type allows, and valid in it.
HostArray iota(PJRT_Buffer_Type type, std::vector<int64_t> dims);

// How far apart two arrays may be, in units in the last place of their type (0: bit for bit, but
// any NaN equals any other): of each element, or of the largest, which is the scale of sums that
// cancel.
struct Tolerance {
  int64_t ulps = 0;
  bool ofLargest = false;
};

// Empty if `got` is near enough to `expected`, else what differs first. Complex parts count each.
std::string difference(const HostArray& expected, const HostArray& got, Tolerance tolerance);

}  // namespace isthmus::conformance

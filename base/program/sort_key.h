// The order of a sort, where its comparator is one that is recognised.
#pragma once

#include <cstdint>

#include "isthmus/types.h"

namespace isthmus {

inline constexpr int kMaxSortKeys = 8;

enum class SortOrder : int32_t {
  // Integers and pred by value. Floats: -0 equals +0, all NaNs are equal and above infinity: what
  // JAX's comparator means (it canonicalises zeros and NaNs, then compares in total order).
  kNumeric = 0,
  // Floats as compare(LT, TOTALORDER): -NaN < -inf < … < -0 < +0 < … < inf < NaN.
  kTotal = 1,
};

struct SortKey {
  ElementType type;  // any integer, pred or real float type
  SortOrder order;
  int32_t descending;  // 0 or 1; equal elements keep their order in both
};

}  // namespace isthmus

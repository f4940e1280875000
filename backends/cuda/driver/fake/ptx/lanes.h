// Handlers of instructions that compute lane by lane, from plain functions of values.
#pragma once

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "backends/cuda/driver/fake/ptx/machine.h"
#include "backends/cuda/driver/fake/ptx/numbers.h"

namespace isthmus::ptx {

template <typename Body>
inline void forLanes(uint32_t lanes, Body body) {
  if (lanes == kAllLanes) {
    for (int lane = 0; lane < kWarpLanes; ++lane) body(lane);
    return;
  }
  for (; lanes; lanes &= lanes - 1) body(std::countr_zero(lanes));
}

// A register holds a value in its low bits.
template <typename T>
inline T fromSlot(uint64_t slot) {
  if constexpr (std::is_same_v<T, bool>) {
    return slot & 1;
  } else {
    T value;
    std::memcpy(&value, &slot, sizeof(T));
    return value;
  }
}
// Signed integers are extended, since loads and conversions may go to a wider register.
template <typename T>
inline uint64_t toSlot(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<uint64_t>(value);
  } else {
    uint64_t slot = 0;
    std::memcpy(&slot, &value, sizeof(T));
    return slot;
  }
}

// NaN of arithmetic is one and the same on a GPU.
inline float canonical(float value) {
  return std::isnan(value) ? std::bit_cast<float>(0x7fffffffu) : value;
}
inline float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}
// Of two numbers; NaN only if both are, and -0 is less than +0.
template <typename T>
inline T smaller(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <typename T>
inline T larger(T a, T b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}
// NaN if one is.
template <typename T>
inline T smallerOrNan(T a, T b) {
  return std::isnan(a) || std::isnan(b) ? a + b : smaller(a, b);
}
template <typename T>
inline T largerOrNan(T a, T b) {
  return std::isnan(a) || std::isnan(b) ? a + b : larger(a, b);
}
inline float saturated(float value) {
  return std::isnan(value) ? 0.0f : value < 0 ? 0.0f : value > 1 ? 1.0f : value;
}

// A host that rounds as `rounding` says, for a while.
class HostRounding {
 public:
  explicit HostRounding(Rounding rounding) {
    constexpr int kModes[] = {FE_TONEAREST, FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    std::fesetround(kModes[static_cast<int>(rounding)]);
  }
  ~HostRounding() { std::fesetround(FE_TONEAREST); }
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;
};

enum class Around { kNothing, kFlush, kSaturate, kFlushAndSaturate };

template <auto function, Around around, typename D, typename... A, size_t... I>
inline void eachLane(Context& c, const Instruction& in, uint32_t lanes, D (*)(A...),
                     std::index_sequence<I...>) {
  constexpr bool kFlushes = around == Around::kFlush || around == Around::kFlushAndSaturate;
  constexpr bool kSaturates = around == Around::kSaturate || around == Around::kFlushAndSaturate;
  uint64_t* d = c.to(in, 0);
  const uint64_t* a[sizeof...(A) + 1] = {c.from(in, I)..., nullptr};
  auto read = [&]<typename T>(uint64_t slot, T) {
    T value = fromSlot<T>(slot);
    if constexpr (kFlushes && std::is_same_v<T, float>) value = flushed(value);
    return value;
  };
  forLanes(lanes, [&](int lane) {
    D result = function(read(a[I][lane], A())...);
    if constexpr (std::is_same_v<D, float>) {
      if constexpr (kFlushes) result = flushed(result);
      if constexpr (kSaturates) result = saturated(result);
    }
    d[lane] = toSlot(result);
  });
}

template <auto function, Around around, typename D, typename... A>
inline void eachLane(Context& c, const Instruction& in, uint32_t lanes, D (*of)(A...)) {
  eachLane<function, around>(c, in, lanes, of, std::index_sequence_for<A...>());
}

// to[0] = function(from[0], from[1], …).
template <auto function, Around around = Around::kNothing>
void each(Context& c, const Instruction& in, uint32_t lanes) {
  eachLane<function, around>(c, in, lanes, function);
}

// What `of`, a function of a type alone, gives for integers of `type`; null for other types.
template <typename Of>
Handler forInteger(Type type, const Of& of) {
  switch (type) {
    case Type::kU8:
      return of.template operator()<uint8_t>();
    case Type::kU16:
      return of.template operator()<uint16_t>();
    case Type::kU32:
      return of.template operator()<uint32_t>();
    case Type::kU64:
      return of.template operator()<uint64_t>();
    case Type::kS8:
      return of.template operator()<int8_t>();
    case Type::kS16:
      return of.template operator()<int16_t>();
    case Type::kS32:
      return of.template operator()<int32_t>();
    case Type::kS64:
      return of.template operator()<int64_t>();
    default:
      return nullptr;
  }
}
// The same of floating-point numbers.
template <typename Of>
Handler forFloat(Type type, const Of& of) {
  switch (type) {
    case Type::kF16:
      return of.template operator()<F16>();
    case Type::kBf16:
      return of.template operator()<Bf16>();
    case Type::kF32:
      return of.template operator()<float>();
    case Type::kF64:
      return of.template operator()<double>();
    default:
      return nullptr;
  }
}

// As each(), with .ftz and .sat where `flushes` and `saturates` say so.
template <auto function>
Handler eachFloat(bool flushes, bool saturates) {
  if (flushes) {
    return saturates ? &each<function, Around::kFlushAndSaturate> : &each<function, Around::kFlush>;
  }
  return saturates ? &each<function, Around::kSaturate> : &each<function>;
}

}  // namespace isthmus::ptx

// cvt: between integers and floating-point numbers of all types.
#include <limits>

#include "backends/cuda/driver/fake/ptx/lanes.h"
#include "backends/cuda/driver/fake/ptx/spelling.h"

namespace isthmus::ptx {
namespace {

// Of Instruction::detail: the rounding, and what else was asked for.
constexpr uint32_t kRounding = 7, kIntegral = 8, kSaturates = 16, kFlushes = 32, kRelu = 64;

Rounding roundingOf(const Instruction& i) { return static_cast<Rounding>(i.detail & kRounding); }

// Integers of any type fit.
using Whole = __int128;

template <typename D, typename A>
void fromInteger(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t* d = c.to(i, 0);
  const uint64_t* a = c.from(i, 0);
  bool saturates = i.detail & kSaturates;
  forLanes(lanes, [&](int lane) {
    A value = fromSlot<A>(a[lane]);
    if (saturates) {
      Whole least = std::numeric_limits<D>::min(), most = std::numeric_limits<D>::max();
      Whole whole = value;
      d[lane] = toSlot(static_cast<D>(whole < least ? least : whole > most ? most : whole));
    } else {
      d[lane] = toSlot(static_cast<D>(value));
    }
  });
}

template <typename A>
constexpr bool kIsHalf = std::is_same_v<A, F16> || std::is_same_v<A, Bf16>;

template <typename A>
double wide(const Instruction& i, A value) {
  if constexpr (kIsHalf<A>) {
    return toDouble(value);
  } else if constexpr (std::is_same_v<A, float>) {
    return static_cast<double>(i.detail & kFlushes ? flushed(value) : value);
  } else {
    return value;
  }
}

// Too large or small: the limit. NaN: 0, or the highest bit alone if a side has 64 bits.
template <typename D, typename A>
void floatToInteger(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t* d = c.to(i, 0);
  const uint64_t* a = c.from(i, 0);
  constexpr bool kIsWide = sizeof(D) == 8 || sizeof(A) == 8;
  constexpr auto kNan = static_cast<D>(kIsWide ? uint64_t{1} << (sizeof(D) * 8 - 1) : 0);
  forLanes(lanes, [&](int lane) {
    double value = toIntegral(wide(i, fromSlot<A>(a[lane])), roundingOf(i));
    D result;
    if (std::isnan(value)) {
      result = kNan;
    } else if (value >= std::ldexp(1.0, std::numeric_limits<D>::digits)) {
      result = std::numeric_limits<D>::max();
    } else if (value < static_cast<double>(std::numeric_limits<D>::min())) {
      result = std::numeric_limits<D>::min();
    } else {
      result = static_cast<D>(value);
    }
    d[lane] = toSlot(result);
  });
}

template <typename D>
Handler toInteger(Type from) {
  if (isFloat(from)) return forFloat(from, []<typename A>() { return &floatToInteger<D, A>; });
  return forInteger(from, []<typename A>() { return &fromInteger<D, A>; });
}

// Kept from moving what it computes out of where the host rounds otherwise.
template <typename D, typename A>
[[gnu::noinline]] D hostConversion(A value) {
  return static_cast<D>(value);
}

template <typename A>
double odd(const Instruction& i, A value) {
  if constexpr (std::is_integral_v<A>) {
    return std::is_signed_v<A> ? oddDouble(static_cast<int64_t>(value))
                               : oddDouble(static_cast<uint64_t>(value));
  } else {
    return wide(i, value);
  }
}

FloatFormat formatOf(Type type) {
  return type == Type::kF16 || type == Type::kF16x2     ? kF16Format
         : type == Type::kBf16 || type == Type::kBf16x2 ? kBf16Format
         : type == Type::kTf32                          ? kTf32Format
         : type == Type::kE4m3x2                        ? kE4m3Format
                                                        : kE5m2Format;
}

uint32_t narrow(const Instruction& i, double value) {
  if ((i.detail & kRelu) && value < 0) value = 0;
  uint32_t bits = encode(value, formatOf(i.type), roundingOf(i), i.detail & kSaturates);
  return i.type == Type::kTf32 ? bits << 13 : bits;
}

// To f32 or f64, integral or as the host rounds.
template <typename D, typename A>
D hostFloat(const Instruction& i, A value) {
  if constexpr (std::is_integral_v<A>) {
    return hostConversion<D>(value);
  } else {
    double exact = wide(i, value);
    if (i.detail & kIntegral) exact = toIntegral(exact, roundingOf(i));
    D result;
    if constexpr (std::is_same_v<D, float> && std::is_same_v<A, double>) {
      HostRounding scope(roundingOf(i));
      result = hostConversion<D>(exact);
    } else {
      result = static_cast<D>(exact);
    }
    if constexpr (std::is_same_v<D, float>) {
      if (i.detail & kFlushes) result = flushed(result);
      result = canonical(result);
      if (i.detail & kSaturates) result = saturated(result);
    }
    return result;
  }
}

template <typename A>
void toFloat(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t* d = c.to(i, 0);
  const uint64_t* a = c.from(i, 0);
  if constexpr (std::is_integral_v<A>) {
    if (roundingOf(i) != Rounding::kNearest && bytesOf(i.type) >= 4) {
      HostRounding scope(roundingOf(i));
      forLanes(lanes, [&](int lane) {
        A value = fromSlot<A>(a[lane]);
        d[lane] = i.type == Type::kF32 ? toSlot(hostConversion<float>(value))
                                       : toSlot(hostConversion<double>(value));
      });
      return;
    }
  }
  forLanes(lanes, [&](int lane) {
    A value = fromSlot<A>(a[lane]);
    if (i.type == Type::kF32) {
      d[lane] = toSlot(hostFloat<float>(i, value));
    } else if (i.type == Type::kF64) {
      d[lane] = toSlot(hostFloat<double>(i, value));
    } else {
      double exact = odd(i, value);
      if (i.detail & kIntegral) exact = toIntegral(exact, roundingOf(i));
      d[lane] = narrow(i, exact);
    }
  });
}

Handler toFloat(Type from) {
  auto of = []<typename A>() { return &toFloat<A>; };
  return isFloat(from) ? forFloat(from, of) : forInteger(from, of);
}

// d = {a, b}: the first becomes the upper half.
void toPair(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t* d = c.to(i, 0);
  const uint64_t *a = c.from(i, 0), *b = c.from(i, 1);
  int bits = i.type == Type::kE4m3x2 || i.type == Type::kE5m2x2 ? 8 : 16;
  forLanes(lanes, [&](int lane) {
    uint64_t upper = narrow(i, wide(i, fromSlot<float>(a[lane])));
    d[lane] = upper << bits | narrow(i, wide(i, fromSlot<float>(b[lane])));
  });
}

// Between pairs of f16 and of eight bits.
void pairToPair(Context& c, const Instruction& i, uint32_t lanes, FloatFormat from, int fromBits) {
  uint64_t* d = c.to(i, 0);
  const uint64_t* a = c.from(i, 0);
  int bits = fromBits == 8 ? 16 : 8;
  uint32_t mask = (1u << fromBits) - 1;
  forLanes(lanes, [&](int lane) {
    auto slot = static_cast<uint32_t>(a[lane]);
    uint64_t upper = narrow(i, decode(slot >> fromBits & mask, from));
    d[lane] = upper << bits | narrow(i, decode(slot & mask, from));
  });
}
template <Type from>
void pairToPair(Context& c, const Instruction& i, uint32_t lanes) {
  pairToPair(c, i, lanes, formatOf(from), from == Type::kF16x2 ? 16 : 8);
}

Handler pairsOf(Type to, Type from) {
  bool isNarrow = to == Type::kE4m3x2 || to == Type::kE5m2x2;
  if (from == Type::kF32) return &toPair;
  if (isNarrow && from == Type::kF16x2) return &pairToPair<Type::kF16x2>;
  if (to == Type::kF16x2 && from == Type::kE4m3x2) return &pairToPair<Type::kE4m3x2>;
  if (to == Type::kF16x2 && from == Type::kE5m2x2) return &pairToPair<Type::kE5m2x2>;
  return nullptr;
}

bool isPair(Type type) {
  return type == Type::kF16x2 || type == Type::kBf16x2 || type == Type::kE4m3x2 ||
         type == Type::kE5m2x2;
}

// Whether conversions of floats to these must say how to round.
bool losesBits(Type to, Type from) {
  if (!isFloat(to) || isPair(to)) return true;
  if (!isFloat(from)) return true;
  return bytesOf(to) < bytesOf(from) || to == Type::kTf32 ||
         (to != from && bytesOf(to) == bytesOf(from));
}

}  // namespace

bool decodeConversions(Spelling& s, Instruction& i) {
  if (s.op() != "cvt") return false;
  bool isIntegral = false, hasRounding = false;
  Rounding rounding = s.takeRounding(&isIntegral, &hasRounding);
  i.detail = static_cast<uint32_t>(rounding) | (isIntegral ? kIntegral : 0);
  if (s.take("ftz")) i.detail |= kFlushes;
  if (s.take("relu")) i.detail |= kRelu;
  if (!s.takeOneOf({"sat", "satfinite"}).empty()) i.detail |= kSaturates;
  i.type = s.takeType();
  Type from = s.takeType();
  if (isFloat(i.type) != isFloat(from)) {
    // Numbers become integers by a rounding to integral ones, and the other way by another.
    if (!hasRounding || isIntegral != isFloat(from)) return false;
  } else if (isFloat(i.type) && losesBits(i.type, from) && !hasRounding) {
    return false;
  } else if (!isFloat(i.type) && hasRounding) {
    return false;
  }
  if (isPair(i.type)) {
    i.run = pairsOf(i.type, from);
  } else {
    i.run = isFloat(i.type) ? toFloat(from)
                            : forInteger(i.type, [&]<typename D>() { return toInteger<D>(from); });
  }
  return i.run && s.place(i);
}

}  // namespace isthmus::ptx

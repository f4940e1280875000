// Integer arithmetic, bits and bytes.
#include <algorithm>
#include <bit>

#include "backends/cuda/driver/fake/ptx/lanes.h"
#include "backends/cuda/driver/fake/ptx/spelling.h"

namespace isthmus::ptx {
namespace {

template <typename T>
using Unsigned = std::make_unsigned_t<T>;
template <typename T>
constexpr int kBits = static_cast<int>(sizeof(T) * 8);
// Twice as wide.
template <typename T>
using Wide = std::conditional_t<
    sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>>>;

template <typename T>
T wrap(Wide<T> value) {
  return static_cast<T>(value);
}

template <typename T>
struct Add {
  static T apply(T a, T b) { return wrap<T>(Wide<T>(a) + Wide<T>(b)); }
};
template <typename T>
struct AddSaturating {
  static T apply(T a, T b) {
    return static_cast<T>(std::clamp<Wide<T>>(Wide<T>(a) + b, std::numeric_limits<T>::min(),
                                              std::numeric_limits<T>::max()));
  }
};
template <typename T>
struct SubSaturating {
  static T apply(T a, T b) {
    return static_cast<T>(std::clamp<Wide<T>>(Wide<T>(a) - b, std::numeric_limits<T>::min(),
                                              std::numeric_limits<T>::max()));
  }
};
template <typename T>
struct Sub {
  static T apply(T a, T b) { return wrap<T>(Wide<T>(a) - Wide<T>(b)); }
};
template <typename T>
struct MulLow {
  static T apply(T a, T b) { return wrap<T>(Wide<T>(a) * Wide<T>(b)); }
};
template <typename T>
struct MulHigh {
  static T apply(T a, T b) { return static_cast<T>((Wide<T>(a) * Wide<T>(b)) >> kBits<T>); }
};
template <typename T>
struct MulWide {
  static Wide<T> apply(T a, T b) { return Wide<T>(a) * Wide<T>(b); }
};
template <typename T>
struct MadLow {
  static T apply(T a, T b, T c) { return Add<T>::apply(MulLow<T>::apply(a, b), c); }
};
template <typename T>
struct MadHigh {
  static T apply(T a, T b, T c) { return Add<T>::apply(MulHigh<T>::apply(a, b), c); }
};
template <typename T>
struct MadWide {
  static Wide<T> apply(T a, T b, Wide<T> c) {
    return Add<Wide<T>>::apply(MulWide<T>::apply(a, b), c);
  }
};
// By zero, GPUs give all ones; PTX says nothing.
template <typename T>
struct Div {
  static T apply(T a, T b) {
    if (b == 0) return static_cast<T>(-1);
    return wrap<T>(Wide<T>(a) / Wide<T>(b));
  }
};
template <typename T>
struct Rem {
  static T apply(T a, T b) {
    if (b == 0) return a;
    return wrap<T>(Wide<T>(a) % Wide<T>(b));
  }
};
template <typename T>
struct Min {
  static T apply(T a, T b) { return std::min(a, b); }
};
template <typename T>
struct Max {
  static T apply(T a, T b) { return std::max(a, b); }
};
template <typename T>
struct Abs {
  static T apply(T a) { return a < 0 ? wrap<T>(-Wide<T>(a)) : a; }
};
template <typename T>
struct Neg {
  static T apply(T a) { return wrap<T>(-Wide<T>(a)); }
};
template <typename T>
struct Sad {
  static T apply(T a, T b, T c) {
    return Add<T>::apply(c, a < b ? Sub<T>::apply(b, a) : Sub<T>::apply(a, b));
  }
};
template <typename T>
struct ShiftLeft {
  static T apply(T a, uint32_t by) {
    return by >= kBits<T> ? T(0) : static_cast<T>(Unsigned<T>(a) << by);
  }
};
template <typename T>
struct ShiftRight {
  static T apply(T a, uint32_t by) {
    return static_cast<T>(a >> std::min<uint32_t>(by, kBits<T> - 1) >>
                          (by >= kBits<T> && !std::is_signed_v<T> ? 1 : 0));
  }
};
template <typename T>
struct FieldExtract {
  static T apply(T a, uint32_t b, uint32_t c) {
    uint32_t position = b & 0xff, length = c & 0xff, most = kBits<T> - 1;
    auto bits = static_cast<Unsigned<T>>(a);
    bool sign =
        std::is_signed_v<T> && length > 0 && (bits >> std::min(position + length - 1, most) & 1);
    Unsigned<T> result = 0;
    for (uint32_t i = 0; i <= most; ++i) {
      bool bit = i < length && position + i <= most ? (bits >> (position + i) & 1) : sign;
      result |= static_cast<Unsigned<T>>(bit) << i;
    }
    return static_cast<T>(result);
  }
};
template <typename T>
struct FieldInsert {
  static T apply(T a, T b, uint32_t c, uint32_t d) {
    uint32_t position = c & 0xff, length = d & 0xff;
    T result = b;
    for (uint32_t i = 0; i < length && position + i < static_cast<uint32_t>(kBits<T>); ++i) {
      T bit = T(1) << (position + i);
      result = static_cast<T>((a >> i & 1) ? (result | bit) : (result & ~bit));
    }
    return result;
  }
};
template <typename T>
struct FindHighest {
  static uint32_t apply(T a) {
    auto bits = static_cast<Unsigned<T>>(std::is_signed_v<T> && a < 0 ? ~a : a);
    return bits == 0 ? 0xffffffffu : static_cast<uint32_t>(kBits<T> - 1 - std::countl_zero(bits));
  }
};
template <typename T>
struct Reverse {
  static T apply(T a) {
    T result = 0;
    for (int i = 0; i < kBits<T>; ++i) result |= (a >> i & 1) << (kBits<T> - 1 - i);
    return result;
  }
};
template <typename T>
struct CountOnes {
  static uint32_t apply(T a) { return static_cast<uint32_t>(std::popcount(a)); }
};
template <typename T>
struct CountZeros {
  static uint32_t apply(T a) { return static_cast<uint32_t>(std::countl_zero(a)); }
};
template <typename T>
struct And {
  static T apply(T a, T b) { return static_cast<T>(a & b); }
};
template <typename T>
struct Or {
  static T apply(T a, T b) { return static_cast<T>(a | b); }
};
template <typename T>
struct Xor {
  static T apply(T a, T b) { return static_cast<T>(a ^ b); }
};
template <typename T>
struct Not {
  static T apply(T a) {
    if constexpr (std::is_same_v<T, bool>) {
      return !a;
    } else {
      return static_cast<T>(~a);
    }
  }
};
template <typename T>
struct IsZero {
  static T apply(T a) { return a == 0; }
};

template <template <typename> class Op>
Handler ofIntegers(Type type) {
  switch (type) {
    case Type::kU16:
    case Type::kB16:
      return &each<&Op<uint16_t>::apply>;
    case Type::kU32:
    case Type::kB32:
      return &each<&Op<uint32_t>::apply>;
    case Type::kU64:
    case Type::kB64:
      return &each<&Op<uint64_t>::apply>;
    case Type::kS16:
      return &each<&Op<int16_t>::apply>;
    case Type::kS32:
      return &each<&Op<int32_t>::apply>;
    case Type::kS64:
      return &each<&Op<int64_t>::apply>;
    default:
      return nullptr;
  }
}
// Those whose results of twice the width fit a register.
template <template <typename> class Op>
Handler ofNarrow(Type type) {
  switch (type) {
    case Type::kU16:
      return &each<&Op<uint16_t>::apply>;
    case Type::kU32:
      return &each<&Op<uint32_t>::apply>;
    case Type::kS16:
      return &each<&Op<int16_t>::apply>;
    case Type::kS32:
      return &each<&Op<int32_t>::apply>;
    default:
      return nullptr;
  }
}
template <template <typename> class Op>
Handler ofWide(Type type) {
  if (bytesOf(type) < 4) return nullptr;
  return ofIntegers<Op>(type);
}
template <template <typename> class Op>
Handler ofBits(Type type) {
  switch (type) {
    case Type::kPred:
      return &each<&Op<bool>::apply>;
    case Type::kB16:
      return &each<&Op<uint16_t>::apply>;
    case Type::kB32:
      return &each<&Op<uint32_t>::apply>;
    case Type::kB64:
      return &each<&Op<uint64_t>::apply>;
    default:
      return nullptr;
  }
}
template <template <typename> class Op>
Handler ofTwoBits(Type type) {
  if (type == Type::kB32) return &each<&Op<uint32_t>::apply>;
  if (type == Type::kB64) return &each<&Op<uint64_t>::apply>;
  return nullptr;
}

uint32_t look(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (int row = 0; row < 8; ++row) {
    if (!(table >> row & 1)) continue;
    result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
  }
  return result;
}

uint32_t permute(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t which = selector >> (4 * i) & 0xf;
    auto byte = static_cast<uint32_t>(bytes >> (8 * (which & 7)) & 0xff);
    if (which & 8) byte = byte & 0x80 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}

template <bool toLeft, bool clamps>
uint32_t funnel(uint32_t low, uint32_t high, uint32_t by) {
  by = clamps ? std::min(by, 32u) : by & 31;
  uint64_t both = uint64_t{high} << 32 | low;
  return static_cast<uint32_t>(toLeft ? both << by >> 32 : both >> by);
}

template <bool toLeft>
Handler funnelOf(bool clamps) {
  return clamps ? &each<&funnel<toLeft, true>> : &each<&funnel<toLeft, false>>;
}

template <bool isSignedA, bool isSignedB>
uint32_t dotOfBytes(uint32_t a, uint32_t b, uint32_t c) {
  for (int i = 0; i < 4; ++i) {
    auto x = static_cast<uint8_t>(a >> (8 * i)), y = static_cast<uint8_t>(b >> (8 * i));
    int left = isSignedA ? static_cast<int8_t>(x) : x,
        right = isSignedB ? static_cast<int8_t>(y) : y;
    c += static_cast<uint32_t>(left * right);
  }
  return c;
}

// With a carry in or out: detail has kIn, kOut and kSubtracts.
constexpr uint32_t kIn = 1, kOut = 2, kSubtracts = 4;
template <typename T>
void withCarry(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t *d = c.to(i, 0), *carry = c.special(kCarry);
  const uint64_t *a = c.from(i, 0), *b = c.from(i, 1);
  forLanes(lanes, [&](int lane) {
    unsigned __int128 x = fromSlot<T>(a[lane]), y = fromSlot<T>(b[lane]);
    uint64_t in = i.detail & kIn ? carry[lane] : 0;
    unsigned __int128 result = i.detail & kSubtracts ? x - y - in : x + y + in;
    if (i.detail & kOut) carry[lane] = static_cast<uint64_t>(result >> kBits<T>) & 1;
    d[lane] = toSlot(static_cast<T>(result));
  });
}

// mad with a carry: the sum is of a product's half.
template <typename T, bool takesHigh>
void productWithCarry(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t *d = c.to(i, 0), *carry = c.special(kCarry);
  const uint64_t *a = c.from(i, 0), *b = c.from(i, 1), *add = c.from(i, 2);
  forLanes(lanes, [&](int lane) {
    unsigned __int128 x = fromSlot<T>(a[lane]), product = x * fromSlot<T>(b[lane]);
    auto half = static_cast<T>(takesHigh ? product >> kBits<T> : product);
    unsigned __int128 sum = half;
    sum += fromSlot<T>(add[lane]);
    sum += i.detail & kIn ? carry[lane] : 0;
    if (i.detail & kOut) carry[lane] = static_cast<uint64_t>(sum >> kBits<T>) & 1;
    d[lane] = toSlot(static_cast<T>(sum));
  });
}

bool decodeProductsWithCarry(Spelling& s, Instruction& i) {
  bool isIn = s.op() == "madc", isOut = s.take("cc");
  if (!isIn && !isOut) return false;
  i.detail = (isIn ? kIn : 0) | (isOut ? kOut : 0);
  i.type = s.takeType();
  bool isHigh = s.takeOneOf({"lo", "hi"}) == "hi";
  if (i.type == Type::kU32 || (i.type == Type::kS32 && !isHigh)) {
    i.run = isHigh ? &productWithCarry<uint32_t, true> : &productWithCarry<uint32_t, false>;
  } else if (i.type == Type::kU64 || (i.type == Type::kS64 && !isHigh)) {
    i.run = isHigh ? &productWithCarry<uint64_t, true> : &productWithCarry<uint64_t, false>;
  }
  return i.run && s.place(i);
}

bool decodeCarries(Spelling& s, Instruction& i) {
  std::string_view op = s.op();
  bool isIn = op == "addc" || op == "subc", isOut = s.take("cc");
  if (!isIn && !isOut) return false;
  i.detail = (isIn ? kIn : 0) | (isOut ? kOut : 0) | (op.starts_with("sub") ? kSubtracts : 0);
  i.run = bytesOf(s.takeType()) == 8 ? &withCarry<uint64_t> : &withCarry<uint32_t>;
  return s.place(i);
}

// to = function(from[0], from[1]) of both halves of 32 bits.
template <auto function, typename T>
void eachOfPair(Context& c, const Instruction& i, uint32_t lanes, T (*)(T, T)) {
  uint64_t* d = c.to(i, 0);
  const uint64_t *a = c.from(i, 0), *b = c.from(i, 1);
  auto half = [&](int lane, int shift) {
    T result = function(static_cast<T>(a[lane] >> shift), static_cast<T>(b[lane] >> shift));
    return uint64_t{static_cast<uint16_t>(result)} << shift;
  };
  forLanes(lanes, [&](int lane) { d[lane] = half(lane, 0) | half(lane, 16); });
}
template <auto function>
void pair(Context& c, const Instruction& i, uint32_t lanes) {
  eachOfPair<function>(c, i, lanes, function);
}
template <template <typename> typename Function>
Handler ofPairs(Type type) {
  if (type == Type::kS16x2) return &pair<&Function<int16_t>::apply>;
  if (type == Type::kU16x2) return &pair<&Function<uint16_t>::apply>;
  return nullptr;
}

Handler pairsOf(Spelling& s, Type type) {
  std::string_view op = s.op();
  if (op == "add") return ofPairs<Add>(type);
  if (op == "min") return ofPairs<Min>(type);
  if (op == "max") return ofPairs<Max>(type);
  return nullptr;
}

Handler productOf(Spelling& s, Type type, bool adds) {
  std::string_view part = s.takeOneOf({"lo", "hi", "wide"});
  if (part == "lo") return adds ? ofIntegers<MadLow>(type) : ofIntegers<MulLow>(type);
  if (part == "hi") return adds ? ofIntegers<MadHigh>(type) : ofIntegers<MulHigh>(type);
  if (part == "wide") return adds ? ofNarrow<MadWide>(type) : ofNarrow<MulWide>(type);
  return nullptr;
}

Handler arithmeticOf(Spelling& s, Type type) {
  std::string_view op = s.op();
  bool saturates = type == Type::kS32 && (op == "add" || op == "sub") && s.take("sat");
  if (saturates) {
    return op == "add" ? &each<&AddSaturating<int32_t>::apply>
                       : &each<&SubSaturating<int32_t>::apply>;
  }
  if (op == "add") return ofIntegers<Add>(type);
  if (op == "sub") return ofIntegers<Sub>(type);
  if (op == "mul") return productOf(s, type, false);
  if (op == "mad") return productOf(s, type, true);
  if (op == "div") return ofIntegers<Div>(type);
  if (op == "rem") return ofIntegers<Rem>(type);
  if (op == "min") return ofIntegers<Min>(type);
  if (op == "max") return ofIntegers<Max>(type);
  if (op == "abs") return ofIntegers<Abs>(type);
  if (op == "neg") return ofIntegers<Neg>(type);
  if (op == "sad") return ofIntegers<Sad>(type);
  return nullptr;
}

Handler bitsOf(Spelling& s, Type type) {
  std::string_view op = s.op();
  if (op == "and") return ofBits<And>(type);
  if (op == "or") return ofBits<Or>(type);
  if (op == "xor") return ofBits<Xor>(type);
  if (op == "not") return ofBits<Not>(type);
  if (op == "cnot") return ofBits<IsZero>(type);
  if (op == "shl") return ofIntegers<ShiftLeft>(type);
  if (op == "shr") return ofIntegers<ShiftRight>(type);
  if (op == "bfe") return ofWide<FieldExtract>(type);
  if (op == "bfi") return ofTwoBits<FieldInsert>(type);
  if (op == "bfind") return ofWide<FindHighest>(type);
  if (op == "brev") return ofTwoBits<Reverse>(type);
  if (op == "popc") return ofTwoBits<CountOnes>(type);
  if (op == "clz") return ofTwoBits<CountZeros>(type);
  if (type != Type::kB32) return nullptr;
  if (op == "lop3") return &each<&look>;
  if (op == "prmt") return &each<&permute>;
  if (op == "shf") {
    std::string_view to = s.takeOneOf({"l", "r"}), mode = s.takeOneOf({"wrap", "clamp"});
    if (to.empty() || mode.empty()) return nullptr;
    return to == "l" ? funnelOf<true>(mode == "clamp") : funnelOf<false>(mode == "clamp");
  }
  return nullptr;
}

}  // namespace

bool decodeIntegers(Spelling& s, Instruction& i) {
  std::string_view op = s.op();
  if (op == "add" || op == "addc" || op == "sub" || op == "subc") {
    if (decodeCarries(s, i)) return true;
  }
  if ((op == "mad" || op == "madc") && decodeProductsWithCarry(s, i)) return true;
  i.type = s.takeType();
  if (op == "dp4a") {
    bool isSignedA = isSigned(i.type), isSignedB = isSigned(s.takeType());
    i.run = isSignedA
                ? (isSignedB ? &each<&dotOfBytes<true, true>> : &each<&dotOfBytes<true, false>>)
                : (isSignedB ? &each<&dotOfBytes<false, true>> : &each<&dotOfBytes<false, false>>);
    return s.place(i);
  }
  i.run = arithmeticOf(s, i.type);
  if (!i.run) i.run = pairsOf(s, i.type);
  if (!i.run) i.run = bitsOf(s, i.type);
  return i.run && s.place(i);
}

}  // namespace isthmus::ptx

// Comparisons, and choices by them.
#include "backends/cuda/driver/fake/ptx/lanes.h"
#include "backends/cuda/driver/fake/ptx/spelling.h"

namespace isthmus::ptx {
namespace {

template <typename T>
constexpr bool kIsHalf = std::is_same_v<T, F16> || std::is_same_v<T, Bf16>;

// Less, equal, greater or unordered, as bits.
constexpr uint32_t kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8;
template <typename T>
uint32_t orderOf(T a, T b) {
  if constexpr (kIsHalf<T>) {
    return orderOf(toDouble(a), toDouble(b));
  } else {
    return a < b ? kLess : a == b ? kEqual : a > b ? kGreater : kUnordered;
  }
}

struct Comparison {
  std::string_view name;
  uint32_t holds;
  bool isUnsigned = false, isOfFloats = false;
};
constexpr Comparison kComparisons[] = {
    {"eq", kEqual},
    {"ne", kLess | kGreater},
    {"lt", kLess},
    {"le", kLess | kEqual},
    {"gt", kGreater},
    {"ge", kGreater | kEqual},
    {"lo", kLess, true},
    {"ls", kLess | kEqual, true},
    {"hi", kGreater, true},
    {"hs", kGreater | kEqual, true},
    {"equ", kEqual | kUnordered, false, true},
    {"neu", kLess | kGreater | kUnordered, false, true},
    {"ltu", kLess | kUnordered, false, true},
    {"leu", kLess | kEqual | kUnordered, false, true},
    {"gtu", kGreater | kUnordered, false, true},
    {"geu", kGreater | kEqual | kUnordered, false, true},
    {"num", kLess | kEqual | kGreater, false, true},
    {"nan", kUnordered, false, true},
};

// Of Instruction::detail: what holds, how it is combined with from[2], and whether that is negated.
constexpr uint32_t kHolds = 15, kAnd = 16, kOr = 32, kXor = 64, kNegated = 128, kFlushes = 256;

template <typename T>
bool compare(const Instruction& i, uint64_t x, uint64_t y) {
  T a = fromSlot<T>(x), b = fromSlot<T>(y);
  if constexpr (std::is_same_v<T, float>) {
    if (i.detail & kFlushes) {
      a = flushed(a);
      b = flushed(b);
    }
  }
  return (orderOf(a, b) & i.detail & kHolds) != 0;
}

bool combine(const Instruction& i, bool holds, bool other) {
  if (i.detail & kNegated) other = !other;
  if (i.detail & kAnd) return holds && other;
  if (i.detail & kOr) return holds || other;
  if (i.detail & kXor) return holds != other;
  return holds;
}

// setp p|q, a, b, c: p = (a cmp b) op c, q = !(a cmp b) op c.
template <typename T>
void setPredicates(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t *p = c.to(i, 0), *q = i.numTo > 1 ? c.to(i, 1) : nullptr;
  const uint64_t *a = c.from(i, 0), *b = c.from(i, 1), *with = i.numFrom > 2 ? c.from(i, 2) : a;
  forLanes(lanes, [&](int lane) {
    bool holds = compare<T>(i, a[lane], b[lane]), other = with[lane] & 1;
    p[lane] = combine(i, holds, other);
    if (q) q[lane] = combine(i, !holds, other);
  });
}

// Pairs: p is of the lower ones, q of the upper.
template <typename T>
void setPairs(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t *p = c.to(i, 0), *q = i.numTo > 1 ? c.to(i, 1) : nullptr;
  const uint64_t *a = c.from(i, 0), *b = c.from(i, 1);
  forLanes(lanes, [&](int lane) {
    p[lane] = compare<T>(i, a[lane], b[lane]);
    if (q) q[lane] = compare<T>(i, a[lane] >> 16, b[lane] >> 16);
  });
}

// set d, a, b: all ones, or 1.0, where it holds.
template <typename T>
void setValue(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t* d = c.to(i, 0);
  const uint64_t *a = c.from(i, 0), *b = c.from(i, 1), *with = i.numFrom > 2 ? c.from(i, 2) : a;
  uint64_t yes = i.type == Type::kF32 ? std::bit_cast<uint32_t>(1.0f) : 0xffffffffu;
  forLanes(lanes, [&](int lane) {
    bool holds = combine(i, compare<T>(i, a[lane], b[lane]), with[lane] & 1);
    d[lane] = holds ? yes : 0;
  });
}

template <typename T>
Handler comparisonOf(bool hasValue) {
  return hasValue ? &setValue<T> : &setPredicates<T>;
}

Handler comparisonOf(Type type, bool isUnsigned, bool hasValue) {
  switch (type) {
    case Type::kB16:
    case Type::kU16:
      return comparisonOf<uint16_t>(hasValue);
    case Type::kB32:
    case Type::kU32:
      return comparisonOf<uint32_t>(hasValue);
    case Type::kB64:
    case Type::kU64:
      return comparisonOf<uint64_t>(hasValue);
    case Type::kS16:
      return isUnsigned ? nullptr : comparisonOf<int16_t>(hasValue);
    case Type::kS32:
      return isUnsigned ? nullptr : comparisonOf<int32_t>(hasValue);
    case Type::kS64:
      return isUnsigned ? nullptr : comparisonOf<int64_t>(hasValue);
    case Type::kF16:
      return comparisonOf<F16>(hasValue);
    case Type::kBf16:
      return comparisonOf<Bf16>(hasValue);
    case Type::kF32:
      return comparisonOf<float>(hasValue);
    case Type::kF64:
      return comparisonOf<double>(hasValue);
    case Type::kF16x2:
      return hasValue ? nullptr : &setPairs<F16>;
    case Type::kBf16x2:
      return hasValue ? nullptr : &setPairs<Bf16>;
    default:
      return nullptr;
  }
}

void select(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t* d = c.to(i, 0);
  const uint64_t *a = c.from(i, 0), *b = c.from(i, 1), *p = c.from(i, 2);
  forLanes(lanes, [&](int lane) { d[lane] = p[lane] & 1 ? a[lane] : b[lane]; });
}

template <typename T>
void selectBySign(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t* d = c.to(i, 0);
  const uint64_t *a = c.from(i, 0), *b = c.from(i, 1), *by = c.from(i, 2);
  forLanes(lanes, [&](int lane) { d[lane] = fromSlot<T>(by[lane]) >= 0 ? a[lane] : b[lane]; });
}

// testp.what p, a: detail is a set of classes.
constexpr struct {
  std::string_view name;
  uint32_t classes;
} kTests[] = {{"finite", 1 | 2 | 4}, {"infinite", 8}, {"number", 1 | 2 | 4 | 8},
              {"notanumber", 16},    {"normal", 2},   {"subnormal", 4}};
template <typename T>
void test(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t* p = c.to(i, 0);
  const uint64_t* a = c.from(i, 0);
  forLanes(lanes, [&](int lane) {
    int kind = std::fpclassify(fromSlot<T>(a[lane]));
    uint32_t of = kind == FP_ZERO        ? 1
                  : kind == FP_NORMAL    ? 2
                  : kind == FP_SUBNORMAL ? 4
                  : kind == FP_INFINITE  ? 8
                                         : 16;
    p[lane] = (i.detail & of) != 0;
  });
}

bool decodeTest(Spelling& s, Instruction& i) {
  for (const auto& one : kTests) {
    if (s.take(one.name)) i.detail = one.classes;
  }
  i.type = s.takeType();
  i.run = i.type == Type::kF32 ? &test<float> : i.type == Type::kF64 ? &test<double> : nullptr;
  return i.detail && i.run && s.place(i);
}

}  // namespace

bool decodeComparisons(Spelling& s, Instruction& i) {
  std::string_view op = s.op();
  if (op == "selp") {
    i.type = s.takeType();
    i.run = &select;
    return s.place(i);
  }
  if (op == "slct") {
    i.type = s.takeType();
    i.run = s.takeType() == Type::kF32 ? &selectBySign<float> : &selectBySign<int32_t>;
    s.take("ftz");
    return s.place(i);
  }
  if (op == "testp") return decodeTest(s, i);
  if (op != "setp" && op != "set") return false;
  const Comparison* comparison = nullptr;
  for (const Comparison& one : kComparisons) {
    if (!comparison && s.take(one.name)) comparison = &one;
  }
  if (!comparison) return false;
  i.detail = comparison->holds;
  std::string_view with = s.takeOneOf({"and", "or", "xor"});
  i.detail |= with == "and" ? kAnd : with == "or" ? kOr : with == "xor" ? kXor : 0;
  if (s.take("ftz")) i.detail |= kFlushes;
  bool hasValue = op == "set";
  if (hasValue) i.type = s.takeType();
  Type of = s.takeType();
  if (!hasValue) i.type = of;
  if (comparison->isOfFloats && !isFloat(of)) return false;
  bool isPair = of == Type::kF16x2 || of == Type::kBf16x2;
  // Of floats, ne holds of numbers alone, as do lt and the others.
  i.run = comparisonOf(of, comparison->isUnsigned, hasValue);
  if (!with.empty() && (isPair || s.operands.size() != 4)) return false;
  if (!with.empty() && s.operands[3].isNegated) i.detail |= kNegated;
  return i.run && s.place(i);
}

}  // namespace isthmus::ptx

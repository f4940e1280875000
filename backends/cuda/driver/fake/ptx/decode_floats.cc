// Arithmetic of f32 and f64.
#include <limits>

#include "backends/cuda/driver/fake/ptx/lanes.h"
#include "backends/cuda/driver/fake/ptx/spelling.h"

namespace isthmus::ptx {
namespace {

// The manual does not say which NaN f64 gives. One for all, since the host's depends on the order
// of the operands: threads that add two NaNs to each other store the same sum.
template <typename T>
T fixed(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return canonical(value);
  } else {
    return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
  }
}

template <typename T>
struct Add {
  static T apply(T a, T b) { return fixed<T>(a + b); }
};
template <typename T>
struct Sub {
  static T apply(T a, T b) { return fixed<T>(a - b); }
};
template <typename T>
struct Mul {
  static T apply(T a, T b) { return fixed<T>(a * b); }
};
template <typename T>
struct Div {
  static T apply(T a, T b) { return fixed<T>(a / b); }
};
template <typename T>
struct Fma {
  static T apply(T a, T b, T c) { return fixed<T>(std::fma(a, b, c)); }
};
template <typename T>
struct SquareRoot {
  static T apply(T a) { return fixed<T>(std::sqrt(a)); }
};
template <typename T>
struct Reciprocal {
  static T apply(T a) { return fixed<T>(T(1) / a); }
};
template <typename T>
struct ReciprocalRoot {
  static T apply(T a) { return fixed<T>(static_cast<T>(1 / std::sqrt(static_cast<double>(a)))); }
};
template <typename T>
struct Min {
  static T apply(T a, T b) { return fixed<T>(smaller(a, b)); }
};
template <typename T>
struct Max {
  static T apply(T a, T b) { return fixed<T>(larger(a, b)); }
};
template <typename T>
struct MinOrNan {
  static T apply(T a, T b) { return fixed<T>(smallerOrNan(a, b)); }
};
template <typename T>
struct MaxOrNan {
  static T apply(T a, T b) { return fixed<T>(largerOrNan(a, b)); }
};
template <typename T>
struct Abs {
  static T apply(T a) { return std::fabs(a); }
};
template <typename T>
struct Neg {
  static T apply(T a) { return -a; }
};
// The sign of the first on the second.
template <typename T>
struct CopySign {
  static T apply(T a, T b) { return std::copysign(b, a); }
};

float sine(float a) { return canonical(static_cast<float>(std::sin(static_cast<double>(a)))); }
float cosine(float a) { return canonical(static_cast<float>(std::cos(static_cast<double>(a)))); }
float exp2Of(float a) { return canonical(static_cast<float>(std::exp2(static_cast<double>(a)))); }
float log2Of(float a) { return canonical(static_cast<float>(std::log2(static_cast<double>(a)))); }
// No more than what the manual promises: 11 bits.
float tangent(float a) {
  FloatFormat format{11, 8, true};
  return canonical(static_cast<float>(
      decode(encode(std::tanh(static_cast<double>(a)), format, Rounding::kNearest), format)));
}
// By more than 2^126 it is 0, or of infinities NaN.
float quotient(float a, float b) {
  bool isLarge = std::fabs(b) >= 0x1p126f && !std::isinf(b);
  return canonical(isLarge && !std::isnan(a) ? a * std::copysign(0.0f, b) : a / b);
}
// Of doubles, 1/x and 1/sqrt(x) have the upper half alone.
double upperReciprocal(double a) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(1 / a) & 0xffffffff00000000);
}
double upperReciprocalRoot(double a) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(1 / std::sqrt(a)) & 0xffffffff00000000);
}

template <template <typename> class Op>
Handler ofFloats(Type type, bool flushes, bool saturates) {
  if (type == Type::kF32) return eachFloat<&Op<float>::apply>(flushes, saturates);
  if (type == Type::kF64 && !flushes && !saturates) return &each<&Op<double>::apply>;
  return nullptr;
}

// i.inner, with the host rounding as i.detail says.
void rounded(Context& c, const Instruction& i, uint32_t lanes) {
  HostRounding scope(static_cast<Rounding>(i.detail));
  i.inner(c, i, lanes);
}

Handler approximationOf(std::string_view op, Type type, bool flushes, bool isFull) {
  if (type == Type::kF64) {
    if (op == "rcp" && flushes) return &each<&upperReciprocal>;
    if (op == "rsqrt" && flushes) return &each<&upperReciprocalRoot>;
    return op == "rsqrt" ? &each<&ReciprocalRoot<double>::apply> : nullptr;
  }
  if (type != Type::kF32) return nullptr;
  if (op == "sin") return eachFloat<&sine>(flushes, false);
  if (op == "cos") return eachFloat<&cosine>(flushes, false);
  if (op == "ex2") return eachFloat<&exp2Of>(flushes, false);
  if (op == "lg2") return eachFloat<&log2Of>(flushes, false);
  if (op == "tanh") return eachFloat<&tangent>(flushes, false);
  if (op == "rcp") return eachFloat<&Reciprocal<float>::apply>(flushes, false);
  if (op == "rsqrt") return eachFloat<&ReciprocalRoot<float>::apply>(flushes, false);
  if (op == "sqrt") return eachFloat<&SquareRoot<float>::apply>(flushes, false);
  if (op == "div") {
    return isFull ? eachFloat<&Div<float>::apply>(flushes, false)
                  : eachFloat<&quotient>(flushes, false);
  }
  return nullptr;
}

Handler exactOf(std::string_view op, Type type, bool flushes, bool saturates) {
  if (op == "add") return ofFloats<Add>(type, flushes, saturates);
  if (op == "sub") return ofFloats<Sub>(type, flushes, saturates);
  if (op == "mul") return ofFloats<Mul>(type, flushes, saturates);
  if (op == "fma" || op == "mad") return ofFloats<Fma>(type, flushes, saturates);
  if (saturates) return nullptr;
  if (op == "div") return ofFloats<Div>(type, flushes, false);
  if (op == "sqrt") return ofFloats<SquareRoot>(type, flushes, false);
  if (op == "rcp") return ofFloats<Reciprocal>(type, flushes, false);
  return nullptr;
}

}  // namespace

bool decodeFloats(Spelling& s, Instruction& i) {
  std::string_view op = s.op();
  i.type = s.takeType();
  if (i.type != Type::kF32 && i.type != Type::kF64) return false;
  bool flushes = s.take("ftz"), hasRounding = false;
  if (op == "min" || op == "max") {
    bool keepsNan = s.take("NaN");
    i.run = op == "min" ? (keepsNan ? ofFloats<MinOrNan>(i.type, flushes, false)
                                    : ofFloats<Min>(i.type, flushes, false))
                        : (keepsNan ? ofFloats<MaxOrNan>(i.type, flushes, false)
                                    : ofFloats<Max>(i.type, flushes, false));
  } else if (op == "abs") {
    i.run = ofFloats<Abs>(i.type, flushes, false);
  } else if (op == "neg") {
    i.run = ofFloats<Neg>(i.type, flushes, false);
  } else if (op == "copysign") {
    i.run = ofFloats<CopySign>(i.type, flushes, false);
  } else if (std::string_view kind = s.takeOneOf({"approx", "full"}); !kind.empty()) {
    i.run = approximationOf(op, i.type, flushes, kind == "full");
  } else {
    bool saturates = s.take("sat");
    Rounding rounding = s.takeRounding(nullptr, &hasRounding);
    bool needsRounding = op != "add" && op != "sub" && op != "mul";
    if (needsRounding && !hasRounding) return false;
    i.run = exactOf(op, i.type, flushes, saturates);
    if (i.run && rounding != Rounding::kNearest) {
      i.detail = static_cast<uint32_t>(rounding);
      i.inner = i.run;
      i.run = &rounded;
    }
  }
  return i.run && s.place(i);
}

}  // namespace isthmus::ptx

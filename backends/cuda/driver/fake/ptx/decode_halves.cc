// Arithmetic of f16 and bf16, and of pairs of them.
#include "backends/cuda/driver/fake/ptx/lanes.h"
#include "backends/cuda/driver/fake/ptx/spelling.h"

namespace isthmus::ptx {
namespace {

template <typename T>
T narrowed(double value) {
  if constexpr (std::is_same_v<T, F16>) {
    return toF16(value);
  } else {
    return toBf16(value);
  }
}

// Sums and products of two are exact in f64, up to a bit that says so.
double add(double a, double b) { return oddSum(a, b); }
double subtract(double a, double b) { return oddSum(a, -b); }
double multiply(double a, double b) { return a * b; }
double fma(double a, double b, double c) { return oddFma(a, b, c); }
double fmaRelu(double a, double b, double c) {
  double result = oddFma(a, b, c);
  return std::isnan(result) || result > 0 ? result : 0;
}
double exp2Of(double a) { return std::exp2(a); }
// No more than what the manual promises.
double tangent(double a) { return std::tanh(a); }

// to = function(from...) of T, or of the pairs in 32 bits.
template <typename T, auto function, bool arePairs, typename... A, size_t... I>
void eachHalf(Context& c, const Instruction& in, uint32_t lanes, double (*)(A...),
              std::index_sequence<I...>) {
  uint64_t* d = c.to(in, 0);
  const uint64_t* a[] = {c.from(in, I)...};
  auto part = [&](uint64_t slot, int shift) {
    return toDouble(T{static_cast<uint16_t>(slot >> shift)});
  };
  forLanes(lanes, [&](int lane) {
    uint64_t result = narrowed<T>(function(part(a[I][lane], 0)...)).bits;
    if (arePairs) {
      uint64_t upper = narrowed<T>(function(part(a[I][lane], 16)...)).bits;
      result |= upper << 16;
    }
    d[lane] = result;
  });
}
template <typename T, auto function, bool arePairs, typename... A>
void eachHalf(Context& c, const Instruction& in, uint32_t lanes, double (*of)(A...)) {
  eachHalf<T, function, arePairs>(c, in, lanes, of, std::index_sequence_for<A...>());
}
template <typename T, auto function, bool arePairs>
void half(Context& c, const Instruction& in, uint32_t lanes) {
  eachHalf<T, function, arePairs>(c, in, lanes, function);
}

template <auto function>
Handler ofHalves(Type type) {
  switch (type) {
    case Type::kF16:
      return &half<F16, function, false>;
    case Type::kF16x2:
      return &half<F16, function, true>;
    case Type::kBf16:
      return &half<Bf16, function, false>;
    case Type::kBf16x2:
      return &half<Bf16, function, true>;
    default:
      return nullptr;
  }
}

// Signs are bits.
template <bool clears>
void changeSigns(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t* d = c.to(i, 0);
  const uint64_t* a = c.from(i, 0);
  uint64_t signs = i.detail;
  forLanes(lanes, [&](int lane) { d[lane] = clears ? a[lane] & ~signs : a[lane] ^ signs; });
}

Handler functionOf(Spelling& s, Type type) {
  std::string_view op = s.op();
  bool keepsNan = (op == "min" || op == "max") && s.take("NaN");
  if (op == "min")
    return keepsNan ? ofHalves<&smallerOrNan<double>>(type) : ofHalves<&smaller<double>>(type);
  if (op == "max")
    return keepsNan ? ofHalves<&largerOrNan<double>>(type) : ofHalves<&larger<double>>(type);
  if (op == "fma" && s.take("rn")) {
    return s.take("relu") ? ofHalves<&fmaRelu>(type) : ofHalves<&fma>(type);
  }
  if ((op == "ex2" || op == "tanh") && s.take("approx")) {
    return op == "ex2" ? ofHalves<&exp2Of>(type) : ofHalves<&tangent>(type);
  }
  s.take("rn");
  if (op == "add") return ofHalves<&add>(type);
  if (op == "sub") return ofHalves<&subtract>(type);
  if (op == "mul") return ofHalves<&multiply>(type);
  return nullptr;
}

}  // namespace

bool decodeHalves(Spelling& s, Instruction& i) {
  i.type = s.takeType();
  bool isPair = i.type == Type::kF16x2 || i.type == Type::kBf16x2;
  if (!isPair && i.type != Type::kF16 && i.type != Type::kBf16) return false;
  if (s.op() == "neg" || s.op() == "abs") {
    i.detail = isPair ? 0x80008000u : 0x8000u;
    i.run = s.op() == "abs" ? &changeSigns<true> : &changeSigns<false>;
  } else {
    i.run = functionOf(s, i.type);
  }
  return i.run && s.place(i);
}

}  // namespace isthmus::ptx

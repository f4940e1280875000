// Reductions by element type and kind.
#include "runtime/collectives/reduce.h"

#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <cstring>
#include <type_traits>

#include "Eigen/Core"
#include "base/types/float_format.h"

namespace isthmus {
namespace {

constexpr int64_t kBlock = 512;

// Signed sums and products wrap around, which signed types of C++ must not.
template <typename T>
using Wrapping =
    std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

struct Sum {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};
struct Product {
  template <typename T>
  T operator()(T a, T b) const {
    // Through 64 bits: unsigned short is promoted to int, which its square overflows.
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  }
};
// Of numbers that compare equal the bits are equal, or they are zeros: -0 is less than 0. NaNs
// spread. Written as what vector instructions do, which give the second operand unless the first is
// beyond it.
template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
template <typename T>
BitsOf<T> onesIfNan(T a, T b) {
  return __builtin_isunordered(a, b) ? ~BitsOf<T>{0} : 0;
}
struct Min {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      auto first = std::bit_cast<BitsOf<T>>(a < b ? a : b);
      auto second = std::bit_cast<BitsOf<T>>(b < a ? b : a);
      return std::bit_cast<T>(first | second | onesIfNan(a, b));
    }
    return b < a ? b : a;
  }
};
struct Max {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      auto first = std::bit_cast<BitsOf<T>>(a > b ? a : b);
      auto second = std::bit_cast<BitsOf<T>>(b > a ? b : a);
      return std::bit_cast<T>((first & second) | onesIfNan(a, b));
    }
    return a < b ? b : a;
  }
};
struct And {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <typename T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};

// `Load` turns a stored T into what is computed with, `Store` turns that back.
template <typename T, typename Operation, typename Load, typename Store>
void reduceBlocks(std::span<const void* const> inputs, void* output, int64_t elements,
                  Operation operation, Load load, Store store) {
  using Value = std::invoke_result_t<Load, T>;
  std::array<Value, kBlock> values;
  for (int64_t begin = 0; begin < elements; begin += kBlock) {
    int64_t count = std::min(kBlock, elements - begin);
    auto at = [&](const void* input, int64_t i) {
      T stored;
      std::memcpy(&stored, static_cast<const T*>(input) + begin + i, sizeof(T));
      return load(stored);
    };
    // Several at a time, from left to right, so that what there is so far stays in a register.
    std::span<const void* const> rest = inputs;
    auto four = [&](int64_t i, Value sum) {
      sum = operation(operation(sum, at(rest[1], i)), at(rest[2], i));
      return operation(sum, at(rest[3], i));
    };
    if (rest.size() >= 4) {
      const void* const first = rest[0];
      for (int64_t i = 0; i < count; ++i) values[i] = four(i, at(first, i));
      rest = rest.subspan(4);
    } else {
      for (int64_t i = 0; i < count; ++i) values[i] = at(rest[0], i);
      rest = rest.subspan(1);
    }
    for (; rest.size() >= 4; rest = rest.subspan(4)) {
      const void* const first = rest[0];
      for (int64_t i = 0; i < count; ++i) values[i] = four(i, operation(values[i], at(first, i)));
    }
    for (const void* input : rest) {
      for (int64_t i = 0; i < count; ++i) values[i] = operation(values[i], at(input, i));
    }
    for (int64_t i = 0; i < count; ++i) {
      T stored = store(values[i]);
      std::memcpy(static_cast<T*>(output) + begin + i, &stored, sizeof(T));
    }
  }
}

// The same on machines with AVX2, whose registers hold twice as much, for the types that sums are
// mostly of. The results are the same bits.
#if defined(__x86_64__)
template <typename T, typename Operation, typename Load, typename Store>
[[gnu::target("avx2"), gnu::flatten]] void reduceBlocksWide(std::span<const void* const> inputs,
                                                            void* output, int64_t elements,
                                                            Operation operation, Load load,
                                                            Store store) {
  reduceBlocks<T>(inputs, output, elements, operation, load, store);
}
template <typename T>
constexpr bool kMayBeWide = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                            std::is_same_v<T, Eigen::bfloat16> || std::is_same_v<T, int32_t>;
bool hasWideRegisters() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
#endif

struct Reduction {
  ReductionKind kind;
  std::span<const void* const> inputs;
  void* output;
  int64_t elements;

  template <typename T, typename Load, typename Store>
  void ordered(Load load, Store store) const {
    switch (kind) {
      case ReductionKind::kSum:
        return run<T>(Sum(), load, store);
      case ReductionKind::kProduct:
        return run<T>(Product(), load, store);
      case ReductionKind::kMin:
        return run<T>(Min(), load, store);
      default:
        return run<T>(Max(), load, store);
    }
  }

  template <typename T, typename Store>
  void integral(Store store) const {
    auto load = [](T value) { return value; };
    if (kind == ReductionKind::kAnd) return run<T>(And(), load, store);
    if (kind == ReductionKind::kOr) return run<T>(Or(), load, store);
    ordered<T>(load, store);
  }

  template <typename T>
  void integral() const {
    integral<T>([](T value) { return value; });
  }

  template <typename T>
  void floating() const {
    ordered<T>([](T value) { return value; }, [](T value) { return value; });
  }

  template <typename T>
  void half() const {
    ordered<T>([](T value) { return static_cast<float>(value); },
               [](float value) { return static_cast<T>(value); });
  }

  template <typename T>
  void complex() const {
    auto same = [](std::complex<T> value) { return value; };
    if (kind == ReductionKind::kSum) return run<std::complex<T>>(Sum(), same, same);
    run<std::complex<T>>(Product(), same, same);
  }

  void boolean() const {
    auto same = [](uint8_t value) { return value; };
    bool isOr =
        kind == ReductionKind::kSum || kind == ReductionKind::kMax || kind == ReductionKind::kOr;
    if (isOr) return run<uint8_t>(Or(), same, same);
    run<uint8_t>(And(), same, same);
  }

  // Stored one to a byte; what does not fit is cut off and the sign extended again.
  template <typename T, int kBits>
  void narrow() const {
    integral<T>([](T value) {
      auto shifted = static_cast<T>(static_cast<uint8_t>(value) << (8 - kBits));
      return static_cast<T>(shifted >> (8 - kBits));
    });
  }

  void smallFloat(const FloatFormat& format) const {
    std::array<float, 256> decoded;
    for (int i = 0; i < 256; ++i) decoded[i] = decodeFloat(format, i);
    ordered<uint8_t>([&](uint8_t bits) { return decoded[bits]; },
                     [&](float value) { return static_cast<uint8_t>(encodeFloat(format, value)); });
  }

 private:
  template <typename T, typename Operation, typename Load, typename Store>
  void run(Operation operation, Load load, Store store) const {
#if defined(__x86_64__)
    if constexpr (kMayBeWide<T>) {
      if (hasWideRegisters()) {
        return reduceBlocksWide<T>(inputs, output, elements, operation, load, store);
      }
    }
#endif
    reduceBlocks<T>(inputs, output, elements, operation, load, store);
  }
};

bool isComplex(ElementType type) { return type == ElementType::kC64 || type == ElementType::kC128; }

bool isFloating(ElementType type) {
  switch (type) {
    case ElementType::kF16:
    case ElementType::kBF16:
    case ElementType::kF32:
    case ElementType::kF64:
      return true;
    default:
      return floatFormatOf(type) != nullptr;
  }
}

}  // namespace

Status checkReduction(ReductionKind kind, ElementType type) {
  if (elementSizeBytes(type) == 0) {
    return invalidArgument("reduction of elements of type ", elementTypeName(type));
  }
  bool isBitwise = kind == ReductionKind::kAnd || kind == ReductionKind::kOr;
  bool isOrder = kind == ReductionKind::kMin || kind == ReductionKind::kMax;
  if ((isBitwise && (isFloating(type) || isComplex(type))) || (isOrder && isComplex(type))) {
    return unimplemented("reduction by ", isBitwise ? "and/or" : "min/max", " of ",
                         elementTypeName(type));
  }
  return {};
}

void reduceElements(ReductionKind kind, ElementType type, std::span<const void* const> inputs,
                    void* output, int64_t elements) {
  Reduction reduction{kind, inputs, output, elements};
  switch (type) {
    case ElementType::kPred:
      return reduction.boolean();
    case ElementType::kS8:
      return reduction.integral<int8_t>();
    case ElementType::kS16:
      return reduction.integral<int16_t>();
    case ElementType::kS32:
      return reduction.integral<int32_t>();
    case ElementType::kS64:
      return reduction.integral<int64_t>();
    case ElementType::kU8:
      return reduction.integral<uint8_t>();
    case ElementType::kU16:
      return reduction.integral<uint16_t>();
    case ElementType::kU32:
      return reduction.integral<uint32_t>();
    case ElementType::kU64:
      return reduction.integral<uint64_t>();
    case ElementType::kS1:
      return reduction.narrow<int8_t, 1>();
    case ElementType::kS2:
      return reduction.narrow<int8_t, 2>();
    case ElementType::kS4:
      return reduction.narrow<int8_t, 4>();
    case ElementType::kU1:
      return reduction.narrow<uint8_t, 1>();
    case ElementType::kU2:
      return reduction.narrow<uint8_t, 2>();
    case ElementType::kU4:
      return reduction.narrow<uint8_t, 4>();
    case ElementType::kF16:
      return reduction.half<Eigen::half>();
    case ElementType::kBF16:
      return reduction.half<Eigen::bfloat16>();
    case ElementType::kF32:
      return reduction.floating<float>();
    case ElementType::kF64:
      return reduction.floating<double>();
    case ElementType::kC64:
      return reduction.complex<float>();
    case ElementType::kC128:
      return reduction.complex<double>();
    default:
      break;
  }
  if (const FloatFormat* format = floatFormatOf(type)) reduction.smallFloat(*format);
}

}  // namespace isthmus

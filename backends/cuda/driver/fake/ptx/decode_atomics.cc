// atom and red: what threads change together.
#include <algorithm>

#include "backends/cuda/driver/fake/ptx/lanes.h"
#include "backends/cuda/driver/fake/ptx/spelling.h"

namespace isthmus::ptx {
namespace {

// What becomes of `old` by b, and by c.
template <typename T>
using Update = T (*)(T old, T b, T c);

template <typename T>
T add(T old, T b, T) {
  if constexpr (std::is_same_v<T, F16>) {
    return toF16(oddSum(toDouble(old), toDouble(b)));
  } else if constexpr (std::is_same_v<T, Bf16>) {
    return toBf16(oddSum(toDouble(old), toDouble(b)));
  } else if constexpr (std::is_same_v<T, float>) {
    return canonical(old + b);
  } else if constexpr (std::is_same_v<T, double>) {
    return old + b;
  } else {
    return static_cast<T>(static_cast<uint64_t>(old) + static_cast<uint64_t>(b));
  }
}
template <typename T>
uint32_t addPairs(uint32_t old, uint32_t b, uint32_t) {
  uint32_t result = 0;
  for (int shift : {0, 16}) {
    T sum = add(T{static_cast<uint16_t>(old >> shift)}, T{static_cast<uint16_t>(b >> shift)}, T{});
    result |= static_cast<uint32_t>(sum.bits) << shift;
  }
  return result;
}
template <typename T>
T least(T old, T b, T) {
  return std::min(old, b);
}
template <typename T>
T most(T old, T b, T) {
  return std::max(old, b);
}
template <typename T>
T both(T old, T b, T) {
  return static_cast<T>(old & b);
}
template <typename T>
T either(T old, T b, T) {
  return static_cast<T>(old | b);
}
template <typename T>
T different(T old, T b, T) {
  return static_cast<T>(old ^ b);
}
template <typename T>
T exchange(T, T b, T) {
  return b;
}
template <typename T>
T exchangeIf(T old, T b, T c) {
  return old == b ? c : old;
}
uint32_t increment(uint32_t old, uint32_t b, uint32_t) { return old >= b ? 0 : old + 1; }
uint32_t decrement(uint32_t old, uint32_t b, uint32_t) { return old == 0 || old > b ? b : old - 1; }

template <typename T, Update<T> update>
void atomic(Context& c, const Instruction& i, uint32_t lanes) {
  const uint64_t *base = c.from(i, 0), *b = c.from(i, 1), *with = c.from(i, i.numFrom > 2 ? 2 : 1);
  uint64_t* d = i.numTo > 0 ? c.to(i, 0) : nullptr;
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    int lane = std::countr_zero(rest);
    uint64_t address = base[lane] + static_cast<uint64_t>(i.offset);
    char* data = c.address(i.space, address, sizeof(T), lane, Access::kAtomic, i);
    if (!data) return;
    T old;
    std::memcpy(&old, data, sizeof(T));
    T updated = update(old, fromSlot<T>(b[lane]), fromSlot<T>(with[lane]));
    std::memcpy(data, &updated, sizeof(T));
    if (d) d[lane] = toSlot(old);
  }
}

// Neighbours, each by itself; the address is a multiple of what they take together.
void addNeighbours(Context& c, const Instruction& i, uint32_t lanes) {
  const uint64_t* base = c.from(i, 0);
  const size_t count = i.numFrom - 1u;
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    int lane = std::countr_zero(rest);
    uint64_t address = base[lane] + static_cast<uint64_t>(i.offset);
    char* data = c.address(i.space, address, count * sizeof(float), lane, Access::kAtomic, i);
    if (!data) return;
    for (size_t n = 0; n < count; ++n) {
      float old;
      std::memcpy(&old, data + n * sizeof(float), sizeof(float));
      float updated = canonical(old + fromSlot<float>(c.from(i, n + 1)[lane]));
      std::memcpy(data + n * sizeof(float), &updated, sizeof(float));
    }
  }
}

template <typename T>
Handler ofIntegers(std::string_view op) {
  if (op == "add") return &atomic<T, &add<T>>;
  if (op == "min") return &atomic<T, &least<T>>;
  if (op == "max") return &atomic<T, &most<T>>;
  return nullptr;
}
template <typename T>
Handler ofBits(std::string_view op) {
  if (op == "and") return &atomic<T, &both<T>>;
  if (op == "or") return &atomic<T, &either<T>>;
  if (op == "xor") return &atomic<T, &different<T>>;
  if (op == "exch") return &atomic<T, &exchange<T>>;
  if (op == "cas") return &atomic<T, &exchangeIf<T>>;
  return nullptr;
}

Handler updateOf(std::string_view op, Type type) {
  switch (type) {
    case Type::kB16:
      return op == "cas" ? &atomic<uint16_t, &exchangeIf<uint16_t>> : nullptr;
    case Type::kB32:
      return ofBits<uint32_t>(op);
    case Type::kB64:
      return ofBits<uint64_t>(op);
    case Type::kU32:
      if (op == "inc") return &atomic<uint32_t, &increment>;
      if (op == "dec") return &atomic<uint32_t, &decrement>;
      return ofIntegers<uint32_t>(op);
    case Type::kS32:
      return ofIntegers<int32_t>(op);
    case Type::kU64:
      return ofIntegers<uint64_t>(op);
    case Type::kS64:
      return op == "add" ? nullptr : ofIntegers<int64_t>(op);
    case Type::kF32:
      return op == "add" ? &atomic<float, &add<float>> : nullptr;
    case Type::kF64:
      return op == "add" ? &atomic<double, &add<double>> : nullptr;
    default:
      return nullptr;
  }
}

Handler addOfHalves(Type type) {
  switch (type) {
    case Type::kF16:
      return &atomic<F16, &add<F16>>;
    case Type::kF16x2:
      return &atomic<uint32_t, &addPairs<F16>>;
    case Type::kBf16:
      return &atomic<Bf16, &add<Bf16>>;
    case Type::kBf16x2:
      return &atomic<uint32_t, &addPairs<Bf16>>;
    default:
      return nullptr;
  }
}

}  // namespace

bool decodeAtomics(Spelling& s, Instruction& i) {
  bool hasResult = s.op() == "atom";
  if ((!hasResult && s.op() != "red") || s.operands.size() < (hasResult ? 3u : 2u)) return false;
  const Operand& address = s.operands[hasResult ? 1 : 0];
  if (!takeSpace(s, address, i.space)) return false;
  i.offset = address.offset;
  s.takeOneOf({"relaxed", "acquire", "release", "acq_rel"});
  s.takeOneOf({"cta", "gpu", "sys", "cluster"});
  std::string_view op =
      s.takeOneOf({"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"});
  bool isHalf = op == "add" && s.take("noftz");
  std::string_view vector = s.takeOneOf({"v2", "v4"});
  i.type = s.takeType();
  if (!vector.empty()) {
    i.run = &addNeighbours;
    return !hasResult && op == "add" && i.type == Type::kF32 && i.space == Space::kGlobal &&
           s.operands.size() == 2 && s.place(i, false) &&
           i.numFrom == 1 + static_cast<size_t>(vector[1] - '0');
  }
  i.run = isHalf ? addOfHalves(i.type) : updateOf(op, i.type);
  size_t expected = (hasResult ? 3u : 2u) + (op == "cas" ? 1u : 0u);
  return i.run && s.operands.size() == expected && s.place(i, hasResult);
}

}  // namespace isthmus::ptx

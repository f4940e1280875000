// mma.sync and ldmatrix: matrices that a warp has in pieces, as the manual lays them out.
#include <algorithm>
#include <array>
#include <vector>

#include "backends/cuda/driver/fake/ptx/lanes.h"
#include "backends/cuda/driver/fake/ptx/spelling.h"

namespace isthmus::ptx {
namespace {

struct Place {
  int row, column;
};

// "Matrix fragments for mma" of the manual. A lane's elements of a are numbered through its
// registers; `perRegister` of them, next to each other along k, are in each. The registers of a go
// through both halves of the rows, then on along k.
Place placeOfA(int lane, int element, int perRegister) {
  int group = lane / 4, inGroup = lane % 4;
  int number = element / perRegister, part = element % perRegister;
  return {group + 8 * (number % 2), (number / 2) * 4 * perRegister + inGroup * perRegister + part};
}
Place placeOfB(int lane, int element, int perRegister) {
  int group = lane / 4, inGroup = lane % 4;
  int number = element / perRegister, part = element % perRegister;
  return {number * 4 * perRegister + inGroup * perRegister + part, group};
}
Place placeOfC(int lane, int element) {
  return {lane / 4 + 8 * (element / 2), (lane % 4) * 2 + element % 2};
}
// m8n8k4 of f64 has no second half of the rows.
Place smallPlaceOfA(int lane) { return {lane / 4, lane % 4}; }

int bitsOf(Type type) { return type == Type::kF16 || type == Type::kBf16 ? 16 : bytesOf(type) * 8; }

// Element `element` of those that begin in `from[first]`, as f64.
double valueOf(const Context& c, const Instruction& i, size_t first, Type type, int element,
               int lane) {
  int bits = bitsOf(type), perRegister = std::max(1, 32 / bits);
  if (type == Type::kF64) perRegister = 1;
  uint64_t slot = c.from(i, first + static_cast<size_t>(element / perRegister))[lane];
  auto part = static_cast<uint32_t>(slot >> (element % perRegister * bits));
  switch (type) {
    case Type::kF16:
      return toDouble(F16{static_cast<uint16_t>(part)});
    case Type::kBf16:
      return toDouble(Bf16{static_cast<uint16_t>(part)});
    case Type::kTf32:
      // The lower bits are not read.
      return static_cast<double>(std::bit_cast<float>(part & 0xffffe000));
    case Type::kF32:
      return static_cast<double>(std::bit_cast<float>(part));
    case Type::kF64:
      return std::bit_cast<double>(slot);
    case Type::kS8:
      return static_cast<int8_t>(part);
    case Type::kU8:
      return static_cast<uint8_t>(part);
    case Type::kS32:
      return static_cast<int32_t>(part);
    default:
      return 0;
  }
}

// Of Instruction::detail: k, and the flag for saturation. Instruction::type is a's; b's type, c's
// and d's are in kTypes of `target`.
constexpr uint32_t kSize = 0xff, kSaturates = 0x100, kIsSmall = 0x200;
struct Types {
  Type a = Type::kNone, b = Type::kNone, c = Type::kNone, d = Type::kNone;
};
Types typesOf(const Instruction& i) {
  auto at = [&](int n) { return static_cast<Type>(i.target >> (8 * n) & 0xff); };
  return {at(0), at(1), at(2), i.type};
}

struct Matrices {
  double a[16][64], b[64][8], c[16][8];
};

void gather(const Context& c, const Instruction& i, const Types& types, int k, Matrices& m) {
  bool isSmall = i.detail & kIsSmall;
  int rows = isSmall ? 8 : 16;
  int ofA = rows * k / kWarpLanes, ofB = 8 * k / kWarpLanes, ofC = rows * 8 / kWarpLanes;
  auto registersOf = [](Type type, int elements) {
    int bits = bitsOf(type);
    return static_cast<size_t>(bits == 64 ? elements : elements * bits / 32);
  };
  auto perRegister = [](Type type) { return std::max(1, 32 / bitsOf(type)); };
  size_t firstB = registersOf(types.a, ofA), firstC = firstB + registersOf(types.b, ofB);
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    for (int e = 0; e < ofA; ++e) {
      Place p = isSmall ? smallPlaceOfA(lane) : placeOfA(lane, e, perRegister(types.a));
      m.a[p.row][p.column] = valueOf(c, i, 0, types.a, e, lane);
    }
    for (int e = 0; e < ofB; ++e) {
      Place p = placeOfB(lane, e, perRegister(types.b));
      m.b[p.row][p.column] = valueOf(c, i, firstB, types.b, e, lane);
    }
    for (int e = 0; e < ofC; ++e) {
      Place p = placeOfC(lane, e);
      m.c[p.row][p.column] = valueOf(c, i, firstC, types.c, e, lane);
    }
  }
}

int32_t wholeOf(double sum, bool saturates) {
  if (saturates) sum = std::clamp(sum, -2147483648.0, 2147483647.0);
  return static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(sum)));
}

// d = a * b + c, summed in f64 and rounded once.
void multiply(Context& c, const Instruction& i, uint32_t) {
  Types types = typesOf(i);
  int k = static_cast<int>(i.detail & kSize), rows = i.detail & kIsSmall ? 8 : 16;
  Matrices m;
  gather(c, i, types, k, m);
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    uint64_t halves = 0;
    for (int e = 0; e < rows * 8 / kWarpLanes; ++e) {
      Place p = placeOfC(lane, e);
      double sum = m.c[p.row][p.column];
      for (int s = 0; s < k; ++s) sum += m.a[p.row][s] * m.b[s][p.column];
      auto number = static_cast<size_t>(e);
      if (types.d == Type::kF16) {
        halves = e % 2 ? halves | uint64_t{toF16(sum).bits} << 16 : toF16(sum).bits;
        c.to(i, number / 2)[lane] = halves;
      } else if (types.d == Type::kF32) {
        c.to(i, number)[lane] = toSlot(canonical(static_cast<float>(sum)));
      } else if (types.d == Type::kF64) {
        c.to(i, number)[lane] = toSlot(sum);
      } else {
        c.to(i, number)[lane] = toSlot(wholeOf(sum, i.detail & kSaturates));
      }
    }
  }
}

// Each lane of the first 8 (16, 32) has the address of a row of 16 bytes.
void loadMatrices(Context& c, const Instruction& i, uint32_t lanes) {
  const uint64_t* base = c.from(i, 0);
  size_t count = i.numTo;
  bool isTransposed = i.detail;
  std::vector<std::array<uint16_t, 64>> matrices(count);
  for (size_t n = 0; n < count * 8; ++n) {
    auto lane = static_cast<int>(n);
    uint64_t address = base[n] + static_cast<uint64_t>(i.offset);
    const char* row = c.address(i.space, address, 16, lane, Access::kRead, i);
    if (!row) return;
    std::memcpy(&matrices[n / 8][n % 8 * 8], row, 16);
  }
  for (size_t n = 0; n < count; ++n) {
    uint64_t* d = c.to(i, n);
    forLanes(lanes, [&](int lane) {
      uint32_t pair = 0;
      for (int half = 0; half < 2; ++half) {
        int row = lane / 4, column = lane % 4 * 2 + half;
        uint32_t value =
            matrices[n][static_cast<size_t>(isTransposed ? column * 8 + row : row * 8 + column)];
        pair |= value << (16 * half);
      }
      d[lane] = pair;
    });
  }
}

bool decodeLoad(Spelling& s, Instruction& i) {
  if (!s.take("sync") || !s.take("aligned") || !s.take("m8n8") || s.operands.size() != 2)
    return false;
  std::string_view count = s.takeOneOf({"x1", "x2", "x4"});
  i.detail = s.take("trans");
  if (!takeSpace(s, s.operands[1], i.space)) return false;
  i.offset = s.operands[1].offset;
  i.run = &loadMatrices;
  i.kind = Kind::kTogether;
  i.isAligned = true;
  return !count.empty() && s.takeType() == Type::kB16 && s.place(i) && i.numTo == count[1] - '0';
}

struct Shape {
  std::string_view name;
  int rows, k;
  std::vector<Type> types;  // of a and b
};
const std::vector<Shape>& shapes() {
  static const auto& all = *new std::vector<Shape>{
      {"m8n8k4", 8, 4, {Type::kF64}},
      {"m16n8k4", 16, 4, {Type::kTf32, Type::kF64}},
      {"m16n8k8", 16, 8, {Type::kF16, Type::kBf16, Type::kTf32, Type::kF64}},
      {"m16n8k16", 16, 16, {Type::kF16, Type::kBf16, Type::kF64, Type::kS8, Type::kU8}},
      {"m16n8k32", 16, 32, {Type::kS8, Type::kU8}},
  };
  return all;
}

}  // namespace

bool decodeMatrices(Spelling& s, Instruction& i) {
  if (s.op() == "ldmatrix") return decodeLoad(s, i);
  if (s.op() != "mma" || !s.take("sync") || !s.take("aligned")) return false;
  const Shape* shape = nullptr;
  for (const Shape& one : shapes()) {
    if (s.take(one.name)) shape = &one;
  }
  if (!shape || !s.take("row") || !s.take("col")) return false;
  if (s.take("satfinite")) i.detail |= kSaturates;
  i.type = s.takeType();
  Types types{s.takeType(), s.takeType(), s.takeType(), i.type};
  for (Type type : {types.a, types.b}) {
    if (std::find(shape->types.begin(), shape->types.end(), type) == shape->types.end())
      return false;
  }
  bool areBytes = types.a == Type::kS8 || types.a == Type::kU8;
  if (!areBytes && types.a != types.b) return false;
  Type sums = types.a == Type::kF64 ? Type::kF64 : areBytes ? Type::kS32 : Type::kF32;
  auto isSum = [&](Type type) {
    return type == sums || (types.a == Type::kF16 && type == Type::kF16);
  };
  if (!isSum(types.c) || !isSum(types.d)) return false;
  i.target =
      static_cast<int>(types.a) | static_cast<int>(types.b) << 8 | static_cast<int>(types.c) << 16;
  i.detail |= static_cast<uint32_t>(shape->k) | (shape->rows == 8 ? kIsSmall : 0);
  i.run = &multiply;
  i.kind = Kind::kTogether;
  i.isAligned = true;
  return s.operands.size() == 4 && s.place(i);
}

}  // namespace isthmus::ptx

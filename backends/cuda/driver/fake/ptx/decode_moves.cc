// Moves between registers, and addresses between spaces.
#include "backends/cuda/driver/fake/ptx/lanes.h"
#include "backends/cuda/driver/fake/ptx/spelling.h"

namespace isthmus::ptx {
namespace {

void move(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t* d = c.to(i, 0);
  const uint64_t* a = c.from(i, 0);
  forLanes(lanes, [&](int lane) { d[lane] = a[lane] + static_cast<uint64_t>(i.offset); });
}

// Parts of `detail` bits, the lowest first.
void pack(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t* d = c.to(i, 0);
  uint64_t mask = (uint64_t{1} << i.detail) - 1;
  forLanes(lanes, [&](int lane) {
    uint64_t result = 0;
    for (size_t n = 0; n < i.numFrom; ++n) {
      result |= (c.from(i, n)[lane] & mask) << (n * i.detail);
    }
    d[lane] = result;
  });
}
void unpack(Context& c, const Instruction& i, uint32_t lanes) {
  const uint64_t* a = c.from(i, 0);
  uint64_t mask = (uint64_t{1} << i.detail) - 1;
  forLanes(lanes, [&](int lane) {
    uint64_t whole = a[lane];
    for (size_t n = 0; n < i.numTo; ++n) c.to(i, n)[lane] = (whole >> (n * i.detail)) & mask;
  });
}

uint64_t windowOf(Space space) {
  return space == Space::kShared ? kSharedWindow : space == Space::kLocal ? kLocalWindow : 0;
}
void toGeneric(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t* d = c.to(i, 0);
  const uint64_t* a = c.from(i, 0);
  uint64_t window = windowOf(i.space), offset = static_cast<uint64_t>(i.offset);
  bool isNarrow = i.type == Type::kU32;
  forLanes(lanes, [&](int lane) {
    d[lane] = window + (isNarrow ? static_cast<uint32_t>(a[lane]) : a[lane]) + offset;
  });
}
void fromGeneric(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t* d = c.to(i, 0);
  const uint64_t* a = c.from(i, 0);
  forLanes(lanes, [&](int lane) { d[lane] = a[lane] - windowOf(i.space); });
}
void isInSpace(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t* p = c.to(i, 0);
  const uint64_t* a = c.from(i, 0);
  forLanes(lanes, [&](int lane) {
    uint64_t window = a[lane] & ~(kSharedWindow - 1);
    p[lane] = window == windowOf(i.space);
  });
}

Space spaceOf(std::string_view name) {
  if (name == "shared" || name == "shared::cta") return Space::kShared;
  return name == "local" ? Space::kLocal : Space::kGlobal;
}

bool decodeMove(Spelling& s, Instruction& i) {
  i.type = s.takeType();
  if (i.type == Type::kNone || s.operands.size() != 2) return false;
  bool packs = s.operands[1].kind == Operand::Kind::kVector;
  bool unpacks = s.operands[0].kind == Operand::Kind::kVector;
  if (packs == unpacks) {
    i.run = &move;
    i.offset = s.operands[1].offset;
    return !packs && s.place(i);
  }
  size_t parts = s.operands[packs ? 1 : 0].elements.size();
  if (parts < 2 || parts > 8 || i.type == Type::kB128) return false;
  i.detail = static_cast<uint32_t>(static_cast<size_t>(bytesOf(i.type)) * 8 / parts);
  i.run = packs ? &pack : &unpack;
  return s.place(i);
}

}  // namespace

bool decodeMoves(Spelling& s, Instruction& i) {
  std::string_view op = s.op();
  if (op == "mov") return decodeMove(s, i);
  if (op == "cvta") {
    bool isTo = s.take("to");
    std::string_view space = s.takeOneOf({"global", "shared", "shared::cta", "local", "const"});
    if (space.empty()) return false;
    i.space = spaceOf(space);
    i.type = s.takeType();
    i.run = isTo ? &fromGeneric : &toGeneric;
    if (s.operands.size() == 2) i.offset = s.operands[1].offset;
    if (isTo && i.offset) return false;
    return s.place(i);
  }
  if (op == "isspacep") {
    std::string_view space = s.takeOneOf({"global", "shared", "shared::cta", "local"});
    if (space.empty()) return false;
    i.space = spaceOf(space);
    i.run = &isInSpace;
    return s.place(i);
  }
  return false;
}

}  // namespace isthmus::ptx

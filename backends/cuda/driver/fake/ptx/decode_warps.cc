// What lanes of a warp do together: shuffles, votes, barriers.
#include <algorithm>
#include <bit>

#include "backends/cuda/driver/fake/ptx/lanes.h"
#include "backends/cuda/driver/fake/ptx/spelling.h"

namespace isthmus::ptx {
namespace {

// What a lane reads from one that does not take part.
constexpr uint32_t kNobodys = 0xffffffff;

enum class Mode : uint32_t { kUp, kDown, kButterfly, kIndex };

// As the manual's table has it: from[1] is b, from[2] is c.
void shuffle(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t *d = c.to(i, 0), *p = i.numTo > 1 ? c.to(i, 1) : nullptr;
  const uint64_t *a = c.from(i, 0), *b = c.from(i, 1), *clamp = c.from(i, 2);
  uint64_t results[kWarpLanes];
  forLanes(lanes, [&](int lane) {
    auto by = static_cast<int>(b[lane] & 31), limit = static_cast<int>(clamp[lane] & 31),
         segment = static_cast<int>(clamp[lane] >> 8 & 31);
    int last = (lane & segment) | (limit & ~segment), first = lane & segment;
    int from = lane;
    bool isIn = false;
    switch (static_cast<Mode>(i.detail)) {
      case Mode::kUp:
        from = lane - by;
        isIn = from >= last;
        break;
      case Mode::kDown:
        from = lane + by;
        isIn = from <= last;
        break;
      case Mode::kButterfly:
        from = lane ^ by;
        isIn = from <= last;
        break;
      case Mode::kIndex:
        from = first | (by & ~segment);
        isIn = from <= last;
        break;
    }
    if (!isIn) from = lane;
    results[lane] = lanes >> from & 1 ? a[from] & 0xffffffff : kNobodys;
    if (p) p[lane] = isIn;
  });
  forLanes(lanes, [&](int lane) { d[lane] = results[lane]; });
}

enum class Vote : uint32_t { kAll, kAny, kUniform, kBallot };

void vote(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t* d = c.to(i, 0);
  const uint64_t* p = c.from(i, 0);
  uint32_t ballot = 0;
  bool isNegated = i.type == Type::kNone;
  forLanes(lanes,
           [&](int lane) { ballot |= static_cast<uint32_t>((p[lane] & 1) != isNegated) << lane; });
  uint64_t result = 0;
  switch (static_cast<Vote>(i.detail)) {
    case Vote::kAll:
      result = ballot == lanes;
      break;
    case Vote::kAny:
      result = ballot != 0;
      break;
    case Vote::kUniform:
      result = ballot == lanes || ballot == 0;
      break;
    case Vote::kBallot:
      result = ballot;
      break;
  }
  forLanes(lanes, [&](int lane) { d[lane] = result; });
}

// detail: bits of the value; whether all must be equal.
template <typename T, bool all>
void match(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t *d = c.to(i, 0), *p = i.numTo > 1 ? c.to(i, 1) : nullptr;
  const uint64_t* a = c.from(i, 0);
  uint32_t results[kWarpLanes];
  forLanes(lanes, [&](int lane) {
    uint32_t equal = 0;
    forLanes(lanes, [&](int other) {
      equal |= static_cast<uint32_t>(fromSlot<T>(a[lane]) == fromSlot<T>(a[other])) << other;
    });
    results[lane] = all && equal != lanes ? 0 : equal;
  });
  forLanes(lanes, [&](int lane) {
    d[lane] = results[lane];
    if (p) p[lane] = results[lane] != 0;
  });
}

template <typename T>
T add(T a, T b) {
  return static_cast<T>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
template <typename T>
T least(T a, T b) {
  return std::min(a, b);
}
template <typename T>
T most(T a, T b) {
  return std::max(a, b);
}
uint32_t both(uint32_t a, uint32_t b) { return a & b; }
uint32_t either(uint32_t a, uint32_t b) { return a | b; }
uint32_t different(uint32_t a, uint32_t b) { return a ^ b; }

template <typename T, T (*combine)(T, T)>
void reduce(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t* d = c.to(i, 0);
  const uint64_t* a = c.from(i, 0);
  T result = fromSlot<T>(a[std::countr_zero(lanes)]);
  forLanes(lanes & (lanes - 1), [&](int lane) { result = combine(result, fromSlot<T>(a[lane])); });
  forLanes(lanes, [&](int lane) { d[lane] = toSlot(result); });
}

Handler reductionOf(std::string_view op, Type type) {
  if (type == Type::kB32) {
    if (op == "and") return &reduce<uint32_t, &both>;
    if (op == "or") return &reduce<uint32_t, &either>;
    if (op == "xor") return &reduce<uint32_t, &different>;
  } else if (type == Type::kS32) {
    if (op == "add") return &reduce<int32_t, &add<int32_t>>;
    if (op == "min") return &reduce<int32_t, &least<int32_t>>;
    if (op == "max") return &reduce<int32_t, &most<int32_t>>;
  } else if (type == Type::kU32) {
    if (op == "add") return &reduce<uint32_t, &add<uint32_t>>;
    if (op == "min") return &reduce<uint32_t, &least<uint32_t>>;
    if (op == "max") return &reduce<uint32_t, &most<uint32_t>>;
  }
  return nullptr;
}

void orderLanes(Context& c, const Instruction&, uint32_t lanes) { c.orderLanes(lanes); }

void activeLanes(Context& c, const Instruction& i, uint32_t lanes) {
  uint64_t* d = c.to(i, 0);
  forLanes(lanes, [&](int lane) { d[lane] = lanes; });
}

// The last operand names who takes part.
bool placeTogether(Spelling& s, Instruction& i) {
  i.kind = Kind::kTogether;
  if (!s.place(i) || i.numFrom < 2) return false;
  i.member = static_cast<int8_t>(i.numFrom - 1);
  return true;
}

bool decodeBarrier(Spelling& s, Instruction& i) {
  if (s.take("warp")) {
    if (!s.take("sync") || s.operands.size() != 1) return false;
    i.kind = Kind::kTogether;
    i.run = &orderLanes;
    i.member = 0;
    return s.place(i, false);
  }
  bool isAligned = s.op() == "bar";
  s.take("cta");
  if (!s.take("sync")) return false;
  if (s.take("aligned")) isAligned = true;
  s.take("all");
  // All threads of the block: no count.
  if (s.operands.size() != 1) return false;
  i.kind = Kind::kBarrier;
  i.isAligned = isAligned;
  return s.place(i, false);
}

}  // namespace

bool decodeWarps(Spelling& s, Instruction& i) {
  std::string_view op = s.op();
  if (op == "bar" || op == "barrier") return decodeBarrier(s, i);
  if (op == "activemask") {
    s.takeType();
    i.run = &activeLanes;
    return s.place(i);
  }
  if ((op != "shfl" && op != "vote" && op != "match" && op != "redux") || !s.take("sync")) {
    return false;
  }
  if (op == "shfl") {
    std::string_view mode = s.takeOneOf({"up", "down", "bfly", "idx"});
    i.detail = static_cast<uint32_t>(mode == "up"     ? Mode::kUp
                                     : mode == "down" ? Mode::kDown
                                     : mode == "bfly" ? Mode::kButterfly
                                                      : Mode::kIndex);
    i.type = s.takeType();
    i.run = &shuffle;
    return !mode.empty() && i.type == Type::kB32 && placeTogether(s, i) && i.numFrom == 4;
  }
  if (op == "vote") {
    std::string_view mode = s.takeOneOf({"all", "any", "uni", "ballot"});
    i.detail = static_cast<uint32_t>(mode == "all"   ? Vote::kAll
                                     : mode == "any" ? Vote::kAny
                                     : mode == "uni" ? Vote::kUniform
                                                     : Vote::kBallot);
    i.type = s.takeType();
    if (s.operands.size() != 3) return false;
    if (s.operands[1].isNegated) i.type = Type::kNone;
    i.run = &vote;
    return !mode.empty() && placeTogether(s, i);
  }
  if (op == "match") {
    bool all = s.take("all"), any = s.take("any"), isWide = s.takeType() == Type::kB64;
    i.run = all ? (isWide ? &match<uint64_t, true> : &match<uint32_t, true>)
                : (isWide ? &match<uint64_t, false> : &match<uint32_t, false>);
    return all != any && placeTogether(s, i);
  }
  std::string_view by = s.takeOneOf({"add", "min", "max", "and", "or", "xor"});
  i.type = s.takeType();
  i.run = reductionOf(by, i.type);
  return i.run && placeTogether(s, i);
}

}  // namespace isthmus::ptx

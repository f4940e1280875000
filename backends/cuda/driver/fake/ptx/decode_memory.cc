// Loads, stores, and copies that are under way.
#include <algorithm>

#include "backends/cuda/driver/fake/ptx/lanes.h"
#include "backends/cuda/driver/fake/ptx/spelling.h"

namespace isthmus::ptx {
namespace {

void load(Context& c, const Instruction& i, uint32_t lanes) {
  const uint64_t* base = c.from(i, 0);
  auto size = static_cast<size_t>(bytesOf(i.type)), count = static_cast<size_t>(i.numTo);
  bool extendsSign = isSigned(i.type);
  Access access = i.detail ? Access::kReadOnly : Access::kRead;
  // Registers of the address may be overwritten.
  uint64_t addresses[kWarpLanes];
  forLanes(lanes,
           [&](int lane) { addresses[lane] = base[lane] + static_cast<uint64_t>(i.offset); });
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    int lane = std::countr_zero(rest);
    const char* data = c.address(i.space, addresses[lane], size * count, lane, access, i);
    if (!data) return;
    for (size_t n = 0; n < count; ++n, data += size) {
      uint64_t value = 0;
      std::memcpy(&value, data, size);
      if (extendsSign) {
        auto unused = static_cast<int>(64 - size * 8);
        value = static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
      }
      c.to(i, n)[lane] = value;
    }
  }
}

void store(Context& c, const Instruction& i, uint32_t lanes) {
  const uint64_t* base = c.from(i, 0);
  auto size = static_cast<size_t>(bytesOf(i.type));
  size_t count = static_cast<size_t>(i.numFrom) - 1;
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    int lane = std::countr_zero(rest);
    char value[64];
    for (size_t n = 0; n < count; ++n) {
      std::memcpy(value + n * size, &c.from(i, n + 1)[lane], size);
    }
    uint64_t address = base[lane] + static_cast<uint64_t>(i.offset);
    char* data = c.address(i.space, address, size * count, lane, Access::kWrite, i, value);
    if (!data) return;
    std::memcpy(data, value, size * count);
  }
}

void nothing(Context&, const Instruction&, uint32_t) {}

// from: to, from, bytes, and bytes that are read if they are fewer.
void copyAsync(Context& c, const Instruction& i, uint32_t lanes) {
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    int lane = std::countr_zero(rest);
    AsyncCopies::Copy copy;
    copy.to = c.from(i, 0)[lane] + static_cast<uint64_t>(i.offset);
    copy.from = c.from(i, 1)[lane] + static_cast<uint64_t>(i.secondOffset);
    copy.filled = static_cast<uint32_t>(c.from(i, 2)[lane]);
    copy.bytes = i.numFrom > 3 ? std::min(static_cast<uint32_t>(c.from(i, 3)[lane]), copy.filled)
                               : copy.filled;
    copy.instruction = &i;
    // Nobody may look at the bytes until it is done: they are no number until then.
    char* data = c.address(Space::kShared, copy.to, copy.filled, lane, Access::kWrite, i);
    if (!data) return;
    std::memset(data, 0xff, copy.filled);
    c.copies(lane).open.push_back(copy);
  }
}

void commit(Context& c, const Instruction&, uint32_t lanes) {
  forLanes(lanes, [&](int lane) {
    AsyncCopies& copies = c.copies(lane);
    copies.groups.push_back(std::move(copies.open));
    copies.open.clear();
  });
}

bool finish(Context& c, int lane, const std::vector<AsyncCopies::Copy>& group) {
  for (const AsyncCopies::Copy& copy : group) {
    const Instruction& i = *copy.instruction;
    char value[16] = {};
    if (copy.bytes > 0) {
      if (copy.from % copy.filled != 0) {
        c.fail(Fault::Code::kMisaligned, i, lane, "the source is not aligned");
        return false;
      }
      const char* from = c.address(Space::kGlobal, copy.from, copy.bytes, lane, Access::kAsync, i);
      if (!from) return false;
      std::memcpy(value, from, copy.bytes);
    }
    char* to = c.address(Space::kShared, copy.to, copy.filled, lane, Access::kWrite, i);
    if (!to) return false;
    std::memcpy(to, value, copy.filled);
  }
  return true;
}

// All groups but the last `detail`.
void waitForGroups(Context& c, const Instruction& i, uint32_t lanes) {
  for (uint32_t rest = lanes; rest; rest &= rest - 1) {
    int lane = std::countr_zero(rest);
    auto& groups = c.copies(lane).groups;
    while (groups.size() > i.detail) {
      if (!finish(c, lane, groups.front())) return;
      groups.erase(groups.begin());
    }
  }
}

void waitForAll(Context& c, const Instruction& i, uint32_t lanes) {
  commit(c, i, lanes);
  waitForGroups(c, i, lanes);
}

bool decodeAsync(Spelling& s, Instruction& i) {
  if (!s.take("async")) return false;
  if (s.take("commit_group")) {
    i.run = &commit;
    return s.operands.empty();
  }
  if (s.take("wait_all")) {
    i.run = &waitForAll;
    return s.operands.empty();
  }
  if (s.take("wait_group")) {
    i.run = &waitForGroups;
    if (s.operands.size() != 1 || !s.operands[0].isConstant) return false;
    i.detail = static_cast<uint32_t>(s.operands[0].constant);
    return true;
  }
  std::string_view cache = s.takeOneOf({"ca", "cg"});
  if (cache.empty() || s.takeOneOf({"shared", "shared::cta"}).empty() || !s.take("global")) {
    return false;
  }
  s.takeAll("L2::");
  if (s.operands.size() < 3 || s.operands.size() > 4 || !s.operands[2].isConstant) return false;
  uint64_t bytes = s.operands[2].constant;
  bool isKnown = bytes == 16 || (cache == "ca" && (bytes == 4 || bytes == 8));
  if (!isKnown || s.operands[0].kind != Operand::Kind::kAddress ||
      s.operands[1].kind != Operand::Kind::kAddress) {
    return false;
  }
  i.offset = s.operands[0].offset;
  i.secondOffset = s.operands[1].offset;
  i.run = &copyAsync;
  return s.place(i, false);
}

// What only says how to cache, and in which order others see it.
void takeHints(Spelling& s) {
  s.takeOneOf({"weak", "volatile", "relaxed", "acquire", "release"});
  s.takeOneOf({"cta", "gpu", "sys", "cluster"});
  s.takeOneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  s.takeAll("L1::");
  s.takeAll("L2::");
}

}  // namespace

bool takeSpace(Spelling& s, const Operand& operand, Space& space) {
  std::string_view name =
      s.takeOneOf({"global", "shared", "shared::cta", "local", "param", "const"});
  if (name == "param") {
    // A kernel's, unless the name is of a call's.
    space = operand.hasSpace ? operand.space : Space::kKernelParameter;
    return true;
  }
  space = name.empty()                          ? Space::kGeneric
          : name == "local"                     ? Space::kLocal
          : name == "global" || name == "const" ? Space::kGlobal
                                                : Space::kShared;
  if (operand.kind != Operand::Kind::kAddress) return false;
  return !operand.hasSpace || operand.space == space;
}

bool decodeMemory(Spelling& s, Instruction& i) {
  std::string_view op = s.op();
  if (op == "cp") return decodeAsync(s, i);
  if (op == "membar" || op == "fence") {
    s.takeOneOf({"sc", "acq_rel"});
    s.takeOneOf({"cta", "gl", "gpu", "sys", "cluster"});
    i.run = &nothing;
    return s.operands.empty();
  }
  bool isLoad = op == "ld" || op == "ldu", isStore = op == "st";
  if ((!isLoad && !isStore && op != "prefetch") || s.operands.empty()) return false;
  const Operand& address = s.operands[isLoad ? s.operands.size() - 1 : 0];
  if (!takeSpace(s, address, i.space)) return false;
  i.offset = address.offset;
  if (op == "prefetch") {
    i.run = &nothing;
    return !s.takeOneOf({"L1", "L2"}).empty();
  }
  takeHints(s);
  if (isLoad) i.detail = s.take("nc");
  std::string_view vector = s.takeOneOf({"v2", "v4", "v8"});
  i.type = s.takeType();
  if (bytesOf(i.type) == 0 || bytesOf(i.type) > 8 || s.operands.size() != 2) return false;
  i.run = isLoad ? &load : &store;
  if (!s.place(i, isLoad)) return false;
  size_t count = isLoad ? i.numTo : i.numFrom - 1u;
  size_t expected = vector.empty() ? 1 : static_cast<size_t>(vector[1] - '0');
  return count == expected && count * static_cast<size_t>(bytesOf(i.type)) <= 32;
}

}  // namespace isthmus::ptx

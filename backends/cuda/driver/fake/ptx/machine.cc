#include "backends/cuda/driver/fake/ptx/machine.h"

#include <algorithm>
#include <cstring>

namespace isthmus::ptx {
namespace {

size_t threadsOf(const Launch& launch) {
  return size_t{launch.threads[0]} * launch.threads[1] * launch.threads[2];
}

// What nobody has written is a NaN in every type, and a large number.
constexpr char kUnwritten = static_cast<char>(0xff);

std::string said(uint64_t address, size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%#llx", static_cast<unsigned long long>(address));
  return std::to_string(bytes) + " bytes at " + text;
}

void failOutside(Context& context, Space space, uint64_t address, size_t bytes, int lane,
                 const Instruction& i) {
  constexpr const char* kNames[] = {"generic", "global", "shared", "local", "parameter"};
  context.fail(
      Fault::Code::kIllegalAddress, i, lane,
      said(address, bytes) + " are outside of " + kNames[static_cast<int>(space)] + " memory");
}

}  // namespace

Block::Block(const Launch& of)
    : launch(of),
      synchronization(static_cast<int>(threadsOf(of))),
      sharedUses(of.entry->sharedBytes, synchronization, Uses::Of::kBlock),
      local(threadsOf(of) * of.program->localBytes, kUnwritten),
      copies(threadsOf(of)) {}

void Block::begin() {
  shared.assign(launch.entry->sharedBytes, kUnwritten);
  synchronization.beginBlock();
}

Context::Context(Block& block, int firstThread, int numLanes)
    : block_(block),
      firstThread_(firstThread),
      warp_(firstThread / kWarpLanes),
      lanes_(numLanes == kWarpLanes ? kAllLanes : (1u << numLanes) - 1),
      // What nobody has written is no small number.
      registers_(slot(block.launch.program->numSlots), 0xfff5a5a5fff5a5a5),
      constants_(block.launch.program->constants.data()) {
  const Launch& launch = block.launch;
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    auto number = static_cast<unsigned>(firstThread + lane);
    uint32_t bit = 1u << lane;
    unsigned x = launch.threads[0], y = launch.threads[1];
    auto set = [&](Slot which, uint64_t value) { special(which)[lane] = value; };
    set(kTidX, number % x);
    set(kTidY, number / x % y);
    set(kTidZ, number / x / y);
    for (int d = 0; d < 3; ++d) {
      set(kNtidX + d, launch.threads[d]);
      set(kNctaidX + d, launch.blocks[d]);
    }
    set(kLaneId, static_cast<uint64_t>(lane));
    set(kWarpId, static_cast<uint64_t>(warp_));
    set(kNumWarps, (threadsOf(launch) + kWarpLanes - 1) / kWarpLanes);
    set(kLaneMaskEq, bit);
    set(kLaneMaskLt, bit - 1);
    set(kLaneMaskLe, (bit - 1) | bit);
    set(kLaneMaskGe, ~(bit - 1));
    set(kLaneMaskGt, ~((bit - 1) | bit));
    set(kCarry, 0);
  }
}

void Context::fail(Fault::Code code, const Instruction& i, int lane, const std::string& what) {
  if (block_.fault.code != Fault::Code::kNone) return;
  std::string where = "block " + std::to_string(*special(kCtaidX)) + ", thread " +
                      std::to_string(firstThread_ + lane);
  block_.fault = {code, "kernel " + block_.launch.entry->name + ", " + where + ", line " +
                            std::to_string(i.line) + ": " + std::string(i.text) + ": " + what};
}

char* Context::address(Space space, uint64_t address, size_t bytes, int lane, Access access,
                       const Instruction& i, const void* value) {
  if (space == Space::kGeneric) {
    uint64_t window = address & ~(kSharedWindow - 1);
    space = window == kSharedWindow  ? Space::kShared
            : window == kLocalWindow ? Space::kLocal
                                     : Space::kGlobal;
    if (space != Space::kGlobal) address -= window;
  }
  if (access != Access::kAsync && address % bytes != 0) {
    fail(Fault::Code::kMisaligned, i, lane, said(address, bytes) + " are not aligned");
    return nullptr;
  }
  auto isIn = [&](size_t size) { return bytes <= size && address <= size - bytes; };
  char* data = nullptr;
  if (space == Space::kShared) {
    if (isIn(block_.shared.size())) return sharedAddress(address, bytes, lane, access, i, value);
  } else if (space == Space::kLocal) {
    if (isIn(block_.launch.program->localBytes)) data = localOf(lane) + address;
  } else if (space == Space::kKernelParameter) {
    bool isThere = isIn(block_.launch.entry->parameterBytes) && access == Access::kRead;
    if (isThere) data = const_cast<char*>(block_.launch.parameters) + address;
  } else {
    return globalAddress(address, bytes, lane, access, i, value);
  }
  if (!data) failOutside(*this, space, address, bytes, lane, i);
  return data;
}

char* Context::sharedAddress(uint64_t address, size_t bytes, int lane, Access access,
                             const Instruction& i, const void* value) {
  char* data = block_.shared.data() + address;
  return enter(block_.sharedUses, address, data, bytes, lane, access, i, value) ? data : nullptr;
}

char* Context::globalAddress(uint64_t address, size_t bytes, int lane, Access access,
                             const Instruction& i, const void* value) {
  Range& range = block_.lastRange;
  if (address - range.begin >= range.bytes) {
    if (!block_.launch.find(address, range)) {
      range = {};
      failOutside(*this, Space::kGlobal, address, bytes, lane, i);
      return nullptr;
    }
    auto [uses, isNew] = block_.globalUses.try_emplace(range.begin, range.bytes,
                                                       block_.synchronization, Uses::Of::kLaunch);
    block_.lastUses = &uses->second;
  }
  size_t offset = address - range.begin;
  bool isWrite = access == Access::kWrite || access == Access::kAtomic;
  if (range.bytes - offset < bytes || (isWrite && range.isReadOnly)) {
    failOutside(*this, Space::kGlobal, address, bytes, lane, i);
    return nullptr;
  }
  auto* data = reinterpret_cast<char*>(address);
  // Copies may read less than their size, from the middle of a word.
  if (access == Access::kAsync) {
    const size_t first = offset / 4 * 4;
    bytes = (offset + bytes + 3) / 4 * 4 - first;
    offset = first;
  }
  return enter(*block_.lastUses, offset, data, bytes, lane, access, i, value) ? data : nullptr;
}

bool Context::enter(Uses& uses, size_t offset, const char* data, size_t bytes, int lane,
                    Access access, const Instruction& i, const void* value) {
  Use use;
  use.thread = firstThread_ + lane;
  use.isAtomic = access == Access::kAtomic;
  use.isWrite = access == Access::kWrite || use.isAtomic;
  use.isReadOnly = access == Access::kReadOnly;
  use.isSame = value && std::memcmp(value, data, bytes) == 0;
  Race race;
  if (uses.enter(offset, bytes, use, race)) return true;
  fail(Fault::Code::kRace, i, lane,
       "block " + std::to_string(race.block) + ", thread " + std::to_string(race.thread) +
           (race.hasWritten ? " wrote" : " read") + " these " + std::to_string(bytes) +
           " bytes, and nothing orders the two");
  return false;
}

}  // namespace isthmus::ptx

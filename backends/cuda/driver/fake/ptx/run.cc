// Launches: blocks one after the other, their warps until each waits, the lanes of a warp together
// as long as they are at the same instruction.
#include <algorithm>
#include <bit>
#include <cfenv>
#include <cstring>
#include <limits>
#include <memory>

#include "backends/cuda/driver/fake/ptx/lanes.h"
#include "backends/cuda/driver/fake/ptx/machine.h"

namespace isthmus::ptx {
namespace {

enum class State : uint8_t { kRunning, kTogether, kBarrier, kDone };

constexpr int kNever = std::numeric_limits<int>::max();
// A warp of a block that branches more often is taken for one that loops for ever: some minutes.
constexpr uint64_t kMaxSteps = uint64_t{1} << 33;

class Warp {
 public:
  Warp(Block& block, int firstThread, int numLanes)
      : block_(block), program_(*block.launch.program), context_(block, firstThread, numLanes) {}

  void begin(const unsigned (&number)[3]) {
    steps_ = 0;
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      bool isThere = context_.lanes() >> lane & 1;
      states_[lane] = isThere ? State::kRunning : State::kDone;
      pcs_[lane] = block_.launch.entry->begin;
      returns_[lane].clear();
      for (int d = 0; d < 3; ++d) context_.special(kCtaidX + d)[lane] = number[d];
      AsyncCopies* copies = isThere ? &context_.copies(lane) : nullptr;
      if (copies) *copies = {};
    }
  }

  // Until all lanes wait or are done, or something is wrong.
  void run() {
    while (block_.fault.code == Fault::Code::kNone) {
      int first = kNever, next = kNever;
      uint32_t lanes = 0;
      for (int lane = 0; lane < kWarpLanes; ++lane) {
        if (states_[lane] != State::kRunning) continue;
        int pc = pcs_[lane];
        if (pc < first) {
          next = first;
          first = pc;
          lanes = 0;
        } else if (pc > first) {
          next = std::min(next, pc);
        }
        if (pc == first) lanes |= 1u << lane;
      }
      if (lanes == 0) {
        if (!meetAgain()) return;
        continue;
      }
      runTogether(lanes, first, next);
    }
  }

  uint32_t lanesIn(State state) const {
    uint32_t result = 0;
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      result |= static_cast<uint32_t>(states_[lane] == state) << lane;
    }
    return result & context_.lanes();
  }
  int pcOf(int lane) const { return pcs_[lane]; }
  Context& context() { return context_; }

  void leaveBarrier() {
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      if (states_[lane] != State::kBarrier) continue;
      states_[lane] = State::kRunning;
      ++pcs_[lane];
    }
  }

 private:
  // Lanes at `pc` go on until they part, wait, or reach others at `next`.
  void runTogether(uint32_t lanes, int pc, int next) {
    while (pc < next) {
      const Instruction& i = program_.code[static_cast<size_t>(pc)];
      uint32_t active = lanes;
      if (i.guard != kNoSlot) active = guarded(i, lanes);
      if (i.kind == Kind::kPlain) [[likely]] {
        if (active) i.run(context_, i, active);
        if (block_.fault.code != Fault::Code::kNone) [[unlikely]]
          return;
        ++pc;
        continue;
      }
      if (++steps_ > kMaxSteps) {
        return context_.fail(Fault::Code::kStuck, i, std::countr_zero(lanes), "loops for ever");
      }
      if (i.kind == Kind::kBranch && (active == lanes || active == 0)) {
        int target = active ? i.target : pc + 1;
        // Backwards past nobody: all others are further on.
        pc = target;
        continue;
      }
      setPcs(lanes & ~active, pc + 1);
      leave(i, active, pc);
      return;
    }
    setPcs(lanes, pc);
  }

  uint32_t guarded(const Instruction& i, uint32_t lanes) {
    const uint64_t* guard = context_.lanesOf(i.guard);
    uint32_t holds = 0;
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      holds |= static_cast<uint32_t>(guard[lane] & 1) << lane;
    }
    return lanes & (i.isGuardNegated ? ~holds : holds);
  }

  void setPcs(uint32_t lanes, int pc) {
    forLanes(lanes, [&](int lane) { pcs_[lane] = pc; });
  }
  void setStates(uint32_t lanes, State state) {
    forLanes(lanes, [&](int lane) { states_[lane] = state; });
  }

  // What changes where lanes are.
  void leave(const Instruction& i, uint32_t lanes, int pc) {
    switch (i.kind) {
      case Kind::kBranch:
        return setPcs(lanes, i.target);
      case Kind::kBranchIndexed:
        return branchIndexed(i, lanes);
      case Kind::kCall:
        return call(i, lanes, pc);
      case Kind::kReturn:
        return comeBack(lanes);
      case Kind::kExit:
        return setStates(lanes, State::kDone);
      case Kind::kBarrier:
        setPcs(lanes, pc);
        return setStates(lanes, State::kBarrier);
      case Kind::kTogether:
        setPcs(lanes, pc);
        setStates(lanes, State::kTogether);
        return meet(i, pc);
      case Kind::kPlain:
        return;
    }
  }

  void branchIndexed(const Instruction& i, uint32_t lanes) {
    const std::vector<int>& table = program_.tables[static_cast<size_t>(i.target)];
    const uint64_t* index = context_.from(i, 0);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
      int lane = std::countr_zero(rest);
      auto number = static_cast<uint32_t>(index[lane]);
      if (number >= table.size()) {
        return context_.fail(Fault::Code::kIllegalAddress, i, lane,
                             "there is no target " + std::to_string(number));
      }
      pcs_[lane] = table[number];
    }
  }

  void pass(const std::vector<Passed>& values, uint32_t lanes) {
    for (const Passed& one : values) {
      forLanes(lanes, [&](int lane) {
        char* local = context_.localOf(lane);
        std::memmove(local + one.to, local + one.from, one.bytes);
      });
    }
  }

  void call(const Instruction& i, uint32_t lanes, int pc) {
    const CallSite& site = program_.calls[static_cast<size_t>(i.target)];
    pass(site.arguments, lanes);
    forLanes(lanes, [&](int lane) { returns_[lane].push_back(pc); });
    setPcs(lanes, site.entry);
  }

  void comeBack(uint32_t lanes) {
    forLanes(lanes, [&](int lane) {
      if (returns_[lane].empty()) {
        states_[lane] = State::kDone;
        return;
      }
      int pc = returns_[lane].back();
      returns_[lane].pop_back();
      const Instruction& i = program_.code[static_cast<size_t>(pc)];
      pass(program_.calls[static_cast<size_t>(i.target)].results, 1u << lane);
      pcs_[lane] = pc + 1;
    });
  }

  // Of lanes that others need not come to any more, since these are done. False if there are none.
  bool meetAgain() {
    uint32_t waiting = lanesIn(State::kTogether);
    for (uint32_t rest = waiting; rest; rest &= rest - 1) {
      int lane = std::countr_zero(rest);
      if (states_[lane] != State::kTogether) continue;
      meet(program_.code[static_cast<size_t>(pcs_[lane])], pcs_[lane]);
    }
    return lanesIn(State::kTogether) != waiting;
  }

  // The lanes that wait at `pc`, as far as all are there that must be.
  void meet(const Instruction& i, int pc) {
    uint32_t there = context_.lanes() & ~lanesIn(State::kDone), waiting = 0;
    forLanes(there, [&](int lane) {
      bool waits = states_[lane] == State::kTogether && pcs_[lane] == pc;
      waiting |= static_cast<uint32_t>(waits) << lane;
    });
    while (waiting) {
      int first = std::countr_zero(waiting);
      uint32_t members = kAllLanes, named = waiting;
      if (i.member >= 0) {
        const uint64_t* masks = context_.from(i, static_cast<size_t>(i.member));
        members = static_cast<uint32_t>(masks[first]);
        forLanes(waiting, [&](int lane) {
          if (static_cast<uint32_t>(masks[lane]) != members) named &= ~(1u << lane);
        });
        if (!(members >> first & 1)) {
          return context_.fail(Fault::Code::kStuck, i, first, "the mask does not name its thread");
        }
      } else if (there != kAllLanes) {
        return context_.fail(Fault::Code::kStuck, i, first,
                             "needs all lanes of a warp, some are not there any more");
      }
      waiting &= ~named;
      if ((members & there) != (named & members)) continue;
      i.run(context_, i, named);
      context_.shuffled(named);
      setStates(named, State::kRunning);
      setPcs(named, pc + 1);
    }
  }

  Block& block_;
  const Program& program_;
  Context context_;
  int pcs_[kWarpLanes] = {};
  State states_[kWarpLanes] = {};
  std::vector<int> returns_[kWarpLanes];
  uint64_t steps_ = 0;
};

// Whether all threads that are left wait at the same barrier; a fault if they never will.
bool releaseBarrier(std::vector<std::unique_ptr<Warp>>& warps, Block& block) {
  const Program& program = *block.launch.program;
  bool isAnyoneLeft = false;
  int64_t barrier = -1;
  for (auto& warp : warps) {
    uint32_t waiting = warp->lanesIn(State::kBarrier), stuck = warp->lanesIn(State::kTogether);
    int pc = kNever;
    for (uint32_t rest = waiting | stuck; rest; rest &= rest - 1) {
      int lane = std::countr_zero(rest);
      const Instruction& i = program.code[static_cast<size_t>(warp->pcOf(lane))];
      if (stuck >> lane & 1) {
        warp->context().fail(Fault::Code::kStuck, i, lane,
                             "waits for lanes of its warp that never come here");
        return false;
      }
      auto number = static_cast<int64_t>(warp->context().from(i, 0)[lane]);
      bool isApart = pc != kNever && i.isAligned && warp->pcOf(lane) != pc;
      if (isApart || (barrier >= 0 && number != barrier)) {
        warp->context().fail(Fault::Code::kStuck, i, lane, "other threads wait at another barrier");
        return false;
      }
      barrier = number;
      pc = warp->pcOf(lane);
      isAnyoneLeft = true;
    }
  }
  if (!isAnyoneLeft) return false;
  for (auto& warp : warps) warp->leaveBarrier();
  block.synchronization.ofAll();
  return true;
}

std::string checked(const Launch& launch) {
  const Entry& entry = *launch.entry;
  size_t threads = size_t{launch.threads[0]} * launch.threads[1] * launch.threads[2];
  std::string said = "kernel " + entry.name + ": ";
  if (threads == 0 || threads > 1024) return said + std::to_string(threads) + " threads";
  if (launch.blocks[0] == 0 || launch.blocks[0] > 0x7fffffff || launch.blocks[1] == 0 ||
      launch.blocks[1] > 0xffff || launch.blocks[2] == 0 || launch.blocks[2] > 0xffff) {
    return said + "a grid of " + std::to_string(launch.blocks[0]) + " blocks";
  }
  for (int d = 0; d < 3; ++d) {
    bool isWrong = entry.requiredThreads[0] && launch.threads[d] != entry.requiredThreads[d];
    if (isWrong) return said + "is launched with other numbers of threads than .reqntid has";
  }
  size_t most = size_t{entry.maxThreads[0]} * entry.maxThreads[1] * entry.maxThreads[2];
  if (most > 0 && threads > most) return said + "is launched with more threads than .maxntid has";
  if (entry.sharedBytes > kMaxSharedBytes) {
    return said + std::to_string(entry.sharedBytes) + " bytes of static shared memory";
  }
  return {};
}

}  // namespace

Fault run(const Launch& launch) {
  if (std::string problem = checked(launch); !problem.empty()) {
    return {Fault::Code::kLaunch, problem};
  }
  // Whoever asks for the launch may compute with other settings.
  std::fenv_t before;
  std::fegetenv(&before);
  std::fesetenv(FE_DFL_ENV);
  Block block(launch);
  int threads = static_cast<int>(launch.threads[0] * launch.threads[1] * launch.threads[2]);
  std::vector<std::unique_ptr<Warp>> warps;
  for (int first = 0; first < threads; first += kWarpLanes) {
    warps.push_back(std::make_unique<Warp>(block, first, std::min(kWarpLanes, threads - first)));
  }
  uint64_t blocks = uint64_t{launch.blocks[0]} * launch.blocks[1] * launch.blocks[2];
  for (uint64_t n = 0; n < blocks && block.fault.code == Fault::Code::kNone; ++n) {
    unsigned number[3] = {static_cast<unsigned>(n % launch.blocks[0]),
                          static_cast<unsigned>(n / launch.blocks[0] % launch.blocks[1]),
                          static_cast<unsigned>(n / launch.blocks[0] / launch.blocks[1])};
    block.begin();
    for (auto& warp : warps) warp->begin(number);
    do {
      for (auto& warp : warps) warp->run();
    } while (block.fault.code == Fault::Code::kNone && releaseBarrier(warps, block));
  }
  std::fesetenv(&before);
  return block.fault;
}

}  // namespace isthmus::ptx

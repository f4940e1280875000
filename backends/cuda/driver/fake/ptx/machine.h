// What instructions see of the machine: a warp's registers, and memory whose every access is
// checked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backends/cuda/driver/fake/ptx/program.h"
#include "backends/cuda/driver/fake/ptx/uses.h"

namespace isthmus::ptx {

// Why a launch ended early.
struct Fault {
  enum class Code {
    kNone,
    kLaunch,          // the launch is not what the kernel asks for
    kIllegalAddress,  // memory that is not there
    kMisaligned,
    kStuck,  // threads wait for others that never come
    kRace,   // threads use the same bytes in no order
    kTrap,
  };
  Code code = Code::kNone;
  std::string text;
};

// Memory of one allocation.
struct Range {
  uint64_t begin = 0, bytes = 0;
  bool isReadOnly = false;
};
// The allocation that an address is in; false if there is none.
using FindMemory = std::function<bool(uint64_t address, Range& range)>;

struct Launch {
  const Program* program = nullptr;
  const Entry* entry = nullptr;
  unsigned blocks[3] = {1, 1, 1}, threads[3] = {1, 1, 1};
  const char* parameters = nullptr;  // entry->parameterBytes
  FindMemory find;
};

// In the generic address space.
constexpr uint64_t kSharedWindow = uint64_t{1} << 56, kLocalWindow = uint64_t{2} << 56;
constexpr size_t kMaxSharedBytes = 48 << 10;

// A thread's copies from global to shared memory that are under way.
struct AsyncCopies {
  struct Copy {
    uint64_t to = 0, from = 0;
    uint32_t bytes = 0, filled = 0;  // read, and with the zeros behind
    const Instruction* instruction = nullptr;
  };
  std::vector<std::vector<Copy>> groups;
  std::vector<Copy> open;  // of no group yet
};

// kAsync: a read of any alignment. kReadOnly: by ld.nc, of what nobody writes.
enum class Access { kRead, kWrite, kAtomic, kAsync, kReadOnly };

// The block of threads that runs.
struct Block {
  explicit Block(const Launch& of);

  // The next one, with nothing in its shared memory.
  void begin();

  const Launch& launch;
  Synchronization synchronization;
  std::vector<char> shared;
  Uses sharedUses;
  std::vector<char> local;  // program.localBytes a thread
  std::vector<AsyncCopies> copies;
  // Allocations that were used, by address, and the last one.
  std::map<uint64_t, Uses> globalUses;
  Range lastRange;
  Uses* lastUses = nullptr;
  Fault fault;
};

// One warp of a block.
class Context {
 public:
  Context(Block& block, int firstThread, int numLanes);

  uint64_t* to(const Instruction& i, size_t number) { return &registers_[slot(i.to[number])]; }
  const uint64_t* from(const Instruction& i, size_t number) const {
    return lanesOf(i.from[number]);
  }
  const uint64_t* lanesOf(Slot slot) const {
    return slot >= 0 ? &registers_[this->slot(slot)] : &constants_[this->slot(~slot)];
  }
  uint64_t* special(Slot which) { return &registers_[slot(which)]; }

  // Where the bytes lie, or null after a fault. `value` is what will be written, where that is
  // known.
  char* address(Space space, uint64_t address, size_t bytes, int lane, Access access,
                const Instruction& i, const void* value = nullptr);
  void fail(Fault::Code code, const Instruction& i, int lane, const std::string& what);
  void shuffled(uint32_t lanes) { block_.synchronization.shuffle(warp_, lanes); }
  void orderLanes(uint32_t lanes) { block_.synchronization.ofLanes(warp_, lanes); }

  Block& block() { return block_; }
  AsyncCopies& copies(int lane) { return block_.copies[static_cast<size_t>(firstThread_ + lane)]; }
  // A thread's local memory.
  char* localOf(int lane) {
    return block_.local.data() +
           static_cast<size_t>(firstThread_ + lane) * block_.launch.program->localBytes;
  }
  // The lanes that have a thread.
  uint32_t lanes() const { return lanes_; }

 private:
  char* globalAddress(uint64_t address, size_t bytes, int lane, Access access, const Instruction& i,
                      const void* value);
  char* sharedAddress(uint64_t address, size_t bytes, int lane, Access access, const Instruction& i,
                      const void* value);
  // Whether nobody else uses the bytes in no order with it; a fault otherwise.
  bool enter(Uses& uses, size_t offset, const char* data, size_t bytes, int lane, Access access,
             const Instruction& i, const void* value);
  static size_t slot(Slot slot) { return static_cast<size_t>(slot) * kWarpLanes; }

  Block& block_;
  int firstThread_, warp_;
  uint32_t lanes_;
  std::vector<uint64_t> registers_;
  const uint64_t* constants_;
};

// Runs all blocks, one after the other; a fault names the kernel, the thread and the instruction.
Fault run(const Launch& launch);

}  // namespace isthmus::ptx

// A PTX module as the interpreter runs it: decoded instructions, resolved names.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/driver/fake/ptx/types.h"

namespace isthmus::ptx {

class Context;
struct Instruction;

constexpr int kWarpLanes = 32;
constexpr uint32_t kAllLanes = 0xffffffff;

// What an instruction does for the lanes of the bits set in `lanes`.
using Handler = void (*)(Context& context, const Instruction& instruction, uint32_t lanes);

// A register of a warp (64 bits a lane), or ~n: the n-th constant.
using Slot = int32_t;
constexpr Slot kNoSlot = std::numeric_limits<Slot>::min();

enum class Space : uint8_t { kGeneric, kGlobal, kShared, kLocal, kKernelParameter };

enum class Kind : uint8_t {
  kPlain,          // lanes do it on their own
  kTogether,       // the lanes that from[member] names do it together, or all of the warp
  kBranch,         // to `target`
  kBranchIndexed,  // to tables[target][from[0]]
  kCall,           // calls[target]
  kReturn,
  kExit,
  kBarrier,  // of the block
};

// Special registers, which have the first slots.
enum SpecialRegister : Slot {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneId,
  kWarpId,
  kNumWarps,
  kLaneMaskEq,
  kLaneMaskLe,
  kLaneMaskLt,
  kLaneMaskGe,
  kLaneMaskGt,
  kCarry,  // CC.CF
  kSink,   // what is written to _
  kNumSpecialRegisters,
};

struct Instruction {
  Handler run = nullptr;
  Handler inner = nullptr;  // what `run` does something around
  Kind kind = Kind::kPlain;
  Type type = Type::kNone;
  Space space = Space::kGeneric;
  Space second = Space::kGeneric;  // of a second address
  bool isGuardNegated = false;
  bool isAligned = false;  // all lanes of the warp must do it at once
  int8_t member = -1;      // which of `from` is the mask of lanes
  uint8_t numTo = 0, numFrom = 0;
  Slot guard = kNoSlot;
  std::array<Slot, 8> to{};
  std::array<Slot, 20> from{};
  // Added to addresses: the first and the second.
  int64_t offset = 0, secondOffset = 0;
  int target = -1;
  uint32_t detail = 0;  // what `run` makes of it
  int line = 0;
  std::string_view text;
};

// Bytes that a call copies between places in the threads' local memory.
struct Passed {
  int64_t from = 0, to = 0;
  size_t bytes = 0;
};

struct CallSite {
  int entry = -1;  // pc
  std::vector<Passed> arguments, results;
};

struct Parameter {
  size_t offset = 0, bytes = 0;
};

struct Entry {
  std::string name;
  int begin = 0;
  std::vector<Parameter> parameters;
  size_t parameterBytes = 0;
  size_t sharedBytes = 0;
  unsigned requiredThreads[3] = {0, 0, 0};  // 0: as many as are launched
  unsigned maxThreads[3] = {0, 0, 0};
};

struct Program {
  std::string source;
  std::string version, target;
  std::vector<Instruction> code;
  std::vector<uint64_t> constants;
  std::vector<CallSite> calls;
  std::vector<std::vector<int>> tables;
  std::map<std::string, Entry, std::less<>> entries;
  // For the threads of any entry.
  int numSlots = 0;
  size_t localBytes = 0;
  // Variables in global or constant memory, by address.
  struct Global {
    std::unique_ptr<char[]> data;
    size_t bytes = 0;
    bool isConstant = false;
  };
  std::map<uint64_t, Global> globals;
};

// Null, with a sentence that names line and instruction in `error`, for what is no PTX or is not
// known.
std::unique_ptr<Program> parse(std::string source, std::string& error);

}  // namespace isthmus::ptx

// A compiled program for a device whose host enqueues its steps, as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/program/program_steps.h"
#include "compiler/codegen/simt/kernel_module.h"
#include "compiler/plan/location.h"
#include "isthmus/backend.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace isthmus {

// Kernel number `kernel` over `buffers`, its arguments in order. The first `inputs` are only read,
// the others may be read and written.
struct KernelLaunch {
  int kernel = 0;
  int inputs = 0;
  std::vector<Location> buffers;
  int32_t profileStep = -1;         // of DeviceProgram::profile
  bool continuesOperation = false;  // not the first launch of its operation
};

// Host function number `function` over copies of the inputs; its outputs are copied back.
struct HostCall {
  int function = 0;
  std::vector<Location> inputs;
  std::vector<Location> outputs;
  int32_t profileStep = -1;
};

// Call number `call` of a library of the device over `buffers`, enqueued like a kernel.
struct LibraryCall {
  int call = 0;
  std::vector<Location> buffers;
  int32_t profileStep = -1;
};

struct Step;

struct Loop {
  std::vector<Step> condition;
  Location predicate;  // one byte
  std::vector<Step> body;
  // If not -1, so many rounds, and the predicate need not be read.
  int64_t rounds = -1;
  // What each round ends with, done by swapping the addresses of both places: what any step of
  // the loop accesses of one begins where it does, and is nothing else. swap_addresses.h finds
  // them.
  std::vector<Move> addressSwaps;
  // All of it in one function of the host, over every place of its steps as an input; -1: there is
  // none. host_loops.h finds such loops.
  HostCall onHost{-1, {}, {}};
};

// An index outside of the branches takes the last one; of two branches of an `if`, true takes the
// first.
struct Branch {
  Location index;  // one byte of an `if`, else a 32-bit integer
  bool isIf = false;
  std::vector<std::vector<Step>> branches;
};

struct Step {
  std::variant<KernelLaunch, HostCall, LibraryCall, Move, Loop, Branch> what;
};

// Calls `visit` with each step, an outer one before those within it, until it returns false.
// Returns whether all were visited.
bool forEachStep(const std::vector<Step>& steps, llvm::function_ref<bool(const Step&)> visit);

// Calls `visit` with each place that the step itself, not one within it, accesses until it returns
// false. Returns whether all were visited.
bool forEachPlace(const Step& step, llvm::function_ref<bool(const Location&)> visit);

// The most bytes that are swapped at once: one of two places is kept aside meanwhile.
int64_t swappedBytes(const std::vector<Step>& steps);

struct DeviceProgram {
  ProgramInfo info;
  std::vector<codegen::KernelInfo> kernels;
  std::vector<Step> steps;
  std::string constants;  // one after the other, at constantOffsets
  std::vector<int64_t> constantOffsets;
  int64_t arenaBytes = 0;
  std::vector<int64_t> slotOffsets;  // of the plan's stack slots, behind the arena
  int64_t scratchBytes = 0;          // of the arena and the slots together
  // Of one run, on one thread of a CPU or all of a GPU; infinite where loops, the host or libraries
  // have a part.
  double estimatedNs = 0;
  ProgramSteps profile;  // what kernels and calls of the host are, where one is asked
};

// Where the places of a program are in one run.
struct ProgramAddresses {
  std::span<const void* const> parameters;
  std::span<void* const> results;
  void* constants = nullptr;
  void* scratch = nullptr;
};

// The address of a place; null for Location::Space::kNone.
void* addressOf(const Location& place, const DeviceProgram& program,
                const ProgramAddresses& addresses);

// The branch that an index read from the device takes.
size_t chosenBranch(const Branch& branch, int32_t index);

}  // namespace isthmus

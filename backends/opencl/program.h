// A compiled program as plain data: kernels, constants, and the steps that the host enqueues.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "compiler/plan/location.h"
#include "isthmus/backend.h"
#include "runtime/ffi/call_site.h"

namespace isthmus::opencl {

// Kernel number `kernel` over `buffers`, its arguments in order.
struct KernelLaunch {
  int kernel = 0;
  std::vector<Location> buffers;
};

// Host function number `function` over copies of the inputs; its outputs are copied back.
struct HostCall {
  int function = 0;
  std::vector<Location> inputs;
  std::vector<Location> outputs;
};

struct Step;

struct Loop {
  std::vector<Step> condition;
  Location predicate;  // one byte
  std::vector<Step> body;
};

// An index outside of the branches takes the last one; of two branches of an `if`, true takes the
// first.
struct Branch {
  Location index;  // one byte of an `if`, else a 32-bit integer
  bool isIf = false;
  std::vector<std::vector<Step>> branches;
};

struct Step {
  std::variant<KernelLaunch, HostCall, Move, Loop, Branch> what;
};

struct KernelInfo {
  std::string name;
  // Work-items along each dimension; those beyond do nothing.
  std::array<int64_t, 3> items{1, 1, 1};
  std::string description;  // the operations and their source position, for errors
};

// An operation that the host carries out with a function of the CPU backend.
struct HostFunction {
  std::string function;    // "isthmus_rt_cholesky"
  std::string descriptor;  // its plain data
  std::vector<std::string> callbacks;
  int64_t scratchBytes = 0;
  std::string description;
};

struct ProgramImage {
  ProgramInfo info;
  std::vector<KernelInfo> kernels;
  std::string spirv;   // of all kernels, for drivers that take it
  std::string source;  // OpenCL C, for those that do not
  std::vector<Step> steps;
  std::string constants;  // one after the other, at constantOffsets
  std::vector<int64_t> constantOffsets;
  int64_t arenaBytes = 0;
  std::vector<int64_t> slotOffsets;  // of the plan's stack slots, behind the arena
  int64_t scratchBytes = 0;          // of the arena and the slots together
  std::vector<HostFunction> hostFunctions;
  std::vector<std::string> hostObjects;  // ELF objects with the callbacks
  std::vector<ffi::CallSpec> calls;      // custom calls, by the index in their descriptors
  bool callsUserCode = false;
};

}  // namespace isthmus::opencl

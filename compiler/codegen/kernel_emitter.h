// From one fusion to LLVM functions that compute it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/dialect/isthmus.h"
#include "compiler/target/target_model.h"
#include "isthmus/status.h"

namespace llvm {
class Module;
}

namespace isthmus {

// One generated function `void symbol(void* const* buffers, int64_t begin, int64_t end)` that
// computes tiles [begin, end) (IsthmusKernel in backends/cpu/abi.h). Tiles are independent. A stage
// with one tile ignores begin and end.
//
// Of a stage that is a dot_general, the function is the epilogue (SumsEpilogue in
// backends/cpu/kernels/gemm/dot.h), which the backend's kernel calls.
struct KernelStage {
  std::string symbol;
  int64_t tiles = 1;
  double nsPerTile = 0;  // estimate, on one thread
  int64_t share = 0;     // tiles that a thread takes at a time; 0: one thread computes all
  // So many threads of a device compute a tile together; they are in one group. On CPUs 1.
  unsigned groupThreads = 1;
  // If not -1: the stage copies one buffer to another, and need not run where they are the same.
  int copiesFrom = -1;
  int copiesTo = -1;
};

// The stages of a fusion run one after the other; each may be split among threads. Nearly all
// fusions have one. `buffers` holds the operands, then the results.
struct Kernel {
  std::vector<KernelStage> stages;
};

// Adds the functions of `fusion` to `module`, with external linkage and names that begin with
// `symbol`. Buffers are dense and row-major, each aligned at least to its element size. Different
// buffers must not overlap, except as canShareBuffer (schedule/sharing.h) allows. Not thread-safe
// for one module; kUnimplemented names the op, its types and its location.
StatusOr<Kernel> emitKernel(ir::FusionOp fusion, const TargetModel& target, llvm::Module& module,
                            std::string_view symbol);

}  // namespace isthmus

// From a kernel over tiles to a kernel whose work-items compute one tile each.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "compiler/codegen/simt/products/matrix_ops.h"
#include "compiler/target/target_model.h"
#include "isthmus/status.h"
#include "llvm/IR/IRBuilder.h"

namespace isthmus::codegen {

// Work-items along each dimension of a launch; neighbours along the first share vectors.
using Items = std::array<int64_t, 3>;

// What a device's kernels look like in LLVM IR.
struct WorkItemForm {
  // What kernels are emitted for: a GPU's work-items compute an element each, a CPU's a tile, in
  // vectors.
  TargetModel target;
  unsigned globalSpace = 1;  // address space of buffers; 0 is private memory
  llvm::CallingConv::ID convention = llvm::CallingConv::SPIR_KERNEL;
  // The number of the work-item along each dimension of a launch of `items`, each an i64; where
  // there is one item, it need not be computed. Those of the work-items beyond may be anything that
  // is not inside.
  std::function<std::array<llvm::Value*, 3>(llvm::IRBuilder<>&, const Items& items)> indices;

  // For kernels whose tiles are shared by a group of threads; empty where a device has none.
  // The number of the group in the launch and of the thread in its group, each an i64.
  std::function<llvm::Value*(llvm::IRBuilder<>&)> groupIndex;
  std::function<llvm::Value*(llvm::IRBuilder<>&)> threadInGroup;
  // Waits for the group's threads, and makes their stores to its memory seen by all of them.
  std::function<void(llvm::IRBuilder<>&)> barrier;
  // Of devices whose threads read each other's registers: the i32 of the thread whose number
  // differs by the bit `distance`.
  std::function<llvm::Value*(llvm::IRBuilder<>&, llvm::Value* value, llvm::Value* distance)>
      subgroupShuffle;
  // Only of devices with groups.
  std::optional<MatrixOps> matrixOps;
};

// The first of a kernel's parameters as an array of pointers, made where `b` is, in the entry
// block: what is inlined reads it, and settleAddresses dissolves it.
llvm::Value* makeParameterTable(llvm::IRBuilder<>& b, llvm::Function& kernel, unsigned parameters);

// Makes addresses of a kernel that go through an array of the thread's own what they are: of the
// global, the private or the group's memory. kInternal, naming the kernel, if one can be of more
// than one.
Status settleAddresses(llvm::Function& kernel);

// Replaces the function `tileKernel` of `module` by a kernel of the same name, with `buffers`
// pointers into global memory. A work-item computes `share` tiles, the last one those that are
// left. Launches have at least as many work-items as that takes, of which those beyond do nothing;
// or, if `groupThreads` is not 1, exactly that many groups of so many threads. No address space but
// the global, the private and the group's one is left. kInternal, naming the kernel, if an address
// can be of more than one; kUnimplemented for a group's kernel where the form has no groups.
Status makeWorkItemKernel(llvm::Module& module, const std::string& tileKernel, unsigned buffers,
                          int64_t tiles, const WorkItemForm& form, unsigned groupThreads = 1,
                          int64_t share = 1);

}  // namespace isthmus::codegen

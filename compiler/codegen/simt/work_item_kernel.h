// From a kernel over tiles to a kernel whose work-items compute one tile each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "isthmus/status.h"
#include "llvm/IR/IRBuilder.h"

namespace isthmus::codegen {

// What a device's kernels look like in LLVM IR.
struct WorkItemForm {
  unsigned globalSpace = 1;  // address space of buffers; 0 is private memory
  llvm::CallingConv::ID convention = llvm::CallingConv::SPIR_KERNEL;
  // The number of the work-item in the launch, an i64.
  std::function<llvm::Value*(llvm::IRBuilder<>&)> globalIndex;
};

// Replaces the function `tileKernel` of `module` by a kernel of the same name, with `buffers`
// pointers into global memory. Launches have at least `tiles` work-items; those beyond do nothing.
// No address space but the global and the private one is left. kInternal, naming the kernel, if an
// address can be of either.
Status makeWorkItemKernel(llvm::Module& module, const std::string& tileKernel, unsigned buffers,
                          int64_t tiles, const WorkItemForm& form);

}  // namespace isthmus::codegen

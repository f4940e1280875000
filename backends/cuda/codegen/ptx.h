// PTX by LLVM.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "compiler/codegen/simt/kernel_module.h"
#include "compiler/codegen/simt/work_item_kernel.h"
#include "isthmus/status.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace isthmus::cuda {

// What PTX is written for, by the compute capability (times ten) of a device: 80 for 80 to 89, 90
// from 90 on, which later devices run too. kFailedPrecondition for older ones.
StatusOr<int> ptxCapability(int deviceCapability);

// CUDA's kernels in LLVM IR. Launches have one dimension of blocks.
codegen::WorkItemForm kernelForm(int capability);

// How a kernel is launched: along the first dimension of the grid alone.
struct LaunchShape {
  int64_t blocks = 0;
  unsigned threads = 0;
};
// kUnimplemented if there are more blocks than a grid can have.
StatusOr<LaunchShape> launchShape(const codegen::KernelInfo& kernel);

// An empty module with the triple and data layout of 64-bit PTX.
StatusOr<std::unique_ptr<llvm::Module>> makeModule(std::string_view name,
                                                   llvm::LLVMContext& context, int capability);

// The PTX of `module`, which is changed by it. Calls of the C library's mathematical functions
// become code of libdevice, which is linked and made internal; `libdevice` is the file of its
// bitcode, or empty for where CUDA is installed, and is read only if something needs it. kNotFound
// if that file is not there; kInternal if the module is malformed or calls anything else.
StatusOr<std::string> compileToPtx(llvm::Module& module, int capability,
                                   std::span<const codegen::KernelInfo> kernels,
                                   const std::string& libdevice);

}  // namespace isthmus::cuda

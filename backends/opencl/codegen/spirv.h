// SPIR-V by LLVM.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "compiler/codegen/simt/work_item_kernel.h"
#include "isthmus/status.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace isthmus::opencl {

// OpenCL's kernels in LLVM IR: global memory is address space 1, work-items count themselves.
codegen::WorkItemForm kernelForm();

// Makes calls of the C library's mathematical functions (sinf) calls of OpenCL's (sin of a float),
// and integer minima and maxima selections.
void callBuiltins(llvm::Module& module);

// An empty module with the triple and data layout of 64-bit SPIR-V.
StatusOr<std::unique_ptr<llvm::Module>> makeModule(std::string_view name,
                                                   llvm::LLVMContext& context);

// The binary of `module`, which is changed by it. kInternal if the module is malformed.
StatusOr<std::string> compileToSpirv(llvm::Module& module);

}  // namespace isthmus::opencl

// SPIR-V by LLVM.
#pragma once

#include <cstdint>
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

// What multiplies small matrices, if anything.
enum class MatrixUnit : uint8_t { kNone, kIntel, kEmulated };

// What kernels are made for.
struct KernelDevice {
  // Not 0: a CPU's registers, for whose vectors kernels are written; else work-items compute one
  // element each.
  unsigned vectorBits = 0;
  // Work-items that a group may have, and the memory that they share; 0: kernels have no groups.
  unsigned groupItems = 0;
  int64_t localBytes = 0;
  int64_t maxParameters = kFewestParameters;  // pointers that a kernel may have
  bool convertsF16 = false;                   // to and from f32, by SPIR-V's conversions
  // The widest integers that work-items compare and exchange in global memory.
  unsigned atomicBits = 32;
  MatrixUnit matrices = MatrixUnit::kNone;  // of groups
  // Whether work-items of groups may read and write several neighbours as a vector.
  bool hasVectors = false;
  // Whether those of sub-groups of 16, which kernels may ask for, read each other's registers.
  bool hasSubgroupShuffle = false;
};

// OpenCL's kernels in LLVM IR: global memory is address space 1, work-items count themselves.
codegen::WorkItemForm kernelForm(const KernelDevice& device);

// Makes calls of the C library's mathematical functions (sinf) calls of OpenCL's (sin of a float),
// integer minima and maxima selections, and reductions of vectors steps by halves. Saturating
// conversions of NaN become zero.
void callBuiltins(llvm::Module& module);

// Makes absolute values of floats masks of their bits: Intel's compiler for CPUs crashes where
// work-items sum what its fabs returns ("vplan-vec").
void maskSigns(llvm::Module& module);

// Makes the few bits that LLVM's passes take of integers masks of whole ones, since neither SPIR-V
// nor OpenCL C has such types. kInternal if something else became of them.
Status widenIntegers(llvm::Module& module);

// An empty module with the triple and data layout of 64-bit SPIR-V.
StatusOr<std::unique_ptr<llvm::Module>> makeModule(std::string_view name,
                                                   llvm::LLVMContext& context);

// The binary of `module`, which is changed by it. kInternal if the module is malformed.
StatusOr<std::string> compileToSpirv(llvm::Module& module);

}  // namespace isthmus::opencl

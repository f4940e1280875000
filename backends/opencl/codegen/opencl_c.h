// OpenCL C text from LLVM IR, for drivers that take no SPIR-V.
#pragma once

#include <string>

#include "isthmus/status.h"

namespace llvm {
class Module;
}

namespace isthmus::opencl {

// The kernels of `module` as OpenCL C 1.2, with the same results bit by bit as far as the device's
// arithmetic is IEEE's. What it takes is what kernels of one lane are made of: integers of 1 to 64
// bits that C has, f32 and f64, addresses of global memory and of their own allocas, and the
// arithmetic intrinsics. kUnimplemented names the instruction that it has no text for.
StatusOr<std::string> writeOpenclC(const llvm::Module& module);

}  // namespace isthmus::opencl

// Calls of OpenCL's functions in LLVM IR.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/IRBuilder.h"

namespace isthmus::opencl {

// kConvergent: threads wait for each other, or exchange values; it stays where it is.
enum class Builtin : uint8_t { kPure, kConvergent };

// A call of one of OpenCL's functions, by its C++ name.
llvm::CallInst* callBuiltin(llvm::IRBuilder<>& b, const char* name, llvm::Type* result,
                            llvm::ArrayRef<llvm::Value*> arguments, Builtin kind);

// Tells the driver that the kernel's sub-groups have so many work-items.
void requireSubgroupsOf(unsigned items, llvm::Function& kernel);

}  // namespace isthmus::opencl

// Runs LLVM's code generator for SPIR-V, which has faults to be kept from showing.
#pragma once

#include "isthmus/status.h"
#include "llvm/ADT/SmallString.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace isthmus::opencl {

// The binary of `module`, which passes change. One thread at a time emits.
//
// LLVM 22 keeps the ids of blocks in one table for all modules of a process, by the address of the
// function and the block's number, and never clears it. A later function at the same address got
// the ids of an earlier one, which other things of its module have too, so that drivers crashed.
// Here blocks get numbers that no function at their address had.
StatusOr<llvm::SmallString<0>> emitSpirv(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace isthmus::opencl

// The control flow of a program's steps in LLVM IR, the same wherever steps become code: of a
// CPU's program, of a loop that the host carries out, of a kernel of several steps.
#pragma once

#include <cstddef>

#include "isthmus/status.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace isthmus::codegen {

// A loop, in the builder's function: `emitCondition` gives an i1, whether another round begins.
// Afterwards, the builder is behind the loop.
Status emitLoop(llvm::IRBuilder<>& b, llvm::function_ref<StatusOr<llvm::Value*>()> emitCondition,
                llvm::function_ref<Status()> emitBody);

// The one of `count` branches that `index` chooses: a byte of an `if`, of which true takes the
// first of two; else an i32, which outside of the branches takes the last one. Afterwards, the
// builder is behind the branches.
Status emitBranches(llvm::IRBuilder<>& b, llvm::Value* index, bool isIf, size_t count,
                    llvm::function_ref<Status(size_t)> emitBranch);

}  // namespace isthmus::codegen

// Squares of elements in registers.
#pragma once

#include "llvm/IR/IRBuilder.h"

namespace isthmus::codegen {

// Turns as many vectors as each has lanes, a power of two, into the columns of what they held.
void transposeSquare(llvm::IRBuilder<>& b, llvm::MutableArrayRef<llvm::Value*> rows);

}  // namespace isthmus::codegen

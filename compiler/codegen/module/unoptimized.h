// Functions that LLVM is to leave as they are.
#pragma once

#include "llvm/IR/Function.h"

namespace isthmus::codegen {

// Has neither passes nor the slow instruction selection work on the function. (LLVM's verifier
// wants such ones not to be inlined either.)
inline void leaveUnoptimized(llvm::Function& function) {
  function.addFnAttr(llvm::Attribute::OptimizeNone);
  function.addFnAttr(llvm::Attribute::NoInline);
}

}  // namespace isthmus::codegen

// Which functions of C LLVM's passes may make calls of.
#pragma once

#include "llvm/Analysis/TargetLibraryInfo.h"

namespace llvm {
class Module;
}

namespace isthmus::cpu {

// Those that generated code finds when it is loaded, such as exp2 for a power of two, and no others
// that the module's platform is known to have.
llvm::TargetLibraryInfoImpl runtimeLibrary(const llvm::Module& module);

}  // namespace isthmus::cpu

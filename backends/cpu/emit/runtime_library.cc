// Which functions of C LLVM's passes may make calls of.
#include "backends/cpu/emit/runtime_library.h"

#include <string_view>

#include "backends/cpu/load/object_loader.h"
#include "llvm/IR/Module.h"

namespace isthmus::cpu {

llvm::TargetLibraryInfoImpl runtimeLibrary(const llvm::Module& module) {
  llvm::TargetLibraryInfoImpl library(module.getTargetTriple());
  library.disableAllFunctions();
  for (std::string_view name : runtimeSymbols()) {
    llvm::LibFunc function;
    if (library.getLibFunc(name, function)) library.setAvailable(function);
  }
  return library;
}

}  // namespace isthmus::cpu

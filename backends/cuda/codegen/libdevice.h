// NVIDIA's library of mathematical functions as LLVM bitcode.
#pragma once

#include <string>

#include "isthmus/status.h"

namespace llvm {
class Module;
}

namespace isthmus::cuda {

// Links what `module` calls of the C library's mathematical functions (sinf, pow) from libdevice
// (__nv_sinf, __nv_pow), as internal functions. `path` as in compileToPtx; a module that calls none
// needs no file.
Status linkLibdevice(llvm::Module& module, const std::string& path);

}  // namespace isthmus::cuda

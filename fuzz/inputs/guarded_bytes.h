// Input that ends where memory ends: LLVM's and MLIR's archives are not instrumented, so what they
// read beyond it only a page without access can tell.
#pragma once

#include <string_view>

namespace isthmus::fuzz {

// A copy of `bytes` whose last byte is the last one before a page that cannot be read. It is valid
// until the next call, on the same thread or another: not for concurrent use.
std::string_view guardEnd(std::string_view bytes);

}  // namespace isthmus::fuzz

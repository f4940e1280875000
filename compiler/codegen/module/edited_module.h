// LLVM IR that was written to a dump, was edited there, and is compiled in place of what was
// written.
#pragma once

#include <memory>
#include <string_view>

#include "isthmus/status.h"

namespace llvm {
class Module;
}

namespace isthmus::codegen {

// What `text`, the contents of the override `fileName`, says, in the context of `generated`, which
// it stands for: LLVM's verifier accepts it, it is for the same target, has the functions and
// arrays that others look for in `generated`, and calls none that `generated` does not know.
// kInvalidArgument, naming the file, says what is wrong.
StatusOr<std::unique_ptr<llvm::Module>> readEditedModule(const llvm::Module& generated,
                                                         std::string_view text,
                                                         std::string_view fileName);

}  // namespace isthmus::codegen

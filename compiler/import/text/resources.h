// Constants whose elements stand at the end of the text.
#pragma once

#include "compiler/import/bytecode/cursor.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus::importer {

// Gives small constants their elements as all others have them, which kernels are made with; large
// ones stay where they are. False, and an error in `sink`, if a constant's resource has not the
// bytes of its type: where a printer left out the elements, it has none.
bool readResources(mlir::ModuleOp module, ErrorSink& sink);

}  // namespace isthmus::importer

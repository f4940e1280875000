// The textual form of programs.
#pragma once

#include <string>

#include "compiler/import/bytecode/cursor.h"
#include "mlir/IR/MLIRContext.h"

namespace isthmus::importer {

// The program with operations, types and attributes of `mhlo` named as those of `stablehlo` that
// they are. `mhlo.copy` becomes `stablehlo.optimization_barrier`, which also is the identity.
// Discardable attributes such as `mhlo.sharding` keep their names.
std::string renameMhlo(llvm::StringRef text, mlir::MLIRContext& context);

// The program with large boolean constants, which are written in hexadecimal, as this MLIR reads
// them: newer ones write a byte for each element, ours a bit.
std::string packHexBooleans(llvm::StringRef text);

}  // namespace isthmus::importer

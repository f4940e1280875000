// HLO protos, as PyTorch/XLA and TensorFlow send them, into StableHLO.
#pragma once

#include "compiler/import/bytecode/cursor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace isthmus::importer {

// The module, not verified; null with the error in the sink. `withConfig` says whether `code` is an
// HloModuleProto or an HloModuleProtoWithConfig.
//
// Tuples are flattened: the entry function takes and returns their leaves in order. Computations
// that operations apply become regions, those that are called become private functions.
mlir::OwningOpRef<mlir::ModuleOp> readHlo(llvm::StringRef code, bool withConfig,
                                          mlir::MLIRContext& context, ErrorSink& sink);

}  // namespace isthmus::importer

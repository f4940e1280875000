// Reads the operations of a bytecode file, upgrading those of VHLO to StableHLO on the way.
#pragma once

#include "compiler/import/bytecode/attribute_decoder.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace isthmus::importer {

// The module, not verified. Null with the error in the decoder's sink, or in a diagnostic.
//
// Every operation must be of a dialect that is loaded. Casts that change nothing disappear: they
// stand where VHLO and builtin types met in a program that mixes VHLO with other dialects.
mlir::OwningOpRef<mlir::ModuleOp> readModule(AttributeDecoder& decoder);

}  // namespace isthmus::importer

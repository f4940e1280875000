// StableHLO's operations, attributes and types as MLIR classes, and how a context gets to know
// them.
//
// Everything here is generated from ops/*.td. Class and accessor names are those of upstream's
// dialect, in namespace isthmus::shlo. Functions are MLIR's func dialect.
#pragma once

#include "compiler/dialect/assembly/assembly.h"
#include "compiler/dialect/traits.h"
#include "compiler/dialect/types/type_predicates.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ops/dialect.h.inc"
#include "ops/enums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "ops/types.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ops/attributes.h.inc"

namespace isthmus::shlo {

// What the operations with effects on the outside read and write.
struct InfeedResource : mlir::SideEffects::Resource::Base<InfeedResource> {
  llvm::StringRef getName() override { return "infeed"; }
};
struct OutfeedResource : mlir::SideEffects::Resource::Base<OutfeedResource> {
  llvm::StringRef getName() override { return "outfeed"; }
};
struct SendResource : mlir::SideEffects::Resource::Base<SendResource> {
  llvm::StringRef getName() override { return "send"; }
};
struct RecvResource : mlir::SideEffects::Resource::Base<RecvResource> {
  llvm::StringRef getName() override { return "recv"; }
};

}  // namespace isthmus::shlo

// control_flow first: other families' regions end in its ReturnOp.
#define GET_OP_CLASSES
#include "ops/control_flow.h.inc"
#define GET_OP_CLASSES
#include "ops/unary.h.inc"
#define GET_OP_CLASSES
#include "ops/binary.h.inc"
#define GET_OP_CLASSES
#include "ops/data_movement.h.inc"
#define GET_OP_CLASSES
#include "ops/reduction.h.inc"
#define GET_OP_CLASSES
#include "ops/contraction.h.inc"
#define GET_OP_CLASSES
#include "ops/collective.h.inc"
#define GET_OP_CLASSES
#include "ops/dynamic.h.inc"
#define GET_OP_CLASSES
#include "ops/misc.h.inc"

namespace isthmus {

// Registers every dialect that a program may use: builtin, func, quant, stablehlo, isthmus.
void registerAllDialects(mlir::DialectRegistry& registry);
// Loads them at once, which parsing does not need but building operations does.
void loadAllDialects(mlir::MLIRContext& context);

}  // namespace isthmus

// The sdy dialect: meshes and shardings, as JAX says them. Names are those of openxla/shardy.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ops/sdy_dialect.h.inc"
#include "ops/sdy_enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ops/sdy_attributes.h.inc"

#define GET_OP_CLASSES
#include "ops/sdy.h.inc"

namespace isthmus::sdy {

// Discardable attributes that carry shardings, of arguments and results of functions and of
// operations.
inline constexpr llvm::StringLiteral kSharding = "sdy.sharding";
inline constexpr llvm::StringLiteral kShardingRule = "sdy.sharding_rule";

}  // namespace isthmus::sdy

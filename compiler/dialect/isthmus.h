// The isthmus dialect: fused regions, what the compiler's middle makes of StableHLO.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ops/isthmus_dialect.h.inc"

namespace isthmus::ir {
class YieldOp;
}

namespace isthmus::ir {
// The attribute of a collective that only sets out: a number that its isthmus.await has too.
inline constexpr llvm::StringLiteral kStartedAs = "isthmus.started_as";
}  // namespace isthmus::ir

#define GET_OP_CLASSES
#include "ops/isthmus.h.inc"

// The chlo dialect: functions that JAX has and StableHLO has not. They reach us in text alone.
#pragma once

#include "compiler/dialect/types/type_predicates.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ops/chlo_dialect.h.inc"
#include "ops/chlo_enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ops/chlo_attributes.h.inc"

namespace isthmus::chlo {

// Whether the operands grow to the shape of the result: by broadcast_dimensions if there are some
// and an operand is of lower rank, else aligned at the last dimension.
bool broadcasts(mlir::Operation* op);
// Whether the result is complex, of parts that have the operands' element type.
bool hasPartsOf(mlir::Operation* op);

}  // namespace isthmus::chlo

#define GET_OP_CLASSES
#include "ops/chlo.h.inc"

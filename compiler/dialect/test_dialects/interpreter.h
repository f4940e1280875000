// The interpreter dialect: operations of StableHLO's own interpreter in its tests. Only test tools
// register it.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

#include "ops/interpreter_dialect.h.inc"

#define GET_OP_CLASSES
#include "ops/interpreter.h.inc"

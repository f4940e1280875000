// Arrays moved along a dimension, as jnp.roll and stencils write it: neighbours exchange halos.
#pragma once

#include <optional>

#include "compiler/dialect/dialect.h"
#include "compiler/partition/spmd_builder.h"

namespace isthmus {

// result[i] = operand[i + by] along `dimension`; beyond the ends the other end if it wraps, else
// operand 1, a scalar. A custom call, so that it goes through the partitioner like an operation.
struct Shift {
  int64_t dimension = 0;
  int64_t by = 0;
  bool wraps = false;
};

// What `op` shifts, if it is such a call.
std::optional<Shift> shiftOf(mlir::Operation* op);

// Replaces concatenations of an array's two parts in exchanged order, and slices of padded arrays
// of the array's size, by shifts.
void recognizeShifts(mlir::ModuleOp module);

// The shift of an array with `rows` rows along its dimension of which `operands[0]` is this
// device's block: split as `sharding` says.
mlir::Value shiftBlocks(const Shift& shift, int64_t rows, mlir::ValueRange operands,
                        const MeshSharding& sharding, mlir::OpBuilder& builder, SpmdBuilder& spmd,
                        mlir::Location location);

}  // namespace isthmus

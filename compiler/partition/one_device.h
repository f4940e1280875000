// Custom calls that not all devices run alike: on one of them, or each with its blocks.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/dialect/dialect.h"
#include "compiler/partition/spmd_builder.h"
#include "isthmus/status.h"

namespace isthmus {

// The partition that alone shall run `call`, by its sharding: Shardy's mesh of no axes and one
// device, or GSPMD's "{maximal device=N}". None if all run it. Errors: a device that is none of the
// program's.
StatusOr<std::optional<int64_t>> onlyPartitionOf(shlo::CustomCallOp call, int64_t numPartitions);

// Whether `op` is a callback of JAX that each device shall run with its own blocks of the operands.
bool runsWithBlocks(mlir::Operation* op);

// Emits `call` of `operands` so that `partition` runs it and all get its results.
llvm::SmallVector<mlir::Value> callOnOnePartition(shlo::CustomCallOp call,
                                                  mlir::ValueRange operands, int64_t partition,
                                                  int64_t numPartitions, mlir::OpBuilder& builder,
                                                  SpmdBuilder& spmd);

}  // namespace isthmus

// Turns the program over a mesh of devices into the program that each device runs.
#pragma once

#include <cstdint>

#include "isthmus/status.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus {

// Discardable attributes of @main's arguments and results that this stage leaves: a serialized
// xla.OpSharding of the global array (StringAttr), in programs for several partitions.
inline constexpr char kShardingAttribute[] = "isthmus.sharding";

// Rewrites @main of `module` for `numPartitions` devices:
//   * the regions of sdy.manual_computation are already per-device code and become part of it;
//   * operations that have a split rule (split_rules.h) compute blocks from blocks, from parameters
//     on; what the rule needs whole is gathered;
//   * everything else is computed whole on every device: operands that are split are gathered, and
//     each device keeps its slice of results that are asked for split. Always right, seldom fast.
// Parameters and results take their local shapes. All sdy operations and attributes are gone after.
Status partitionProgram(mlir::ModuleOp module, int64_t numPartitions);

}  // namespace isthmus

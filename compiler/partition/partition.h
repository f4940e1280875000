// Turns the program over a mesh of devices into the program that each device runs.
#pragma once

#include <cstdint>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/dialect/dialect.h"
#include "compiler/target/target_model.h"
#include "isthmus/status.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace isthmus {

// Discardable attributes of @main's arguments and results that this stage leaves: a serialized
// xla.OpSharding of the global array (StringAttr), in programs for several partitions.
inline constexpr char kShardingAttribute[] = "isthmus.sharding";

// What one device does of a custom call: @main of a program without calls, on blocks of the
// operands. The shardings of operands and results are as mhlo.sharding attributes say them.
struct PartitionedCall {
  mlir::OwningOpRef<mlir::ModuleOp> program;
  std::vector<std::string> operands;
  std::vector<std::string> results;
};

// Asks somebody else how a call is split whose operands and results are split as serialized
// xla.OpShardings say. Nothing if nobody splits calls of this name.
using CallPartitioner = std::function<StatusOr<std::optional<PartitionedCall>>(
    shlo::CustomCallOp call, const std::vector<std::string>& operands,
    const std::vector<std::string>& results)>;

// Rewrites @main of `module` for `numPartitions` devices:
//   * the regions of sdy.manual_computation are already per-device code and become part of it;
//   * operations that have a split rule (split_rules.h) compute blocks from blocks, from parameters
//     on; what the rule needs whole is gathered;
//   * custom calls that `partitionCall` knows are what it makes of them;
//   * everything else is computed whole on every device: operands that are split are gathered, and
//     each device keeps its slice of results that are asked for split. Always right, seldom fast.
// Parameters and results take their local shapes. All sdy operations and attributes are gone after.
Status partitionProgram(mlir::ModuleOp module, int64_t numPartitions, const TargetModel& target,
                        CallPartitioner partitionCall = nullptr);

}  // namespace isthmus

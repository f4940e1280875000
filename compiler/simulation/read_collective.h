// Which devices an operation makes meet, and what they send.
#pragma once

#include <optional>

#include "compiler/simulation/collective_cost.h"
#include "mlir/IR/Operation.h"

namespace isthmus::simulation {

// The devices of a program, numbered replica by replica: replica * numPartitions + partition.
struct DeviceGrid {
  int64_t numReplicas = 1;
  int64_t numPartitions = 1;
  int64_t numDevices() const { return numReplicas * numPartitions; }
};

// The collective that `op` is, with groups of device ids as its channel and its flags mean them
// (StableHLO's specification, "Collective ops"); none if it is no collective. kInvalidArgument for
// ids that no device has, kUnimplemented for groups that are no table.
StatusOr<std::optional<Collective>> readCollective(mlir::Operation* op, DeviceGrid grid);

}  // namespace isthmus::simulation

// The partition pass with somebody who knows how custom calls are split.
#pragma once

#include <memory>

#include "compiler/partition/partition.h"
#include "mlir/Pass/Pass.h"

namespace isthmus {

std::unique_ptr<mlir::Pass> createPartitionPass(int64_t numPartitions,
                                                CallPartitioner partitionCall,
                                                const TargetModel& target);

}  // namespace isthmus

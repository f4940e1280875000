// Cumulative sums and their like along a split dimension.
#pragma once

#include <optional>

#include "compiler/dialect/dialect.h"
#include "compiler/partition/spmd_builder.h"

namespace isthmus {

// A reduce_window whose window reaches from each row to the first of `dimension`, or, if reversed,
// to the last.
struct RunningWindow {
  int64_t dimension = 0;
  bool isReversed = false;
};

// What `op` is, if it is one whose reducer is a single operation that initial values do not change.
std::optional<RunningWindow> runningWindowOf(shlo::ReduceWindowOp op);

// `op`, a copy on this device's block, becomes the running window of the block; what the blocks
// before it come to is combined with that. `sharding` is that of the result.
mlir::Value runOverBlocks(const RunningWindow& window, shlo::ReduceWindowOp op,
                          const MeshSharding& sharding, mlir::OpBuilder& builder,
                          SpmdBuilder& spmd);

}  // namespace isthmus

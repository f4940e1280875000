// Schedules of stages that are loops over results.
#pragma once

#include "compiler/schedule/choose_schedule.h"

namespace isthmus {

// Fills in all but the kind and the results of `stage`.
void scheduleLoop(ir::FusionOp fusion, const TargetModel& target, LoopStage* stage);

// Where one root's type has the dimensions of the iteration space: all but those of size 1.
llvm::SmallVector<int64_t, 6> spaceOf(mlir::RankedTensorType type);

}  // namespace isthmus

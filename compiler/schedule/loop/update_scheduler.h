// Schedules of stages that are one op with all its results: scans, and updates in place.
#pragma once

#include "compiler/schedule/choose_schedule.h"

namespace isthmus {

// The stages of a scan that are like `stage`, whose kind and results are known: one, or on GPUs
// parts that run one after the other.
llvm::SmallVector<ScanStage, 3> scheduleScan(ir::FusionOp fusion, const TargetModel& target,
                                             const ScanStage& stage);

// Fill in all but the kind and the results of `stage`.
void scheduleScatter(ir::FusionOp fusion, const TargetModel& target, UpdateStage* stage);
void scheduleUpdateSlice(ir::FusionOp fusion, const TargetModel& target, UpdateStage* stage);
void scheduleSelectAndScatter(ir::FusionOp fusion, const TargetModel& target, UpdateStage* stage);

// Lanes for the widest of `values`, along a dimension of `size`.
unsigned lanesFor(const TargetModel& target, mlir::ValueRange values, int64_t size);
// Cuts dimension `dim` of `size` into at most `most` tiles of at least `least` elements each, where
// those are more than the tiles so far.
void tileBy(WholeStage* stage, TileSpace space, int64_t dim, int64_t size, int64_t least,
            int64_t most);

}  // namespace isthmus

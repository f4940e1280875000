// Schedules of stages that are one op with all its results: scans, and updates in place.
#pragma once

#include "compiler/schedule/choose_schedule.h"

namespace isthmus {

// Fill in all but the kind and the results of `stage`.
void scheduleScan(ir::FusionOp fusion, const TargetModel& target, StageSchedule* stage);
void scheduleScatter(ir::FusionOp fusion, const TargetModel& target, StageSchedule* stage);
void scheduleUpdateSlice(ir::FusionOp fusion, const TargetModel& target, StageSchedule* stage);
void scheduleSelectAndScatter(ir::FusionOp fusion, const TargetModel& target, StageSchedule* stage);

}  // namespace isthmus

// The schedule pass: each fusion gets the schedule that its kernel will have.
#pragma once

#include <memory>

#include "compiler/target/target_model.h"
#include "mlir/Pass/Pass.h"

namespace isthmus {

// A fusion that no kernel can compute is left without one; code generation says why.
std::unique_ptr<mlir::Pass> createSchedulePass(const TargetModel& target);

// Makes -schedule known to command lines; there it is for the default target.
void registerSchedulePass();

}  // namespace isthmus

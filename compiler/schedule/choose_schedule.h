// The analysis between fusion and emission.
#pragma once

#include "compiler/dialect/isthmus.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target_model.h"

namespace isthmus {

// How `fusion` is best computed on `target`. The same for equal fusions and targets.
// kUnimplemented if no kernel can have the fusion's results.
StatusOr<KernelSchedule> chooseSchedule(ir::FusionOp fusion, const TargetModel& target);

// Whether obeying `schedule` gives a kernel that computes `fusion` within the target's limits: what
// an edited dump says is not trusted. kInvalidArgument says what is wrong.
Status verifySchedule(const KernelSchedule& schedule, ir::FusionOp fusion,
                      const TargetModel& target);

// The schedule that the fusion carries (verified), or the one that is chosen.
StatusOr<KernelSchedule> scheduleOf(ir::FusionOp fusion, const TargetModel& target);
// Makes the fusion carry `schedule`.
void attachSchedule(const KernelSchedule& schedule, ir::FusionOp fusion);

// A value that a loop, copy or fill stores.
struct Root {
  mlir::Value value;
  unsigned result;   // of the fusion
  int operand = -1;  // of the fusion: the same memory needs no copy; -1 for what is computed
  mlir::Value shapedLike = nullptr;  // if set, `value` is a number that fills an array of its shape

  mlir::RankedTensorType type() const;
};
llvm::SmallVector<Root, 4> rootsOf(ir::FusionOp fusion, const LoopStage& stage);
// What a loop stores after each row.
llvm::SmallVector<Root, 2> rowRootsOf(ir::FusionOp fusion, const LoopStage& stage);

// Whether each row of a loop stage is computed by one piece, which knows when it is finished.
bool finishesRows(const LoopStage& stage);

// The running reduction of a fusion that has one; null for others.
shlo::ReduceWindowOp scanIn(ir::FusionOp fusion);
// The op that computes the results of a stage which is no loop, or what they are computed from.
mlir::Operation* wholeOpOf(ir::FusionOp fusion, const StageBase& stage);

// Ops by their numbers in the fusion's block.
mlir::Operation* opNumbered(ir::FusionOp fusion, unsigned number);

}  // namespace isthmus

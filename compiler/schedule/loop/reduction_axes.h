// The loops of a reduction.
#pragma once

#include <optional>

#include "compiler/dialect/dialect.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/element_kind.h"
#include "compiler/target/target_model.h"

namespace isthmus {

struct ReducedAxis {
  int64_t dim;  // of the operand: where the loop's index goes
  int64_t size;
};

struct ReducedAxes {
  // Outermost first; none of size 1 beside another.
  llvm::SmallVector<ReducedAxis, 4> axes;
  // Bit d: dimension d has joined the loop of d + 1, since nothing that is read tells them apart.
  uint64_t merged = 0;
};
ReducedAxes reducedAxesOf(shlo::ReduceOp reduce);

// Which reductions of a stage may share their loops, as computed by one strategy along the same
// axes of operands of one shape: those of a list, of two or more, do not depend on each other, nor
// does any list on another one in a circle.
llvm::SmallVector<llvm::SmallVector<shlo::ReduceOp, 4>, 2> reductionsOfOneLoop(
    ir::FusionOp fusion, const FusedStage& stage);

// Whether the reducer is one op that some value leaves unchanged, so that accumulators can start
// from that.
bool hasNeutralValue(shlo::ReduceOp reduce);
// Whether it sums floats or complex numbers, so that its error grows with what is combined one
// after the other.
bool isRounded(shlo::ReduceOp reduce);
// ReductionSchedule::block of a reduction row by row (kAccumulate).
unsigned blockOfRows(shlo::ReduceOp reduce);
// The same of a reducer of numbers of `kind`: such ops are associative.
bool hasNeutralValue(mlir::Region& reducer, const ElementKind& kind);

// Whether so many threads of a group can share the reduction, each of which begins with so many
// neighbours: from the neutral value, or else from the row's first elements, of which there is then
// one for each.
bool canShareInGroup(shlo::ReduceOp reduce, unsigned threads, unsigned neighbours);

// How lanes would share the work of `reduce`, which has the number `op`.
ReductionSchedule chooseRowReduction(shlo::ReduceOp reduce, unsigned op, const TargetModel& target);

// Accumulators of that, where rows are few vectors long and the next row does not wait for this
// one: they are there to spare rounds of a loop, which take as long as a load and its addition.
unsigned chainsOfShortRow(shlo::ReduceOp reduce, const ReductionSchedule& schedule,
                          const TargetModel& target);

}  // namespace isthmus

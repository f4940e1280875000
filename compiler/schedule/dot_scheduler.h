// A dot_general and the elementwise work on its result as one stage: the work is done on each
// rectangle of sums while it is in cache.
#pragma once

#include "compiler/dialect/dialect.h"
#include "compiler/schedule/choose_schedule.h"

namespace isthmus {

// The dot_general that a fusion computes; null if there is none.
shlo::DotGeneralOp contractionOf(ir::FusionOp fusion);
// It, or the convolution, which no kernel computes with other work, but libraries do; null if the
// fusion has neither.
mlir::Operation* productOf(ir::FusionOp fusion);

// A result of the shape of `dot`'s as a matrix of its sums: the first `rowRank` dimensions are
// rows, the others columns.
struct SumsMatrix {
  int64_t rows = 1;
  int64_t cols = 1;
  int64_t rowRank = 0;
};
SumsMatrix sumsMatrixOf(shlo::DotGeneralOp dot);
// The same matrix over dimensions that were reshaped; nothing if rows and columns are mixed in one.
std::optional<SumsMatrix> reshaped(const SumsMatrix& matrix, mlir::RankedTensorType type);

// What products of `dot` are summed in; null if no epilogue can read it.
mlir::Type sumsTypeOf(shlo::DotGeneralOp dot);
// Whether an array of `type` has room for the sums, element for element.
bool canHoldSums(shlo::DotGeneralOp dot, mlir::Type type);

// Why `fusion` cannot be the epilogue of `dot`, whose result it knows as `sums`; null if it can. A
// part of a sentence.
const char* epilogueRefusal(ir::FusionOp fusion, mlir::Value sums, shlo::DotGeneralOp dot,
                            const TargetModel& target);

// Lanes of the widest type that `fusion` computes with.
unsigned epilogueLanesFor(ir::FusionOp fusion, const TargetModel& target);
// How many neighbours along the columns an epilogue is given at once, of a device's kernel.
unsigned epilogueLanesOf(const DotStage& stage);

// Fills in all but the kind and the results of `stage`.
void scheduleDot(ir::FusionOp fusion, const TargetModel& target, DotStage* stage);

}  // namespace isthmus

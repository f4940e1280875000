// A product, a kernel on its rows and a product of what that gives, as one stage: rows of scores
// are computed, worked on and multiplied some at a time, and never stored.
#pragma once

#include <optional>

#include "compiler/dialect/dialect.h"
#include "compiler/schedule/choose_schedule.h"

namespace isthmus {

// Operations in one block, in this order; in a fusion that is an attention, or not fused yet.
struct Attention {
  shlo::DotGeneralOp scores;  // its rows are those of the left operand
  ir::FusionOp rows;          // from scores to weights
  shlo::DotGeneralOp values;
  shlo::TransposeOp transpose;  // of the result; may be null

  mlir::Value result() { return transpose ? transpose.getResult() : values.getResult(); }
  // The operand of `rows` that the scores are.
  unsigned scoresOperand();
  // Whether the weights are the left operand of `values`.
  bool weightsAreLeft() { return values.getLhs() == rows->getResult(0); }
};

// The attention that a fusion is; nothing for other fusions.
std::optional<Attention> attentionOf(ir::FusionOp fusion);
// The one whose weights `rows` computes, where it is used by nothing else.
std::optional<Attention> attentionAround(ir::FusionOp rows);

// Why it cannot be one kernel; null if it can. A part of a sentence.
const char* attentionRefusal(Attention attention, const TargetModel& target);

// How `rows` computes rows one by one: the schedule that it carries, or else the chosen one, with
// tiles of one row.
StatusOr<KernelSchedule> rowScheduleOf(ir::FusionOp rows, const TargetModel& target);

// Fills in all but the kind and the results of `stage`.
void scheduleAttention(ir::FusionOp fusion, const TargetModel& target, StageSchedule* stage);

}  // namespace isthmus

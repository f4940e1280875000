// Products, a kernel on their rows and products of what that gives, as one stage: rows of scores
// are computed, worked on and multiplied some at a time, and never stored. Attention is one product
// of each kind; its gradient, of which attention_gradient.h tells, has two and three.
#pragma once

#include <optional>

#include "compiler/dialect/dialect.h"
#include "compiler/schedule/choose_schedule.h"

namespace isthmus {

// A product of which one operand is weights.
struct RowProduct {
  shlo::DotGeneralOp dot;
  shlo::TransposeOp transpose;  // of the result, where that is all; may be null
  unsigned weights = 0;         // which result of the rows
  bool sumsRows = false;        // over the rows of each batch, not over the elements of each row
  // What moves and converts elements of the result, in this order: the transpose, if there is one;
  // only in a fusion that a library computes more than that.
  llvm::SmallVector<mlir::Operation*, 3> moves = {};

  mlir::Value result() {
    return moves.empty() ? mlir::Value(dot.getResult()) : moves.back()->getResult(0);
  }
};

// Operations in one block, in this order; in a fusion that is an attention, or not fused yet.
struct Attention {
  llvm::SmallVector<shlo::DotGeneralOp, 2> scores;  // their rows are those of the left operands
  ir::FusionOp rows;                                // from scores to weights
  // In the order of the fusion's results. None: `rows` reduces each row to numbers, which are the
  // results (CPUs).
  llvm::SmallVector<RowProduct, 3> products;

  // The operand of `rows` that these scores are.
  unsigned scoresOperand(unsigned i);
  mlir::Value weights(const RowProduct& product) { return rows->getResult(product.weights); }
  // What is multiplied, but for scores and weights. In a fusion that a library computes, they may
  // be views of its arguments.
  llvm::SmallVector<mlir::Value> operandsOfProducts();
  // Whether the weights are the left operand.
  bool weightsAreLeft(RowProduct& product) { return product.dot.getLhs() == weights(product); }
};

// Behind what repeats elements or adds dimensions of size 1.
mlir::Value stripViews(mlir::Value value);

// Which of a product's operands and results the runtime has room for.
inline constexpr size_t kMaxScores = 2;
inline constexpr size_t kMaxWeights = 2;
inline constexpr size_t kMaxRowProducts = 4;

// The attention that a fusion is; nothing for other fusions.
std::optional<Attention> attentionOf(ir::FusionOp fusion);
// Whether a fusion is a product, or a library's convolution, and what is done with its sums, which
// attention is more than.
bool isProductWithEpilogue(ir::FusionOp fusion);
// The one whose weights `rows` computes, where one product uses them and nothing else.
std::optional<Attention> attentionAround(ir::FusionOp rows);
// The one whose rows `rows` reduces to numbers, of scores that nothing else uses.
std::optional<Attention> reductionAround(ir::FusionOp rows);
// Whether `dot` sums over the rows of `weights`, one of its operands, for each batch of `scores`.
bool contractsRows(shlo::DotGeneralOp scores, mlir::Value weights, shlo::DotGeneralOp dot);

// Why its parts do not fit each other as rows between products; null if they do. A part of a
// sentence.
const char* partsRefusal(Attention attention, const TargetModel& target);
// Why it cannot be one kernel; null if it can. A part of a sentence.
const char* attentionRefusal(Attention attention, const TargetModel& target);

// How `rows` computes rows one by one: the schedule that it carries, or else the chosen one, with
// tiles of one row.
StatusOr<KernelSchedule> rowScheduleOf(ir::FusionOp rows, const TargetModel& target);

// Fills in all but the kind and the results of `stage`: of a kernel's, or of one that a library
// computes.
void scheduleAttention(ir::FusionOp fusion, const TargetModel& target, bool isOfLibrary,
                       AttentionStage* stage);

}  // namespace isthmus

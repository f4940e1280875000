#include "compiler/schedule/attention.h"

#include <algorithm>

#include "compiler/dialect/array_shape.h"
#include "compiler/schedule/cost.h"
#include "compiler/schedule/dot_scheduler.h"
#include "compiler/schedule/iteration.h"
#include "compiler/target/element_kind.h"

namespace isthmus {
namespace {

mlir::Operation* onlyUser(mlir::Value value) {
  return value.hasOneUse() ? *value.user_begin() : nullptr;
}

bool isFloat(mlir::Value value) {
  auto kind = elementKind(tensorTypeOf(value).getElementType());
  return kind && kind->isFloat() && (!kind->small || kind->isBf16 || kind->isF16);
}

// Dimensions of sizes other than 1: those of size 1 come and go without a change of what is
// computed.
llvm::SmallVector<int64_t> realDims(mlir::Value value) {
  llvm::SmallVector<int64_t> dims;
  for (auto [d, size] : llvm::enumerate(tensorTypeOf(value).getShape())) {
    if (size != 1) dims.push_back(static_cast<int64_t>(d));
  }
  return dims;
}

// Whether `dims`, without those of size 1, are real dimensions [first, last) of `value`.
bool areRealDims(mlir::Value value, llvm::ArrayRef<int64_t> dims, size_t first, size_t last,
                 bool isOrdered) {
  llvm::SmallVector<int64_t> real = realDims(value), given;
  llvm::copy_if(dims, std::back_inserter(given),
                [&](int64_t d) { return tensorTypeOf(value).getDimSize(d) != 1; });
  if (!isOrdered) llvm::sort(given);
  return last <= real.size() &&
         llvm::ArrayRef<int64_t>(given) == llvm::ArrayRef<int64_t>(real).slice(first, last - first);
}

// Whether all that `rows` computes of the scores at a row stays in that row, and the weights are
// elements of rows.
class RowAnalysis {
 public:
  RowAnalysis(ir::FusionOp rows, unsigned operand)
      : block_(rows.getBody().front()),
        scores_(block_.getArgument(operand)),
        fullShape_(squeezedShape(scores_.getType())),
        rowShape_(llvm::ArrayRef<int64_t>(fullShape_).drop_back()) {}

  bool run() {
    full_.insert(scores_);
    for (mlir::Operation& op : block_.without_terminator()) {
      if (follows(op) && !visit(op)) return false;
    }
    return isReduced_ && full_.contains(block_.getTerminator()->getOperand(0));
  }

 private:
  bool isFull(mlir::Value value) const { return full_.contains(value); }
  bool isRow(mlir::Value value) const { return row_.contains(value); }
  bool follows(mlir::Operation& op) const {
    return llvm::any_of(op.getOperands(), [&](mlir::Value v) { return isFull(v) || isRow(v); });
  }

  bool visit(mlir::Operation& op) {
    if (auto reduce = mlir::dyn_cast<shlo::ReduceOp>(op)) return visitReduce(reduce);
    mlir::Value result = op.getResult(0);
    auto broadcast = mlir::dyn_cast<shlo::BroadcastInDimOp>(op);
    if (broadcast && isRow(broadcast.getOperand()) &&
        squeezedShape(result.getType()) == fullShape_) {
      // A number of each row for all of its elements.
      llvm::SmallVector<int64_t> dims;
      for (int64_t d : realDims(broadcast.getOperand())) {
        dims.push_back(broadcast.getBroadcastDimensions()[d]);
      }
      full_.insert(result);
      return areRealDims(result, dims, 0, rowShape_.size(), true);
    }
    // The same elements at the same places.
    const bool keepsOrder = isElementwise(&op) || mlir::isa<shlo::ReshapeOp>(op) ||
                            (broadcast && llvm::is_sorted(broadcast.getBroadcastDimensions()));
    const bool fromFull = llvm::any_of(op.getOperands(), [&](mlir::Value v) { return isFull(v); });
    const bool fromRow = llvm::any_of(op.getOperands(), [&](mlir::Value v) { return isRow(v); });
    if (!keepsOrder || (fromFull && fromRow)) return false;
    (fromFull ? full_ : row_).insert(result);
    return squeezedShape(result.getType()) == (fromFull ? fullShape_ : rowShape_);
  }

  bool visitReduce(shlo::ReduceOp reduce) {
    for (mlir::Value input : reduce.getInputs()) {
      if (squeezedShape(input.getType()) != fullShape_ || isRow(input)) return false;
    }
    for (mlir::Value init : reduce.getInitValues()) {
      if (isFull(init) || isRow(init)) return false;
    }
    row_.insert(reduce->result_begin(), reduce->result_end());
    isReduced_ = true;
    return areRealDims(reduce.getInputs()[0], reduce.getDimensions(), rowShape_.size(),
                       fullShape_.size(), true);
  }

  mlir::Block& block_;
  mlir::Value scores_;
  llvm::SmallVector<int64_t> fullShape_;
  llvm::SmallVector<int64_t> rowShape_;
  llvm::DenseSet<mlir::Value> full_, row_;
  bool isReduced_ = false;
};

// Whether the second product sums the columns of the weights, for each batch of the scores.
bool contractsColumns(Attention attention) {
  mlir::Value weights = attention.rows->getResult(0);
  const size_t rank = realDims(weights).size();
  const size_t batches = static_cast<size_t>(llvm::count_if(
      attention.scores.getDotDimensionNumbers().getLhsBatchingDimensions(),
      [&](int64_t d) { return tensorTypeOf(attention.scores.getLhs()).getDimSize(d) != 1; }));
  shlo::DotDimensionNumbersAttr numbers = attention.values.getDotDimensionNumbers();
  const bool isLeft = attention.weightsAreLeft();
  return areRealDims(
             weights,
             isLeft ? numbers.getLhsContractingDimensions() : numbers.getRhsContractingDimensions(),
             rank - 1, rank, true) &&
         areRealDims(
             weights,
             isLeft ? numbers.getLhsBatchingDimensions() : numbers.getRhsBatchingDimensions(), 0,
             batches, false);
}

}  // namespace

unsigned Attention::scoresOperand() {
  unsigned operand = 0;
  while (rows->getOperand(operand) != scores.getResult()) ++operand;
  return operand;
}

std::optional<Attention> attentionAround(ir::FusionOp rows) {
  if (rows->getNumResults() != 1 ||
      !mlir::isa<mlir::RankedTensorType>(rows->getResult(0).getType())) {
    return std::nullopt;
  }
  Attention attention;
  attention.rows = rows;
  attention.values = mlir::dyn_cast_or_null<shlo::DotGeneralOp>(onlyUser(rows->getResult(0)));
  if (!attention.values) return std::nullopt;
  for (mlir::Value operand : rows->getOperands()) {
    auto dot = operand.getDefiningOp<shlo::DotGeneralOp>();
    if (dot && dot->hasOneUse() && dot->getBlock() == rows->getBlock() &&
        operand.getType() == dot.getType() &&
        squeezedShape(operand.getType()) == squeezedShape(rows->getResult(0).getType())) {
      attention.scores = dot;
    }
  }
  if (!attention.scores || attention.values->getBlock() != rows->getBlock()) return std::nullopt;
  return attention;
}

std::optional<Attention> attentionOf(ir::FusionOp fusion) {
  auto inner = fusion.getBody().front().getOps<ir::FusionOp>();
  if (inner.empty()) return std::nullopt;
  std::optional<Attention> attention = attentionAround(*inner.begin());
  if (!attention) return std::nullopt;
  attention->transpose =
      mlir::dyn_cast_or_null<shlo::TransposeOp>(onlyUser(attention->values.getResult()));
  mlir::Operation* yield = fusion.getBody().front().getTerminator();
  if (yield->getNumOperands() != 1 || yield->getOperand(0) != attention->result()) {
    return std::nullopt;
  }
  return attention;
}

const char* attentionRefusal(Attention attention, const TargetModel& target) {
  const mlir::Value parts[] = {attention.scores.getLhs(),    attention.scores.getRhs(),
                               attention.scores.getResult(), attention.rows->getResult(0),
                               attention.values.getLhs(),    attention.values.getRhs(),
                               attention.values.getResult()};
  for (mlir::Value value : parts) {
    if (!isFloat(value)) return "it is not of floats";
    if (tensorTypeOf(value).getNumElements() == 0) return "there is nothing to compute";
  }
  const SumsMatrix matrix = sumsMatrixOf(attention.scores);
  if (matrix.cols == 1 ||
      tensorTypeOf(attention.rows->getResult(0)).getShape().back() != matrix.cols) {
    return "rows have no elements side by side";
  }
  if (!contractsColumns(attention)) {
    return "the second product sums other dimensions than the rows'";
  }
  if (tensorTypeOf(attention.scores.getResult()).getShape().back() != matrix.cols) {
    return "rows have several dimensions";
  }
  if (matrix.cols * 4 > target.maxRowBytes) return "the rows are too long";
  if (!RowAnalysis(attention.rows, attention.scoresOperand()).run()) {
    return "nothing is reduced in rows, or rows depend on each other";
  }
  if (!rowScheduleOf(attention.rows, target).ok()) return "the kernel between has no rows";
  return nullptr;
}

StatusOr<KernelSchedule> rowScheduleOf(ir::FusionOp rows, const TargetModel& target) {
  ISTHMUS_ASSIGN_OR_RETURN(KernelSchedule schedule, scheduleOf(rows, target));
  auto refuse = [] { return unimplemented("the kernel does not compute rows one by one"); };
  if (schedule.stages.size() != 1) return refuse();
  StageSchedule& stage = schedule.stages[0];
  auto type = tensorTypeOf(rows->getResult(0));
  if (stage.kind != StageKind::kLoop || stage.order != LoopOrder::kRows || stage.dims.empty() ||
      stage.dims.back().first != stage.dims.back().last ||
      stage.dims.back().size != type.getDimSize(type.getRank() - 1)) {
    return refuse();
  }
  for (const ReductionSchedule& reduction : stage.reductions) {
    if (reduction.strategy == ReductionStrategy::kAccumulate) return refuse();
  }
  stage.tiledDims = static_cast<int64_t>(stage.dims.size()) - 1;
  stage.chunk = stage.dims.back().size;
  stage.grain = 1;
  return schedule;
}

void scheduleAttention(ir::FusionOp fusion, const TargetModel& target, StageSchedule* stage) {
  std::optional<Attention> attention = attentionOf(fusion);
  const SumsMatrix matrix = sumsMatrixOf(attention->scores);
  stage->chunk =
      std::clamp<int64_t>(target.l2Bytes / 8 / (4 * matrix.cols), 8, target.maxScoreRows);
  mlir::Operation* yield = attention->rows.getBody().front().getTerminator();
  stage->ns = contractionNs(target, attention->scores) + contractionNs(target, attention->values) +
              costNs(target, attention->rows, llvm::SmallVector<mlir::Value>(yield->getOperands()));
}

}  // namespace isthmus

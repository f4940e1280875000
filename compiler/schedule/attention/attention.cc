#include "compiler/schedule/attention/attention.h"

#include <algorithm>

#include "compiler/cost/time.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/attention/group_attention.h"
#include "compiler/schedule/dot_scheduler.h"
#include "compiler/schedule/loop/iteration.h"
#include "compiler/target/element_kind.h"

namespace isthmus {
namespace {

// Scores are computed in f32.
constexpr int64_t kScoreBytes = 4;

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
  explicit RowAnalysis(Attention& attention)
      : block_(attention.rows.getBody().front()),
        givesNumbers_(attention.products.empty()),
        fullShape_(squeezedShape(attention.scores[0].getType())),
        rowShape_(llvm::ArrayRef<int64_t>(fullShape_).drop_back()) {
    for (unsigned i = 0; i < attention.scores.size(); ++i) {
      full_.insert(block_.getArgument(attention.scoresOperand(i)));
    }
  }

  bool run() {
    for (mlir::Operation& op : block_.without_terminator()) {
      if (follows(op) && !visit(op)) return false;
    }
    return isReduced_ &&
           llvm::all_of(block_.getTerminator()->getOperands(), [&](mlir::Value value) {
             return givesNumbers_ ? isRow(value) : isFull(value);
           });
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
  const bool givesNumbers_;
  llvm::SmallVector<int64_t> fullShape_;
  llvm::SmallVector<int64_t> rowShape_;
  llvm::DenseSet<mlir::Value> full_, row_;
  bool isReduced_ = false;
};

// Batching dimensions that the scores have, but for those of size 1.
size_t batchesOf(shlo::DotGeneralOp scores) {
  return static_cast<size_t>(
      llvm::count_if(scores.getDotDimensionNumbers().getLhsBatchingDimensions(),
                     [&](int64_t d) { return tensorTypeOf(scores.getLhs()).getDimSize(d) != 1; }));
}

// Whether `dot` sums real dimensions [first, last) of the weights, for each batch of the scores.
bool contracts(shlo::DotGeneralOp scores, mlir::Value weights, shlo::DotGeneralOp dot, size_t first,
               size_t last) {
  shlo::DotDimensionNumbersAttr numbers = dot.getDotDimensionNumbers();
  const bool isLeft = dot.getLhs() == weights;
  return areRealDims(
             weights,
             isLeft ? numbers.getLhsContractingDimensions() : numbers.getRhsContractingDimensions(),
             first, last, false) &&
         areRealDims(
             weights,
             isLeft ? numbers.getLhsBatchingDimensions() : numbers.getRhsBatchingDimensions(), 0,
             batchesOf(scores), false);
}

const char* productRefusal(Attention& attention, RowProduct& product) {
  mlir::Value weights = attention.weights(product);
  for (mlir::Value value : {product.dot.getLhs(), product.dot.getRhs(), product.dot.getResult()}) {
    if (!isFloat(value)) return "it is not of floats";
    if (tensorTypeOf(value).getNumElements() == 0) return "there is nothing to compute";
  }
  const size_t rank = realDims(weights).size();
  const bool fits = product.sumsRows
                        ? contractsRows(attention.scores[0], weights, product.dot)
                        : contracts(attention.scores[0], weights, product.dot, rank - 1, rank);
  return fits ? nullptr : "the second product sums other dimensions than the rows'";
}

const char* scoresRefusal(Attention& attention, shlo::DotGeneralOp scores,
                          const TargetModel& target) {
  for (mlir::Value value : {scores.getLhs(), scores.getRhs(), scores.getResult()}) {
    if (!isFloat(value)) return "it is not of floats";
    if (tensorTypeOf(value).getNumElements() == 0) return "there is nothing to compute";
  }
  const SumsMatrix matrix = sumsMatrixOf(scores);
  const bool areWhole = llvm::all_of(attention.rows->getResults(), [&](mlir::Value weights) {
    return attention.products.empty() || tensorTypeOf(weights).getShape().back() == matrix.cols;
  });
  if (matrix.cols == 1 || !areWhole) return "rows have no elements side by side";
  if (tensorTypeOf(scores.getResult()).getShape().back() != matrix.cols) {
    return "rows have several dimensions";
  }
  // Groups have a block of a row at a time.
  if (target.device == DeviceKind::kCpu && matrix.cols * kScoreBytes > target.maxRowBytes)
    return "the rows are too long";
  if (batchesOf(scores) != batchesOf(attention.scores[0])) return "the products differ in batches";
  return nullptr;
}

}  // namespace

unsigned Attention::scoresOperand(unsigned i) {
  unsigned operand = 0;
  while (rows->getOperand(operand) != scores[i].getResult()) ++operand;
  return operand;
}

bool contractsRows(shlo::DotGeneralOp scores, mlir::Value weights, shlo::DotGeneralOp dot) {
  const size_t rank = realDims(weights).size(), batches = batchesOf(scores);
  return rank > batches && contracts(scores, weights, dot, batches, rank - 1);
}

// The product that `rows` alone reads, of this shape but for sizes of 1, if there is one.
static shlo::DotGeneralOp scoresOf(ir::FusionOp rows, llvm::ArrayRef<int64_t> shape) {
  shlo::DotGeneralOp scores;
  for (mlir::Value operand : rows->getOperands()) {
    auto dot = operand.getDefiningOp<shlo::DotGeneralOp>();
    if (dot && dot->hasOneUse() && dot->getBlock() == rows->getBlock() &&
        llvm::ArrayRef<int64_t>(squeezedShape(operand.getType())) == shape) {
      scores = dot;
    }
  }
  return scores;
}

std::optional<Attention> attentionAround(ir::FusionOp rows) {
  if (rows->getNumResults() != 1 ||
      !mlir::isa<mlir::RankedTensorType>(rows->getResult(0).getType())) {
    return std::nullopt;
  }
  Attention attention;
  attention.rows = rows;
  auto values = mlir::dyn_cast_or_null<shlo::DotGeneralOp>(onlyUser(rows->getResult(0)));
  if (!values || values->getBlock() != rows->getBlock()) return std::nullopt;
  shlo::DotGeneralOp scores = scoresOf(rows, squeezedShape(rows->getResult(0).getType()));
  if (!scores) return std::nullopt;
  attention.scores = {scores};
  attention.products.push_back({values, nullptr});
  return attention;
}

std::optional<Attention> reductionAround(ir::FusionOp rows) {
  for (mlir::Value operand : rows->getOperands()) {
    auto dot = operand.getDefiningOp<shlo::DotGeneralOp>();
    if (!dot || !dot->hasOneUse() || dot->getBlock() != rows->getBlock()) continue;
    llvm::SmallVector<int64_t> shape = squeezedShape(dot.getType());
    if (shape.empty()) continue;
    shape.pop_back();
    const bool givesNumbers = llvm::all_of(rows->getResultTypes(), [&](mlir::Type type) {
      return mlir::isa<mlir::RankedTensorType>(type) && squeezedShape(type) == shape;
    });
    if (givesNumbers) return Attention{{dot}, rows, {}};
  }
  return std::nullopt;
}

llvm::SmallVector<mlir::Value> Attention::operandsOfProducts() {
  llvm::SmallVector<mlir::Value> operands;
  for (shlo::DotGeneralOp dot : scores) llvm::append_range(operands, dot->getOperands());
  for (RowProduct& product : products) {
    operands.push_back(weightsAreLeft(product) ? product.dot.getRhs() : product.dot.getLhs());
  }
  return operands;
}

static bool isView(mlir::Operation* op) {
  if (mlir::isa<shlo::BroadcastInDimOp>(op)) return true;
  return mlir::isa<shlo::ReshapeOp>(op) &&
         squeezedShape(op->getOperand(0).getType()) == squeezedShape(op->getResult(0).getType());
}

mlir::Value stripViews(mlir::Value value) {
  while (mlir::Operation* op = value.getDefiningOp()) {
    if (!isView(op)) break;
    value = op->getOperand(0);
  }
  return value;
}

// Whether all that is neither scores nor weights is an argument of the fusion, or for a product a
// view of one.
static bool readsMemory(Attention& attention) {
  auto isArgument = [](mlir::Value value) { return mlir::isa<mlir::BlockArgument>(value); };
  for (mlir::Value operand : attention.operandsOfProducts()) {
    if (!isArgument(stripViews(operand))) return false;
  }
  return llvm::all_of(attention.rows->getOperands(), [&](mlir::Value value) {
    return isArgument(value) || value.getDefiningOp<shlo::DotGeneralOp>();
  });
}

// The product that a fusion's result is of, and what is done with its elements; null if it is none.
static RowProduct productBehind(mlir::Value result) {
  RowProduct product;
  while (mlir::Operation* op = result.getDefiningOp()) {
    if (!result.hasOneUse()) return RowProduct();
    if ((product.dot = mlir::dyn_cast<shlo::DotGeneralOp>(op))) break;
    const bool keepsElements = mlir::isa<shlo::TransposeOp, shlo::ConvertOp>(op) ||
                               (mlir::isa<shlo::ReshapeOp>(op) && isView(op));
    if (!keepsElements) break;
    product.moves.insert(product.moves.begin(), op);
    result = op->getOperand(0);
  }
  if (product.moves.size() == 1) {
    product.transpose = mlir::dyn_cast<shlo::TransposeOp>(product.moves[0]);
  }
  return product;
}

std::optional<Attention> attentionOf(ir::FusionOp fusion) {
  mlir::Block& block = fusion.getBody().front();
  auto inner = block.getOps<ir::FusionOp>();
  if (inner.empty()) return std::nullopt;
  Attention attention;
  attention.rows = *inner.begin();
  for (mlir::Value operand : attention.rows->getOperands()) {
    auto dot = operand.getDefiningOp<shlo::DotGeneralOp>();
    if (!dot) continue;
    if (!dot->hasOneUse()) return std::nullopt;
    attention.scores.push_back(dot);
  }
  size_t parts = attention.scores.size() + 1;
  mlir::Operation* yield = block.getTerminator();
  const bool givesNumbers = llvm::equal(yield->getOperands(), attention.rows->getResults());
  for (mlir::Value result : yield->getOperands()) {
    if (givesNumbers) break;
    RowProduct product = productBehind(result);
    if (!product.dot) return std::nullopt;
    parts += product.moves.size() + 1;
    mlir::Value weights = product.dot.getLhs();
    if (weights.getDefiningOp() != attention.rows) weights = product.dot.getRhs();
    if (weights.getDefiningOp() != attention.rows || attention.scores.empty()) return std::nullopt;
    product.weights = mlir::cast<mlir::OpResult>(weights).getResultNumber();
    attention.products.push_back(product);
  }
  for (mlir::Operation& op : block.without_terminator()) {
    const bool readsArgument =
        isView(&op) && mlir::isa<mlir::BlockArgument>(stripViews(op.getResult(0)));
    if (readsArgument && !op.use_empty()) ++parts;
  }
  if (attention.scores.empty() || (attention.products.empty() && !givesNumbers) ||
      block.getOperations().size() != parts + 1 || !readsMemory(attention)) {
    return std::nullopt;
  }
  for (RowProduct& product : attention.products) {
    mlir::Value weights = attention.weights(product);
    if (squeezedShape(weights.getType()) != squeezedShape(attention.scores[0].getType())) {
      return std::nullopt;
    }
    const size_t rank = realDims(weights).size();
    product.sumsRows = !contracts(attention.scores[0], weights, product.dot, rank - 1, rank);
  }
  return attention;
}

bool isProductWithEpilogue(ir::FusionOp fusion) {
  return !attentionOf(fusion) && productOf(fusion);
}

const char* partsRefusal(Attention attention, const TargetModel& target) {
  if (attention.scores.size() > kMaxScores || attention.products.size() > kMaxRowProducts ||
      (attention.rows->getNumResults() > kMaxWeights && !attention.products.empty())) {
    return "there are too many products";
  }
  llvm::SmallVector<int64_t> shape = squeezedShape(attention.scores[0].getType());
  for (shlo::DotGeneralOp scores : attention.scores) {
    if (squeezedShape(scores.getType()) != shape) return "the products differ in shape";
    if (const char* why = scoresRefusal(attention, scores, target)) return why;
  }
  const bool givesNumbers = attention.products.empty();
  if (givesNumbers && target.device != DeviceKind::kCpu) return "rows are reduced by threads";
  for (mlir::Value weights : attention.rows->getResults()) {
    if (givesNumbers) break;
    if (!isFloat(weights)) return "it is not of floats";
    if (squeezedShape(weights.getType()) != shape) return "the weights have another shape";
  }
  for (RowProduct& product : attention.products) {
    if (const char* why = productRefusal(attention, product)) return why;
  }
  if (!RowAnalysis(attention).run()) {
    return "nothing is reduced in rows, or rows depend on each other";
  }
  return nullptr;
}

const char* attentionRefusal(Attention attention, const TargetModel& target) {
  if (const char* why = partsRefusal(attention, target)) return why;
  const bool isFused = mlir::isa<ir::FusionOp>(attention.rows->getParentOp());
  for (mlir::Value operand : attention.operandsOfProducts()) {
    if (isFused && stripViews(operand) != operand) return "an operand is a view of another array";
  }
  for (RowProduct& product : attention.products) {
    if (product.moves.size() != (product.transpose ? 1 : 0)) {
      return "elements of a result are converted";
    }
  }
  if (target.device == DeviceKind::kGpu) return groupAttentionRefusal(attention, target);
  if (!rowScheduleOf(attention.rows, target).ok()) return "the kernel between has no rows";
  return nullptr;
}

// Whether the kernel gives a number for each row that it reduces.
static bool reducesRows(ir::FusionOp rows) {
  mlir::Type type = rows->getResult(0).getType();
  bool isReduced = false;
  rows.getBody().walk([&](shlo::ReduceOp reduce) {
    isReduced |= squeezedShape(reduce->getResult(0).getType()) == squeezedShape(type);
  });
  return isReduced;
}

StatusOr<KernelSchedule> rowScheduleOf(ir::FusionOp rows, const TargetModel& target) {
  ISTHMUS_ASSIGN_OR_RETURN(KernelSchedule schedule, scheduleOf(rows, target));
  auto refuse = [] { return unimplemented("the kernel does not compute rows one by one"); };
  auto* loop = schedule.only<LoopStage>();
  if (!loop) return refuse();
  LoopStage& stage = *loop;
  auto type = tensorTypeOf(rows->getResult(0));
  const auto loops = static_cast<int64_t>(stage.dims.size());
  // Loops over rows, and one over the elements of each unless those are only reduced.
  const bool givesNumbers = reducesRows(rows);
  const int64_t rowLoops = givesNumbers ? loops : loops - 1;
  const bool areBlocks = stage.order == LoopOrder::kRowBlocks && stage.orderDim + 1 == rowLoops;
  if (stage.kind != StageKind::kLoop || (stage.order != LoopOrder::kRows && !areBlocks) ||
      stage.dims.empty()) {
    return refuse();
  }
  if (!givesNumbers && (stage.dims.back().first != stage.dims.back().last ||
                        stage.dims.back().size != type.getDimSize(type.getRank() - 1))) {
    return refuse();
  }
  for (const ReductionSchedule& reduction : stage.reductions) {
    if (reduction.strategy == ReductionStrategy::kAccumulate) return refuse();
    if (givesNumbers && reduction.strategy != ReductionStrategy::kRow) return refuse();
  }
  // Which rows come together is for those to say who compute the scores.
  stage.tiledDims = areBlocks ? 0 : loops - 1;
  stage.chunk = areBlocks || givesNumbers ? 1 : stage.dims.back().size;
  stage.grain = 1;
  return schedule;
}

void scheduleAttention(ir::FusionOp fusion, const TargetModel& target, bool isOfLibrary,
                       AttentionStage* stage) {
  std::optional<Attention> attention = attentionOf(fusion);
  if (isOfLibrary) {
    stage->isOfLibrary = true;
  } else if (target.device == DeviceKind::kGpu) {
    scheduleGroupAttention(fusion, target, stage);
  } else {
    const SumsMatrix matrix = sumsMatrixOf(attention->scores[0]);
    const int64_t least =
        attention->products.size() > 1 ? target.minSummedScoreRows : target.minBlockScoreRows;
    stage->rows =
        std::clamp<int64_t>(target.l2Bytes / target.scoreCacheShare / (kScoreBytes * matrix.cols),
                            least, target.maxScoreRows);
  }
  mlir::Operation* yield = attention->rows.getBody().front().getTerminator();
  stage->ns =
      kernelNs(target, attention->rows, llvm::SmallVector<mlir::Value>(yield->getOperands()));
  for (shlo::DotGeneralOp scores : attention->scores) stage->ns += contractionNs(target, scores);
  for (RowProduct& product : attention->products) stage->ns += contractionNs(target, product.dot);
}

}  // namespace isthmus

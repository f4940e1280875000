// Whether a result may take the place of an operand.
#include "compiler/schedule/loop/sharing.h"

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/indexing.h"
#include "compiler/schedule/dot_scheduler.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/element_kind.h"
#include "llvm/ADT/DenseMap.h"

namespace isthmus {
namespace {

bool dependsOn(mlir::Value value, mlir::Value argument, llvm::DenseMap<mlir::Value, bool>& seen) {
  llvm::SmallVector<mlir::Value, 8> pending = {value};
  while (!pending.empty()) {
    mlir::Value next = pending.pop_back_val();
    if (next == argument) return true;
    if (!seen.try_emplace(next, true).second || !next.getDefiningOp()) continue;
    for (mlir::Value up : next.getDefiningOp()->getOperands()) pending.push_back(up);
  }
  return false;
}

// The rows of a result whose stage reduces each whole row before it stores any of it. A value
// belongs to a row by its linear index: it has one element for each row, or a row's elements.
struct Rows {
  int64_t count, size;
};

std::optional<Rows> rowsOf(ir::FusionOp fusion, unsigned result, int64_t elements) {
  std::optional<mlir::ArrayAttr> carried = fusion.getSchedule();
  if (!carried || carried->size() != 1) return std::nullopt;
  StatusOr<StageSchedule> stage =
      parseStageSchedule(mlir::cast<mlir::StringAttr>((*carried)[0]).getValue());
  if (!stage.ok() || stage->kind != StageKind::kLoop || stage->reductions.empty() ||
      !llvm::is_contained(stage->results, result)) {
    return std::nullopt;
  }
  const auto last = static_cast<int64_t>(stage->dims.size()) - 1;
  const bool inOrder = stage->order == LoopOrder::kRows ||
                       (stage->order == LoopOrder::kRowBlocks && stage->orderDim == last - 1);
  // Threads or tiles that share a row, and elements that are stored a second time, read what is
  // overwritten; so does a reduction that is repeated for each element.
  const bool isWhole = stage->tiledDims < last ||
                       (stage->tiledDims == last && stage->chunk >= stage->dims.back().size);
  if (last < 0 || !inOrder || !isWhole || stage->groupThreads != 1 || stage->cuts.size() != 2 ||
      stage->tail == RowTail::kOverlap) {
    return std::nullopt;
  }
  for (const ReductionSchedule& reduction : stage->reductions) {
    if (reduction.strategy != ReductionStrategy::kRow) return std::nullopt;
  }
  const int64_t size = stage->dims.back().size;
  if (size < 2 || elements % size != 0) return std::nullopt;
  return Rows{elements / size, size};
}

int64_t elementsOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getNumElements();
}

// Whether each element of the operand, which has one for each row, is read at the elements of its
// row alone.
bool spreadsOverRows(shlo::BroadcastInDimOp op, const Rows& rows) {
  auto from = mlir::cast<mlir::RankedTensorType>(op.getOperand().getType());
  auto to = mlir::cast<mlir::RankedTensorType>(op.getType());
  if (from.getNumElements() != rows.count || to.getNumElements() != rows.count * rows.size) {
    return false;
  }
  // The outer dimensions of the result, up to as many elements as there are rows, are the
  // operand's.
  int64_t outer = 1, next = 0;
  for (auto [i, d] : llvm::enumerate(op.getBroadcastDimensions())) {
    if (from.getDimSize(static_cast<int64_t>(i)) == 1) continue;
    for (; next < d; ++next) {
      if (to.getDimSize(next) != 1) return false;
    }
    if (from.getDimSize(static_cast<int64_t>(i)) != to.getDimSize(d)) return false;
    outer *= to.getDimSize(d);
    next = d + 1;
  }
  return outer == rows.count;
}

// Whether the operand is a row's elements for each element of the result.
bool reducesRows(shlo::ReduceOp op, const Rows& rows) {
  auto from = mlir::cast<mlir::RankedTensorType>(op.getInputs()[0].getType());
  int64_t kept = 1;
  for (int64_t d = 0; d < from.getRank(); ++d) {
    if (llvm::is_contained(op.getDimensions(), d)) {
      if (kept != rows.count && from.getDimSize(d) != 1) return false;
    } else {
      kept *= from.getDimSize(d);
    }
  }
  return kept == rows.count && from.getNumElements() == rows.count * rows.size;
}

// True if every read of `argument` on the way up from `value`, of which the elements of one row are
// asked for, is of that row, through a reduction of it: then all of them come before its stores.
bool readsOwnRow(mlir::Value value, mlir::Value argument, const Rows& rows,
                 llvm::DenseMap<mlir::Value, bool>& known) {
  // By now, the argument's own elements may be asked for at any index of the row.
  if (value == argument) return elementsOf(value) == rows.count * rows.size;
  auto [it, isNew] = known.try_emplace(value, true);
  if (!isNew) return it->second;
  mlir::Operation* op = value.getDefiningOp();
  if (!op) return true;  // another argument
  const unsigned number = mlir::cast<mlir::OpResult>(value).getResultNumber();
  bool result = true;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (!mlir::isa<mlir::ShapedType>(operand.getType())) continue;
    auto broadcast = mlir::dyn_cast<shlo::BroadcastInDimOp>(op);
    auto reduce = mlir::dyn_cast<shlo::ReduceOp>(op);
    const bool staysInRow = mlir::isa<shlo::ReshapeOp>(op) || readsSameIndex(op, i, number) ||
                            (broadcast && spreadsOverRows(broadcast, rows)) ||
                            (reduce && i < reduce.getInputs().size() && reducesRows(reduce, rows));
    llvm::DenseMap<mlir::Value, bool> seen;
    result = result && (staysInRow ? readsOwnRow(operand, argument, rows, known)
                                   : !dependsOn(operand, argument, seen));
  }
  known[value] = result;
  return result;
}

// True if every read of `argument` on the way up from `value` is at the index that `value` is
// asked for, or of its row before any of that is stored: then the element is read in the very
// iteration that overwrites it, or before.
bool readsInPlace(mlir::Value value, mlir::Value argument, const std::optional<Rows>& rows,
                  llvm::DenseMap<mlir::Value, bool>& known) {
  if (value == argument) return true;
  auto [it, isNew] = known.try_emplace(value, true);
  if (!isNew) return it->second;
  mlir::Operation* op = value.getDefiningOp();
  if (!op) return true;  // another argument
  bool result = true;
  unsigned number = mlir::cast<mlir::OpResult>(value).getResultNumber();
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (!mlir::isa<mlir::ShapedType>(operand.getType())) continue;
    // A reshape between equal linear indices is in place too, being no access at all.
    if (mlir::isa<shlo::ReshapeOp>(op) || readsSameIndex(op, i, number)) {
      result = result && readsInPlace(operand, argument, rows, known);
      continue;
    }
    auto broadcast = mlir::dyn_cast<shlo::BroadcastInDimOp>(op);
    if (rows && broadcast && spreadsOverRows(broadcast, *rows)) {
      llvm::DenseMap<mlir::Value, bool> ofRows;
      result = result && readsOwnRow(operand, argument, *rows, ofRows);
    } else {
      // Any use further up is at another index.
      llvm::DenseMap<mlir::Value, bool> seen;
      result = result && !dependsOn(operand, argument, seen);
    }
  }
  known[value] = result;
  return result;
}

// Whether a stage of the kernel computes both results of an index before it stores either. Of
// results of one shape, some may be by-products of another stage's rows. Before there is a
// schedule, nothing says that they are apart.
bool areStoredTogether(ir::FusionOp fusion, unsigned a, unsigned b) {
  std::optional<mlir::ArrayAttr> carried = fusion.getSchedule();
  if (a == b || !carried || carried->size() < 2) return true;
  for (mlir::Attribute text : *carried) {
    StatusOr<StageSchedule> stage =
        parseStageSchedule(mlir::cast<mlir::StringAttr>(text).getValue());
    if (!stage.ok()) return false;
    if (llvm::is_contained(stage->results, a)) return llvm::is_contained(stage->results, b);
    if (llvm::is_contained(stage->rowResults, a)) return llvm::is_contained(stage->rowResults, b);
  }
  return false;
}

}  // namespace

bool canShareBuffer(ir::FusionOp fusion, unsigned operand, unsigned result, SumsPlace sums) {
  mlir::Block& block = fusion.getBody().front();
  mlir::Operation* yield = block.getTerminator();
  mlir::Value argument = block.getArgument(operand);
  auto operandType = mlir::dyn_cast<mlir::RankedTensorType>(argument.getType());
  auto resultType = mlir::dyn_cast<mlir::RankedTensorType>(yield->getOperand(result).getType());
  if (!operandType || !resultType || !operandType.hasStaticShape() ||
      !resultType.hasStaticShape()) {
    return false;
  }
  auto from = elementKind(operandType.getElementType());
  auto to = elementKind(resultType.getElementType());
  if (!from || !to || from->storageBytes != to->storageBytes ||
      operandType.getNumElements() != resultType.getNumElements()) {
    return false;
  }
  // Sums are there before the operand has been read.
  shlo::DotGeneralOp dot = contractionOf(fusion);
  if (dot && sums == SumsPlace::kResult) {
    if (canHoldSums(dot, resultType.getElementType())) return false;
  }
  // Updates in place keep what they do not overwrite, if nothing else reads the operand.
  if (mlir::Operation* op = yield->getOperand(result).getDefiningOp()) {
    auto isUpdated = [&](mlir::Value value) {
      return value == argument && value.hasOneUse() &&
             yield->getNumOperands() == op->getNumResults();
    };
    unsigned number = mlir::cast<mlir::OpResult>(yield->getOperand(result)).getResultNumber();
    if (auto scatter = mlir::dyn_cast<shlo::ScatterOp>(op)) {
      return isUpdated(scatter.getInputs()[number]);
    }
    if (auto update = mlir::dyn_cast<shlo::DynamicUpdateSliceOp>(op)) {
      return isUpdated(update.getOperand());
    }
    if (mlir::isa<shlo::SelectAndScatterOp, shlo::ReduceWindowOp>(op)) return false;
  }
  const std::optional<Rows> rows = rowsOf(fusion, result, resultType.getNumElements());
  for (auto [number, root] : llvm::enumerate(yield->getOperands())) {
    // Roots of another shape are written by another loop, which would read what was overwritten.
    auto type = mlir::cast<mlir::RankedTensorType>(root.getType());
    bool sameLoop = type.getShape() == resultType.getShape() &&
                    areStoredTogether(fusion, result, static_cast<unsigned>(number));
    llvm::DenseMap<mlir::Value, bool> known;
    if (sameLoop) {
      if (!readsInPlace(root, argument, rows, known)) return false;
      continue;
    }
    if (dependsOn(root, argument, known)) return false;
  }
  return true;
}

}  // namespace isthmus

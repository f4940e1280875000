// Whether a result may take the place of an operand.
#include "compiler/schedule/loop/sharing.h"

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/indexing.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/facts/update_slice.h"
#include "compiler/dialect/types/array_shape.h"
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
  StatusOr<StageSchedule> parsed =
      parseStageSchedule(mlir::cast<mlir::StringAttr>((*carried)[0]).getValue());
  const auto* stage = parsed.ok() ? parsed->as<LoopStage>() : nullptr;
  if (!stage || stage->kind != StageKind::kLoop || stage->reductions.empty() ||
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

// Whether the operand is read at the result's own place in memory: a slice that begins where its
// operand does has the same indices elsewhere.
bool readsSamePlace(mlir::Operation* op, unsigned operand, unsigned result) {
  auto from = mlir::dyn_cast<mlir::RankedTensorType>(op->getOperand(operand).getType());
  auto to = mlir::dyn_cast<mlir::RankedTensorType>(op->getResult(result).getType());
  if (!from || !to) return false;
  // Reshapes keep the linear index, being no access at all.
  return mlir::isa<shlo::ReshapeOp>(op) ||
         (from.getShape() == to.getShape() && readsSameIndex(op, operand, result));
}

// Whether result `result` at one row reads the operand at that row alone. Both have one element for
// each row, or a row's elements, and their outer dimensions, up to as many elements as there are
// rows, are the same.
bool keepsRows(mlir::Operation* op, unsigned operand, unsigned result, const Rows& rows) {
  auto from = mlir::dyn_cast<mlir::RankedTensorType>(op->getOperand(operand).getType());
  auto to = mlir::dyn_cast<mlir::RankedTensorType>(op->getResult(result).getType());
  auto isOfRows = [&](mlir::RankedTensorType type) {
    return type &&
           (type.getNumElements() == rows.count || type.getNumElements() == rows.count * rows.size);
  };
  if (!isOfRows(from) || !isOfRows(to) || !hasIndexingMaps(op)) return false;
  IndexingMaps maps = indexingMaps(op, result);
  if (!maps.operands[operand].map) return true;
  int64_t outer = 1, next = 0;
  for (int64_t d = 0; d < from.getRank() && outer != rows.count; ++d) {
    if (from.getDimSize(d) == 1) continue;
    while (next < to.getRank() && to.getDimSize(next) == 1) ++next;
    std::optional<DimIndex> index = maps.index(operand, d);
    if (!index || !index->isDim() || index->dim != next ||
        from.getDimSize(d) != to.getDimSize(next)) {
      return false;
    }
    outer *= from.getDimSize(d);
    ++next;
  }
  return outer == rows.count;
}

// Whether each element of the operand, which has one for each row, is read at the elements of its
// row alone.
bool spreadsOverRows(mlir::Operation* op, unsigned operand, unsigned result, const Rows& rows) {
  return elementCount(op->getResult(result)) == rows.count * rows.size &&
         elementCount(op->getOperand(operand)) == rows.count &&
         keepsRows(op, operand, result, rows);
}

// True if every read of `argument` on the way up from `value`, of which the elements of one row are
// asked for, is of that row, through a reduction of it: then all of them come before its stores.
bool readsOwnRow(mlir::Value value, mlir::Value argument, const Rows& rows,
                 llvm::DenseMap<mlir::Value, bool>& known) {
  // By now, the argument's own elements may be asked for at any index of the row.
  if (value == argument) return elementCount(value) == rows.count * rows.size;
  auto [it, isNew] = known.try_emplace(value, true);
  if (!isNew) return it->second;
  mlir::Operation* op = value.getDefiningOp();
  if (!op) return true;  // another argument
  const unsigned number = mlir::cast<mlir::OpResult>(value).getResultNumber();
  bool result = true;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (!mlir::isa<mlir::ShapedType>(operand.getType())) continue;
    // A row's elements become one of the row in a reduction alone: another operation might be asked
    // for that one after some of the row is stored.
    const bool leavesRow = elementCount(operand) > elementCount(value);
    const bool staysInRow =
        readsSamePlace(op, i, number) ||
        ((!leavesRow || fusionClass(op) == FusionClass::kReduce) && keepsRows(op, i, number, rows));
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
    if (readsSamePlace(op, i, number)) {
      result = result && readsInPlace(operand, argument, rows, known);
      continue;
    }
    if (rows && spreadsOverRows(op, i, number, *rows)) {
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

// Whether each element of the update is computed without the array that is updated, or from the
// very element that it replaces.
bool readsUpdatedPlaceAlone(shlo::DynamicUpdateSliceOp update, mlir::Value argument) {
  // Indices depend on no use that is allowed: such a slice has them itself.
  for (mlir::OpOperand& use : argument.getUses()) {
    if (use.getOwner() == update) {
      if (use.getOperandNumber() != 0) return false;
      continue;
    }
    llvm::DenseMap<mlir::Value, bool> known;
    if (!readsUpdatedPlace(update, use) ||
        !readsInPlace(update.getUpdate(), use.getOwner()->getResult(0), std::nullopt, known)) {
      return false;
    }
  }
  return true;
}

// Whether the stage of `result` writes the other one after each row and computes what it reads of
// `argument` by reductions that the row's elements need as well: those come before their stores.
bool isReducedBefore(ir::FusionOp fusion, unsigned result, unsigned other, mlir::Value argument) {
  std::optional<mlir::ArrayAttr> carried = fusion.getSchedule();
  if (!carried || carried->size() != 1) return false;
  StatusOr<StageSchedule> parsed =
      parseStageSchedule(mlir::cast<mlir::StringAttr>((*carried)[0]).getValue());
  const auto* stage = parsed.ok() ? parsed->as<LoopStage>() : nullptr;
  if (!stage || !llvm::is_contained(stage->results, result) ||
      !llvm::is_contained(stage->rowResults, other)) {
    return false;
  }
  mlir::Operation* yield = fusion.getBody().front().getTerminator();
  llvm::DenseMap<mlir::Value, bool> early, seen;
  for (unsigned number : stage->results) dependsOn(yield->getOperand(number), nullptr, early);
  for (auto [value, isSeen] : early) {
    if (mlir::isa_and_nonnull<shlo::ReduceOp>(value.getDefiningOp())) seen.try_emplace(value, true);
  }
  return !dependsOn(yield->getOperand(other), argument, seen);
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
    const llvm::ArrayRef<unsigned> results = stage->base().results;
    if (llvm::is_contained(results, a)) return llvm::is_contained(results, b);
    const auto* loop = stage->as<LoopStage>();
    if (loop && llvm::is_contained(loop->rowResults, a)) {
      return llvm::is_contained(loop->rowResults, b);
    }
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
  // Updates in place keep what they do not overwrite, if nothing else of the operand is read.
  if (mlir::Operation* op = yield->getOperand(result).getDefiningOp()) {
    const bool areAllItsResults = yield->getNumOperands() == op->getNumResults();
    unsigned number = mlir::cast<mlir::OpResult>(yield->getOperand(result)).getResultNumber();
    if (auto scatter = mlir::dyn_cast<shlo::ScatterOp>(op)) {
      return areAllItsResults && scatter.getInputs()[number] == argument && argument.hasOneUse();
    }
    if (auto update = mlir::dyn_cast<shlo::DynamicUpdateSliceOp>(op)) {
      return areAllItsResults && update.getOperand() == argument &&
             readsUpdatedPlaceAlone(update, argument);
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
    // A row's reductions are there before any of it is stored.
    if (rows && isReducedBefore(fusion, result, static_cast<unsigned>(number), argument)) continue;
    if (dependsOn(root, argument, known)) return false;
  }
  return true;
}

}  // namespace isthmus

// Whether a result may take the place of an operand.
#include "compiler/schedule/sharing.h"

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/indexing.h"
#include "compiler/schedule/dot_scheduler.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/element_kind.h"
#include "llvm/ADT/DenseMap.h"

namespace isthmus {
namespace {

// True if every read of `argument` on the way up from `value` is at the index that `value` is
// asked for: then the element is read in the very iteration that overwrites it, before the store.
bool readsInPlace(mlir::Value value, mlir::Value argument,
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
      result = result && readsInPlace(operand, argument, known);
    } else {
      // Any use further up is at another index.
      llvm::SmallVector<mlir::Value, 8> pending = {operand};
      llvm::DenseMap<mlir::Value, bool> seen;
      while (!pending.empty() && result) {
        mlir::Value next = pending.pop_back_val();
        if (next == argument) result = false;
        if (!seen.try_emplace(next, true).second || !next.getDefiningOp()) continue;
        for (mlir::Value up : next.getDefiningOp()->getOperands()) pending.push_back(up);
      }
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
  for (auto [number, root] : llvm::enumerate(yield->getOperands())) {
    // Roots of another shape are written by another loop, which would read what was overwritten.
    auto type = mlir::cast<mlir::RankedTensorType>(root.getType());
    bool sameLoop = type.getShape() == resultType.getShape() &&
                    areStoredTogether(fusion, result, static_cast<unsigned>(number));
    llvm::DenseMap<mlir::Value, bool> known;
    if (sameLoop) {
      if (!readsInPlace(root, argument, known)) return false;
      continue;
    }
    llvm::SmallVector<mlir::Value, 8> pending = {root};
    while (!pending.empty()) {
      mlir::Value next = pending.pop_back_val();
      if (next == argument) return false;
      if (!known.try_emplace(next, true).second || !next.getDefiningOp()) continue;
      for (mlir::Value up : next.getDefiningOp()->getOperands()) pending.push_back(up);
    }
  }
  return true;
}

}  // namespace isthmus

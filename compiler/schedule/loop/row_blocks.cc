// Which values read reductions of their own row only.
#include "compiler/schedule/loop/row_blocks.h"

#include "compiler/dialect/facts/indexing.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/loop/iteration.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace isthmus {
namespace {

class RowReader {
 public:
  std::optional<RowReductions> run(llvm::ArrayRef<mlir::Value> values) {
    for (mlir::Value value : values) collect(value);
    if (found_.reductions.empty() || !haveOneShape()) return std::nullopt;
    llvm::sort(found_.reductions,
               [](shlo::ReduceOp a, shlo::ReduceOp b) { return a->isBeforeInBlock(b); });
    found_.resultsAreRows = isOfRows(values[0]);
    for (mlir::Value value : values) {
      const bool hasShape =
          found_.resultsAreRows ? isOfRows(value) : tensorTypeOf(value).getShape() == elements();
      if (!hasShape || !readsOwnRow(value, found_.resultsAreRows)) return std::nullopt;
    }
    return found_;
  }

 private:
  llvm::ArrayRef<int64_t> elements() const { return found_.elements; }

  // Notes the reductions above `value`; whether there are any.
  bool collect(mlir::Value value) {
    mlir::Operation* op = value.getDefiningOp();
    if (!op) return false;
    auto [it, isNew] = reads_.try_emplace(op, false);
    if (!isNew) return it->second;
    bool any = false;
    if (auto reduce = mlir::dyn_cast<shlo::ReduceOp>(op)) {
      found_.reductions.push_back(reduce);
      any = true;
    }
    for (mlir::Value operand : op->getOperands()) any |= collect(operand);
    return reads_[op] = any;
  }

  bool haveOneShape() {
    auto first = tensorTypeOf(found_.reductions[0].getInputs()[0]);
    found_.elements.assign(first.getShape().begin(), first.getShape().end());
    auto dims = found_.reductions[0].getDimensions();
    auto rank = static_cast<int64_t>(elements().size());
    found_.rowSize = 1;
    for (int64_t i = 0; i < static_cast<int64_t>(dims.size()); ++i) {
      if (dims[i] != rank - static_cast<int64_t>(dims.size()) + i) return false;
      found_.rowSize *= elements()[dims[i]];
    }
    rowDims_ = rank - static_cast<int64_t>(dims.size());
    rows_ = squeezedShape(found_.reductions[0]->getResult(0).getType());
    return llvm::all_of(found_.reductions, [&](shlo::ReduceOp reduce) {
      return reduce.getDimensions() == dims &&
             tensorTypeOf(reduce.getInputs()[0]).getShape() == elements();
    });
  }

  bool isOfRows(mlir::Value value) const { return squeezedShape(value.getType()) == rows_; }

  // Whether `value`, at the row at hand (`isRow`) or one of its elements, reads reductions of that
  // row alone.
  bool readsOwnRow(mlir::Value value, bool isRow) {
    mlir::Operation* op = value.getDefiningOp();
    if (!op || !reads_.lookup(op)) return true;
    if (!(isRow ? seenRows_ : seenElements_).insert(op).second) return true;
    if (isRow ? !isOfRows(value) : tensorTypeOf(value).getShape() != elements()) return false;
    auto all = [&](bool isRowBelow) {
      return llvm::all_of(op->getOperands(),
                          [&](mlir::Value operand) { return readsOwnRow(operand, isRowBelow); });
    };
    if (isElementwise(op)) return all(isRow);
    if (mlir::isa<shlo::ReduceOp>(op)) return isRow && all(false);
    if (mlir::isa<shlo::ReshapeOp>(op)) return isRow && all(true);
    auto broadcast = mlir::dyn_cast<shlo::BroadcastInDimOp>(op);
    return broadcast && repeatsRows(broadcast, isRow) && all(true);
  }

  // From an element for each row to one for each of its elements, or to the same number.
  bool repeatsRows(shlo::BroadcastInDimOp broadcast, bool isRow) const {
    auto from = tensorTypeOf(broadcast.getOperand());
    if (!isOfRows(broadcast.getOperand())) return false;
    int64_t last = -1;
    const IndexingMaps maps = indexingMaps(broadcast);
    for (int64_t d = 0; d < from.getRank(); ++d) {
      if (from.getDimSize(d) == 1) continue;
      std::optional<int64_t> to = maps.operands[0].resultDim(d);
      if (!to || *to <= last || (!isRow && *to >= rowDims_)) return false;
      last = *to;
    }
    return true;
  }

  RowReductions found_;
  int64_t rowDims_ = 0;  // so many dimensions come before those that are reduced
  llvm::SmallVector<int64_t> rows_;
  llvm::DenseMap<mlir::Operation*, bool> reads_;
  llvm::DenseSet<mlir::Operation*> seenRows_, seenElements_;
};

}  // namespace

std::optional<RowReductions> rowReductionsOf(llvm::ArrayRef<mlir::Value> values) {
  return RowReader().run(values);
}

}  // namespace isthmus

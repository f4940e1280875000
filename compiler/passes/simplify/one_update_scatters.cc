// Scatters that put one update into each row of a constant array, as the gradient of
// take_along_axis (and so of a cross entropy) does: row[i] is the update at one place i, and the
// constant elsewhere.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/simplify/match.h"
#include "compiler/passes/simplify/patterns.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/IRMapping.h"

namespace isthmus {
namespace {

using mlir::PatternRewriter;
using mlir::RankedTensorType;
using Dims = llvm::SmallVector<int64_t>;

struct Row {
  int64_t dim = 0;  // of the operand, along which indices choose
  Dims batches;     // of the operand, in order; the others have size 1
};

// If all dimensions but one of size 1 or more are batches in the same order in all three arrays,
// and each batch has one index.
std::optional<Row> rowOf(shlo::ScatterOp op) {
  auto operand = llvm::dyn_cast<RankedTensorType>(op.getInputs()[0].getType());
  auto indices = llvm::dyn_cast<RankedTensorType>(op.getScatterIndices().getType());
  auto update = llvm::dyn_cast<RankedTensorType>(op.getUpdates()[0].getType());
  shlo::ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
  if (!operand || !operand.hasStaticShape() || !indices || !indices.hasStaticShape() || !update ||
      !update.hasStaticShape()) {
    return std::nullopt;
  }
  llvm::ArrayRef<int64_t> chosen = numbers.getScatterDimsToOperandDims();
  llvm::ArrayRef<int64_t> batches = numbers.getInputBatchingDims();
  if (chosen.size() != 1 || !numbers.getUpdateWindowDims().empty() ||
      static_cast<int64_t>(batches.size()) != operand.getRank() - 1 || !llvm::is_sorted(batches) ||
      !llvm::is_sorted(numbers.getScatterIndicesBatchingDims())) {
    return std::nullopt;
  }
  Row row;
  row.dim = chosen[0];
  row.batches.assign(batches.begin(), batches.end());
  const int64_t rows = operand.getNumElements() / std::max<int64_t>(operand.getDimSize(row.dim), 1);
  // Of few long rows, writing one place costs less than choosing everywhere.
  if (rows < 2 || indices.getNumElements() != rows || update.getNumElements() != rows) {
    return std::nullopt;
  }
  return row;
}

// The one operation of two scalars, if the region is (old, new) -> op(old, new); null with `isNew`
// if it is new.
mlir::Operation* combinerOf(shlo::ScatterOp op, bool& isNew) {
  mlir::Block& body = op.getUpdateComputation().front();
  auto arguments = body.getArguments();
  mlir::Operation& last = body.back();
  if (arguments.size() != 2 || last.getNumOperands() != 1) return nullptr;
  isNew = last.getOperand(0) == arguments[1];
  if (isNew) return nullptr;
  mlir::Operation& first = body.front();
  const bool isPair = first.getNumOperands() == 2 && first.getNumResults() == 1 &&
                      first.getNextNode() == &last && last.getOperand(0) == first.getResult(0) &&
                      llvm::equal(first.getOperands(), arguments);
  return isPair && fusionClass(&first) == FusionClass::kElementwise ? &first : nullptr;
}

// The integers of a row's places, in a type that holds them and every index as it is.
RankedTensorType placeType(RankedTensorType operand, mlir::IntegerType index, int64_t size) {
  constexpr unsigned kNarrow = 32;
  const unsigned numberBits = index.isUnsigned() ? index.getWidth() : index.getWidth() - 1;
  const bool fits = index.getWidth() >= kNarrow &&
                    llvm::isUIntN(std::min(numberBits, 63u), static_cast<uint64_t>(size));
  return operand.clone(fits ? index : mlir::IntegerType::get(index.getContext(), 64));
}

mlir::LogicalResult selectOneUpdate(shlo::ScatterOp op, PatternRewriter& rewriter) {
  if (op.getInputs().size() != 1 || !constantSplat(op.getInputs()[0]) ||
      op.getResult(0).getType() != op.getInputs()[0].getType()) {
    return mlir::failure();
  }
  std::optional<Row> row = rowOf(op);
  bool isNew = false;
  mlir::Operation* combiner = combinerOf(op, isNew);
  if (!row || (!combiner && !isNew)) return mlir::failure();

  auto type = llvm::cast<RankedTensorType>(op.getInputs()[0].getType());
  mlir::Value input = op.getInputs()[0];
  Dims shape;
  for (int64_t d : row->batches) shape.push_back(type.getDimSize(d));
  auto spread = [&](mlir::Value value, mlir::Type element) -> mlir::Value {
    auto rows = RankedTensorType::get(
        shape, llvm::cast<RankedTensorType>(value.getType()).getElementType());
    if (value.getType() != rows) {
      value = shlo::ReshapeOp::create(rewriter, op.getLoc(), rows, value);
    }
    if (rows.getElementType() != element) {
      value = shlo::ConvertOp::create(rewriter, op.getLoc(), rows.clone(element), value);
    }
    return shlo::BroadcastInDimOp::create(rewriter, op.getLoc(), type.clone(element), value,
                                          row->batches);
  };
  auto index = llvm::cast<mlir::IntegerType>(
      llvm::cast<RankedTensorType>(op.getScatterIndices().getType()).getElementType());
  RankedTensorType places = placeType(type, index, type.getDimSize(row->dim));
  mlir::Value isPlace = shlo::CompareOp::create(
      rewriter, op.getLoc(), spread(op.getScatterIndices(), places.getElementType()),
      shlo::IotaOp::create(rewriter, op.getLoc(), places, row->dim), shlo::ComparisonDirection::EQ,
      shlo::ComparisonType::NOTYPE);
  mlir::Value update = spread(op.getUpdates()[0], type.getElementType());
  if (combiner) {
    mlir::IRMapping mapping;
    mapping.map(combiner->getOperand(0), input);
    mapping.map(combiner->getOperand(1), update);
    mlir::Operation* all = rewriter.clone(*combiner, mapping);
    all->getResult(0).setType(type);
    update = all->getResult(0);
  }
  rewriter.replaceOpWithNewOp<shlo::SelectOp>(op, type, isPlace, update, input);
  return mlir::success();
}

}  // namespace

void addOneUpdateScatterPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(selectOneUpdate);
}

}  // namespace isthmus

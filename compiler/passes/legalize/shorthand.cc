// Operations that are another operation with some arguments left out.
#include "compiler/dialect/diagnostics/diagnostics.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/legalize/patterns.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::RankedTensorType;
using Dims = llvm::SmallVector<int64_t>;

LogicalResult legalizeBroadcast(shlo::BroadcastOp op, PatternRewriter& rewriter) {
  auto type = llvm::cast<RankedTensorType>(op.getType());
  auto operandType = llvm::cast<RankedTensorType>(op.getOperand().getType());
  // The new dimensions come first.
  Dims dimensions;
  for (int64_t d = type.getRank() - operandType.getRank(); d < type.getRank(); ++d) {
    dimensions.push_back(d);
  }
  rewriter.replaceOpWithNewOp<shlo::BroadcastInDimOp>(op, type, op.getOperand(), dimensions);
  return mlir::success();
}

LogicalResult legalizeDot(shlo::DotOp op, PatternRewriter& rewriter) {
  auto lhsType = llvm::dyn_cast<RankedTensorType>(op.getLhs().getType());
  auto rhsType = llvm::dyn_cast<RankedTensorType>(op.getRhs().getType());
  if (!lhsType || !rhsType) return mlir::failure();
  auto numbers =
      shlo::DotDimensionNumbersAttr::get(op.getContext(), {}, {}, {lhsType.getRank() - 1}, {0});
  rewriter.replaceOpWithNewOp<shlo::DotGeneralOp>(op, op.getType(), op.getLhs(), op.getRhs(),
                                                  numbers, op.getPrecisionConfigAttr(),
                                                  shlo::DotAlgorithmAttr());
  return mlir::success();
}

// The body of a map works on scalars; the same operations on whole arrays are its meaning.
LogicalResult legalizeMap(shlo::MapOp op, PatternRewriter& rewriter) {
  mlir::Block& body = op.getComputation().front();
  if (op.getInputs().empty() || !ArrayBuilder::isElementwise(body)) return mlir::failure();
  rewriter.replaceOp(op, ArrayBuilder(op, rewriter).apply(body, op.getInputs()));
  return mlir::success();
}

LogicalResult legalizeGetTupleElement(shlo::GetTupleElementOp op, PatternRewriter& rewriter) {
  auto tuple = op.getOperand().getDefiningOp<shlo::TupleOp>();
  if (!tuple) return mlir::failure();
  rewriter.replaceOp(op, tuple.getVal()[op.getIndex()]);
  return mlir::success();
}

// A dimension may be counted from the last.
LogicalResult legalizeSort(shlo::SortOp op, PatternRewriter& rewriter) {
  const auto dimension = static_cast<int64_t>(op.getDimension());
  if (dimension >= 0) return mlir::failure();
  int64_t rank = tensorTypeOf(op.getInputs().front()).getRank();
  rewriter.modifyOpInPlace(op, [&] { op.setDimension(dimension + rank); });
  return mlir::success();
}

// Requests about where values lie: layouts are settled at the program's border, and all memories of
// a program are the host's.
LogicalResult legalizePlacement(shlo::CustomCallOp op, PatternRewriter& rewriter) {
  llvm::StringRef target = op.getCallTargetName();
  if (target != "LayoutConstraint" && target != "annotate_device_placement") return mlir::failure();
  if (op.getNumOperands() != 1 || op.getNumResults() != 1 ||
      op.getOperand(0).getType() != op.getResult(0).getType()) {
    return mlir::failure();
  }
  rewriter.replaceOp(op, op.getOperands());
  return mlir::success();
}

// torch_index_select gathers along one dimension; the batch dimensions come first on both sides.
LogicalResult legalizeTorchIndexSelect(shlo::TorchIndexSelectOp op, PatternRewriter& rewriter) {
  auto operandType = llvm::cast<RankedTensorType>(op.getOperand().getType());
  auto indexType = llvm::cast<RankedTensorType>(op.getIndex().getType());
  if (!operandType.hasStaticShape() || !indexType.hasStaticShape()) return mlir::failure();
  int64_t dim = op.getDim(), batches = op.getBatchDims();
  if (batches < 0 || dim < batches || dim >= operandType.getRank() ||
      batches > indexType.getRank()) {
    return emitInvalid(op, "expects 0 <= batch_dims <= dim < ")
           << operandType.getRank() << " and batch_dims <= " << indexType.getRank()
           << ", got batch_dims = " << batches << " and dim = " << dim;
  }
  Dims offsets, sizes, collapsed{dim}, operandBatches, indexBatches;
  for (int64_t d = 0; d < batches; ++d) {
    operandBatches.push_back(d);
    indexBatches.push_back(d);
  }
  int64_t resultRank = operandType.getRank() - 1 + indexType.getRank() - batches;
  for (int64_t d = 0; d < operandType.getRank(); ++d) {
    bool taken = d == dim || d < batches;
    sizes.push_back(taken ? 1 : operandType.getDimSize(d));
  }
  // Result: the operand's dimensions before `dim`, the index's own, the operand's rest.
  for (int64_t d = batches; d < dim; ++d) offsets.push_back(d);
  for (int64_t d = dim + indexType.getRank() - batches; d < resultRank; ++d) offsets.push_back(d);
  auto numbers =
      shlo::GatherDimensionNumbersAttr::get(op.getContext(), offsets, collapsed, operandBatches,
                                            indexBatches, Dims{dim}, indexType.getRank());
  auto gather = shlo::GatherOp::create(rewriter, op.getLoc(), op.getType(), op.getOperand(),
                                       op.getIndex(), numbers, sizes, /*indices_are_sorted=*/false);
  // Its rules are those of the sizes and of the result.
  if (mlir::failed(verifyRules(gather))) {
    rewriter.eraseOp(gather);
    return mlir::failure();
  }
  rewriter.replaceOp(op, gather);
  return mlir::success();
}

}  // namespace

void addShorthandPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(legalizeBroadcast);
  patterns.add(legalizeDot);
  patterns.add(legalizeMap);
  patterns.add(legalizeGetTupleElement);
  patterns.add(legalizeSort);
  patterns.add(legalizePlacement);
  patterns.add(legalizeTorchIndexSelect);
}

}  // namespace isthmus

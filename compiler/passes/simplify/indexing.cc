// Slices at known places, and gathers and scatters that are slices.
#include <algorithm>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/simplify/match.h"
#include "compiler/passes/simplify/patterns.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::RankedTensorType;
using Dims = llvm::SmallVector<int64_t>;

LogicalResult simplifyDynamicSlice(shlo::DynamicSliceOp op, PatternRewriter& rewriter) {
  RankedTensorType operandType = op.getOperand().getType();
  if (!operandType.hasStaticShape() || !op.getType().hasStaticShape()) return mlir::failure();
  Dims starts, limits, strides;
  for (auto [d, index] : llvm::enumerate(op.getStartIndices())) {
    int64_t size = op.getSliceSizes()[d];
    int64_t last = operandType.getDimSize(d) - size;
    int64_t start = 0;
    // A slice as large as the dimension can only start at 0, whatever the index.
    if (last > 0) {
      auto known = constantIntegers(index);
      if (!known || known->size() != 1) return mlir::failure();
      start = std::clamp<int64_t>((*known)[0], 0, last);
    }
    starts.push_back(start);
    limits.push_back(start + size);
    strides.push_back(1);
  }
  rewriter.replaceOpWithNewOp<shlo::SliceOp>(op, op.getType(), op.getOperand(), starts, limits,
                                             strides);
  return mlir::success();
}

LogicalResult simplifyDynamicUpdateSlice(shlo::DynamicUpdateSliceOp op, PatternRewriter& rewriter) {
  if (op.getUpdate().getType() == op.getType()) {
    rewriter.replaceOp(op, op.getUpdate());
    return mlir::success();
  }
  if (elementCount(op.getUpdate().getType()) == 0 && op.getOperand().getType() == op.getType()) {
    rewriter.replaceOp(op, op.getOperand());
    return mlir::success();
  }
  return mlir::failure();
}

// The scalar at `position` of the index array `indices` (rank 0 or 1).
mlir::Value indexScalar(mlir::Value indices, int64_t position, mlir::Location location,
                        PatternRewriter& rewriter) {
  auto type = llvm::cast<RankedTensorType>(indices.getType());
  auto scalar = RankedTensorType::get({}, type.getElementType());
  mlir::Value value = indices;
  if (type.getNumElements() > 1) {
    auto one = RankedTensorType::get({1}, type.getElementType());
    value = shlo::SliceOp::create(rewriter, location, one, indices, Dims{position},
                                  Dims{position + 1}, Dims{1});
  }
  if (value.getType() == scalar) return value;
  return shlo::ReshapeOp::create(rewriter, location, scalar, value);
}

mlir::Value zeroIndex(mlir::Type element, mlir::Location location, PatternRewriter& rewriter) {
  auto scalar = RankedTensorType::get({}, element);
  return shlo::ConstantOp::create(
      rewriter, location,
      mlir::DenseElementsAttr::get(
          scalar, llvm::APInt(llvm::cast<mlir::IntegerType>(element).getWidth(), 0)));
}

// A gather with one index vector takes one slice: its index clamping is dynamic_slice's.
LogicalResult gatherOfOneSlice(shlo::GatherOp op, PatternRewriter& rewriter) {
  auto indicesType = llvm::cast<RankedTensorType>(op.getStartIndices().getType());
  auto operandType = llvm::cast<RankedTensorType>(op.getOperand().getType());
  auto type = llvm::cast<RankedTensorType>(op.getResult().getType());
  shlo::GatherDimensionNumbersAttr numbers = op.getDimensionNumbers();
  if (!indicesType.hasStaticShape() || !operandType.hasStaticShape() || !type.hasStaticShape() ||
      !numbers.getOperandBatchingDims().empty()) {
    return mlir::failure();
  }
  int64_t vector = numbers.getIndexVectorDim() == indicesType.getRank()
                       ? 1
                       : indicesType.getDimSize(numbers.getIndexVectorDim());
  if (indicesType.getNumElements() != vector || vector == 0) return mlir::failure();
  mlir::Value indices = op.getStartIndices();
  if (indicesType.getRank() > 1) {
    indices = shlo::ReshapeOp::create(rewriter, op.getLoc(),
                                      RankedTensorType::get({vector}, indicesType.getElementType()),
                                      indices);
  }
  llvm::SmallVector<mlir::Value> starts(operandType.getRank());
  for (auto [position, d] : llvm::enumerate(numbers.getStartIndexMap())) {
    starts[d] = indexScalar(indices, position, op.getLoc(), rewriter);
  }
  for (mlir::Value& start : starts) {
    if (!start) start = zeroIndex(indicesType.getElementType(), op.getLoc(), rewriter);
  }
  Dims sizes(op.getSliceSizes());
  auto slice = shlo::DynamicSliceOp::create(
      rewriter, op.getLoc(), RankedTensorType::get(sizes, operandType.getElementType()),
      op.getOperand(), starts, sizes);
  // Offset dimensions keep the slice's order; the others have size 1.
  rewriter.replaceOpWithNewOp<shlo::ReshapeOp>(op, type, slice);
  return mlir::success();
}

}  // namespace

void addIndexingPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(simplifyDynamicSlice);
  patterns.add(simplifyDynamicUpdateSlice);
  patterns.add(gatherOfOneSlice);
}

}  // namespace isthmus

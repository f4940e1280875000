// Slices at known places, and gathers and scatters that are slices.
#include <optional>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/facts/update_slice.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/simplify/match.h"
#include "compiler/passes/simplify/patterns.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/IRMapping.h"

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
    const std::optional<int64_t> start = knownStart(index, operandType.getDimSize(d) - size);
    if (!start) return mlir::failure();
    starts.push_back(*start);
    limits.push_back(*start + size);
    strides.push_back(1);
  }
  rewriter.replaceOpWithNewOp<shlo::SliceOp>(op, op.getType(), op.getOperand(), starts, limits,
                                             strides);
  return mlir::success();
}

// An array of one number, of which a block at a known place is replaced, is that block padded.
LogicalResult padOfOneBlock(shlo::DynamicUpdateSliceOp op, PatternRewriter& rewriter) {
  mlir::DenseElementsAttr number = constantSplat(op.getOperand());
  const RankedTensorType type = op.getType(), block = op.getUpdate().getType();
  if (!number || !type.hasStaticShape() || !block.hasStaticShape()) return mlir::failure();
  Dims low, high;
  for (auto [d, index] : llvm::enumerate(op.getStartIndices())) {
    const int64_t last = type.getDimSize(d) - block.getDimSize(d);
    const std::optional<int64_t> start = knownStart(index, last);
    if (!start) return mlir::failure();
    low.push_back(*start);
    high.push_back(last - *start);
  }
  auto scalar = RankedTensorType::get({}, type.getElementType());
  mlir::Value outside = shlo::ConstantOp::create(rewriter, op.getLoc(), number.resizeSplat(scalar));
  rewriter.replaceOpWithNewOp<shlo::PadOp>(op, type, op.getUpdate(), outside, low, high,
                                           Dims(low.size(), 0));
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

// Of a scatter with one index vector, which is known: where its window begins along each dimension
// of the operand, and its size. Nothing if it is not all inside, or dimensions are batches.
struct KnownWindow {
  Dims starts, sizes;
};
std::optional<KnownWindow> knownWindowOf(shlo::ScatterOp op) {
  auto operand = llvm::cast<RankedTensorType>(op.getInputs()[0].getType());
  auto indices = llvm::cast<RankedTensorType>(op.getScatterIndices().getType());
  auto update = llvm::cast<RankedTensorType>(op.getUpdates()[0].getType());
  shlo::ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
  const llvm::ArrayRef<int64_t> moved = numbers.getScatterDimsToOperandDims();
  if (!operand.hasStaticShape() || !indices.hasStaticShape() || !update.hasStaticShape() ||
      !numbers.getInputBatchingDims().empty() ||
      indices.getNumElements() != static_cast<int64_t>(moved.size())) {
    return std::nullopt;
  }
  const auto known = constantIntegers(op.getScatterIndices());
  if (!known) return std::nullopt;
  KnownWindow window{Dims(operand.getRank(), 0), Dims(operand.getRank(), 1)};
  const llvm::ArrayRef<int64_t> windowDims = numbers.getUpdateWindowDims();
  for (int64_t d = 0, next = 0; d < operand.getRank(); ++d) {
    if (llvm::is_contained(numbers.getInsertedWindowDims(), d)) continue;
    window.sizes[d] = update.getDimSize(windowDims[next++]);
  }
  for (auto [position, d] : llvm::enumerate(moved)) window.starts[d] = (*known)[position];
  for (int64_t d = 0; d < operand.getRank(); ++d) {
    if (window.starts[d] < 0 || window.starts[d] > operand.getDimSize(d) - window.sizes[d]) {
      return std::nullopt;
    }
  }
  return window;
}

// A scatter of one window to a known place, x.at[2:5].add(y), is an update of a slice by what it
// held: unlike a scatter it is computed in one kernel with what comes before.
LogicalResult scatterOfOneSlice(shlo::ScatterOp op, PatternRewriter& rewriter) {
  if (op.getInputs().size() != 1) return mlir::failure();
  mlir::Value input = op.getInputs()[0], update = op.getUpdates()[0];
  auto type = llvm::cast<RankedTensorType>(input.getType());
  if (op.getResult(0).getType() != type ||
      mlir::getElementTypeOrSelf(update) != type.getElementType()) {
    return mlir::failure();
  }
  mlir::Block& combiner = op.getUpdateComputation().front();
  const bool isNew = combiner.getTerminator()->getOperand(0) == combiner.getArgument(1);
  mlir::Operation* operation = soleOperation(op.getUpdateComputation());
  if (!isNew && (!operation || fusionClass(operation) != FusionClass::kElementwise)) {
    return mlir::failure();
  }
  const std::optional<KnownWindow> window = knownWindowOf(op);
  if (!window) return mlir::failure();
  auto block = RankedTensorType::get(window->sizes, type.getElementType());
  if (update.getType() != block) {
    update = shlo::ReshapeOp::create(rewriter, op.getLoc(), block, update);
  }
  if (!isNew) {
    Dims limits;
    for (auto [start, size] : llvm::zip(window->starts, window->sizes)) {
      limits.push_back(start + size);
    }
    mlir::IRMapping mapping;
    mapping.map(combiner.getArgument(0),
                shlo::SliceOp::create(rewriter, op.getLoc(), block, input, window->starts, limits,
                                      Dims(window->sizes.size(), 1))
                    .getResult());
    mapping.map(combiner.getArgument(1), update);
    mlir::Operation* combined = rewriter.clone(*operation, mapping);
    combined->setLoc(op.getLoc());
    combined->getResult(0).setType(block);
    update = combined->getResult(0);
  }
  llvm::SmallVector<mlir::Value> starts;
  for (int64_t start : window->starts) {
    auto scalar = RankedTensorType::get({}, rewriter.getI64Type());
    starts.push_back(shlo::ConstantOp::create(
        rewriter, op.getLoc(), mlir::DenseElementsAttr::get(scalar, llvm::APInt(64, start))));
  }
  rewriter.replaceOpWithNewOp<shlo::DynamicUpdateSliceOp>(op, type, input, update, starts);
  return mlir::success();
}

}  // namespace

void addIndexingPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add(simplifyDynamicSlice);
  patterns.add(simplifyDynamicUpdateSlice);
  patterns.add(padOfOneBlock);
  patterns.add(gatherOfOneSlice);
  patterns.add(scatterOfOneSlice);
}

}  // namespace isthmus

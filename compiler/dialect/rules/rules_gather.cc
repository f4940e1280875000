// Rules and types of gather, dynamic_gather and scatter.
#include "compiler/dialect/rules/rules.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/Matchers.h"

namespace isthmus::shlo {

using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;

namespace {

// The labels of the rules that gather and scatter share, which number them differently.
struct IndexRules {
  llvm::StringRef vectorDim, mapSize, uniqueCollapsed, sortedCollapsed, collapsedRange,
      sortedBatching, batchingRange, uniqueIndexBatching, indexBatchingRange, vectorNotBatching,
      batchingSize, batchingSizes, uniqueMap, mapRange;
};

constexpr IndexRules kGather = {"c2",  "c3",  "c6",  "c7",  "c8",  "c10", "c11",
                                "c13", "c14", "c15", "c16", "c17", "c18", "c19"};
// Without batching, hence with fewer numbers.
constexpr IndexRules kDynamicGather = {"c2", "c3", "c6", "c6", "c7", "c6", "c6",
                                       "c6", "c6", "c6", "c6", "c6", "c9", "c10"};
constexpr IndexRules kScatter = {"c22", "c19", "c9",  "c10", "c11", "c12", "c13",
                                 "c14", "c15", "c16", "c17", "c18", "c20", "c21"};

LogicalResult verifyIndices(const Rules& rules, const IndexRules& r, mlir::RankedTensorType operand,
                            mlir::RankedTensorType indices, Dims collapsed, Dims batching,
                            Dims indexBatching, Dims map, int64_t vectorDim) {
  int64_t rank = operand.getRank(), indexRank = indices.getRank();
  if (failed(rules.inRange(r.vectorDim, "index_vector_dim", vectorDim, 0, indexRank + 1))) {
    return failure();
  }
  int64_t vectorSize = vectorDim < indexRank ? indices.getDimSize(vectorDim) : 1;
  if (!isDynamic(vectorSize) && static_cast<int64_t>(map.size()) != vectorSize) {
    return rules.violates(r.mapSize, "an index has ", vectorSize, " numbers, expected ", map.size(),
                          ", one for each indexed dimension");
  }
  llvm::SmallVector<int64_t> dropped(collapsed), indexed(map);
  llvm::append_range(dropped, batching);
  llvm::append_range(indexed, batching);
  if (failed(rules.unique(r.uniqueCollapsed, "collapsed or inserted and batching dimensions",
                          dropped)) ||
      failed(rules.sorted(r.sortedCollapsed, "collapsed or inserted dimensions", collapsed)) ||
      failed(rules.allInRange(r.collapsedRange, "collapsed or inserted dimensions", collapsed, 0,
                              rank)) ||
      failed(rules.sorted(r.sortedBatching, "batching dimensions", batching)) ||
      failed(rules.allInRange(r.batchingRange, "batching dimensions", batching, 0, rank)) ||
      failed(rules.unique(r.uniqueIndexBatching, "batching dimensions of the indices",
                          indexBatching)) ||
      failed(rules.allInRange(r.indexBatchingRange, "batching dimensions of the indices",
                              indexBatching, 0, indexRank)) ||
      failed(rules.unique(r.uniqueMap, "indexed and batching dimensions", indexed)) ||
      failed(rules.allInRange(r.mapRange, "indexed dimensions", map, 0, rank))) {
    return failure();
  }
  if (llvm::is_contained(indexBatching, vectorDim)) {
    return rules.violates(r.vectorNotBatching, "index_vector_dim is ", vectorDim,
                          ", expected no batching dimension of the indices");
  }
  if (failed(rules.size(r.batchingSize, "batching dimensions of the indices", indexBatching.size(),
                        batching.size()))) {
    return failure();
  }
  for (auto [dim, indexDim] : llvm::zip(batching, indexBatching)) {
    if (!agree(operand.getDimSize(dim), indices.getDimSize(indexDim))) {
      return rules.violates(r.batchingSizes, "batching dimension ", dim, " of ", operand,
                            " and dimension ", indexDim, " of ", indices,
                            ", expected the same size");
    }
  }
  return success();
}

// The sizes and bounds of the indices without the dimension along which one index lies.
void addBatchSizes(mlir::RankedTensorType indices, int64_t vectorDim,
                   llvm::SmallVectorImpl<int64_t>& sizes, llvm::SmallVectorImpl<int64_t>& bounds) {
  for (int64_t dim = 0; dim < indices.getRank(); ++dim) {
    if (dim == vectorDim) continue;
    sizes.push_back(indices.getDimSize(dim));
    bounds.push_back(boundsOf(indices).empty() ? mlir::ShapedType::kDynamic
                                               : boundsOf(indices)[dim]);
  }
}

// Merges batch sizes with those of a slice, at the places `offsetDims`.
LogicalResult inferGather(const Rules& rules, mlir::RankedTensorType operand,
                          mlir::RankedTensorType indices, GatherDimensionNumbersAttr numbers,
                          Dims sliceSizes, llvm::StringRef offsetOrder, llvm::StringRef offsetRange,
                          Types& types) {
  llvm::SmallVector<int64_t> batchSizes, batchBounds, offsetSizes;
  addBatchSizes(indices, numbers.getIndexVectorDim(), batchSizes, batchBounds);
  for (auto [dim, size] : llvm::enumerate(sliceSizes)) {
    int64_t d = dim;
    if (!llvm::is_contained(numbers.getCollapsedSliceDims(), d) &&
        !llvm::is_contained(numbers.getOperandBatchingDims(), d)) {
      offsetSizes.push_back(size);
    }
  }
  Dims offsetDims = numbers.getOffsetDims();
  int64_t rank = batchSizes.size() + offsetDims.size();
  if (failed(rules.unique(offsetOrder, "offset_dims", offsetDims)) ||
      failed(rules.sorted(offsetOrder, "offset_dims", offsetDims)) ||
      failed(rules.allInRange(offsetRange, "offset_dims", offsetDims, 0, rank))) {
    return failure();
  }
  llvm::SmallVector<int64_t> sizes, bounds;
  size_t batch = 0, offset = 0;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (llvm::is_contained(offsetDims, dim)) {
      sizes.push_back(offsetSizes[offset++]);
      bounds.push_back(mlir::ShapedType::kDynamic);
    } else {
      sizes.push_back(batchSizes[batch]);
      bounds.push_back(batchBounds[batch++]);
    }
  }
  types.push_back(boundedType(sizes, operand.getElementType(), bounds));
  return success();
}

LogicalResult verifySliceSizes(const Rules& rules, mlir::RankedTensorType operand,
                               GatherDimensionNumbersAttr numbers, Dims sizes,
                               llvm::StringRef range, llvm::StringRef collapsed,
                               llvm::StringRef batching) {
  for (auto [size, whole] : llvm::zip(sizes, operand.getShape())) {
    if (!isDynamic(size) && (size < 0 || (!isDynamic(whole) && size > whole))) {
      return rules.violates(range, "slice_sizes are ", text(sizes), ", expected them inside ",
                            operand);
    }
  }
  auto atMostOne = [&](llvm::StringRef rule, Dims dims) -> LogicalResult {
    for (int64_t dim : dims) {
      if (!isDynamic(sizes[dim]) && sizes[dim] > 1) {
        return rules.violates(rule, "slice_sizes are ", text(sizes), " but dimension ", dim,
                              " is collapsed or batching, expected 0 or 1");
      }
    }
    return success();
  };
  if (failed(atMostOne(collapsed, numbers.getCollapsedSliceDims()))) return failure();
  return atMostOne(batching, numbers.getOperandBatchingDims());
}

LogicalResult verifyGatherRank(const Rules& rules, mlir::RankedTensorType operand,
                               GatherDimensionNumbersAttr numbers) {
  size_t sum = numbers.getOffsetDims().size() + numbers.getCollapsedSliceDims().size() +
               numbers.getOperandBatchingDims().size();
  if (static_cast<int64_t>(sum) == operand.getRank()) return success();
  return rules.violates("c1", "there are ", sum,
                        " offset, collapsed and batching dimensions, expected as many as ", operand,
                        " has, ", operand.getRank());
}

}  // namespace

ISTHMUS_INFER(GatherOp, "gather") {
  mlir::RankedTensorType operand = tensorType(op.getOperand());
  mlir::RankedTensorType indices = tensorType(op.getStartIndices());
  GatherDimensionNumbersAttr n = op.getDimensionNumbers();
  Dims sizes = op.getSliceSizes();
  if (failed(verifyGatherRank(rules, operand, n)) ||
      failed(verifyIndices(rules, kGather, operand, indices, n.getCollapsedSliceDims(),
                           n.getOperandBatchingDims(), n.getStartIndicesBatchingDims(),
                           n.getStartIndexMap(), n.getIndexVectorDim())) ||
      failed(rules.size("c20", "slice_sizes", sizes.size(), operand.getRank())) ||
      failed(verifySliceSizes(rules, operand, n, sizes, "c21", "c9", "c12"))) {
    return failure();
  }
  return inferGather(rules, operand, indices, n, sizes, "c4", "c5", types);
}

ISTHMUS_INFER(DynamicGatherOp, "dynamic_gather") {
  mlir::RankedTensorType operand = tensorType(op.getOperand());
  mlir::RankedTensorType indices = tensorType(op.getStartIndices());
  GatherDimensionNumbersAttr n = op.getDimensionNumbers();
  if (failed(verifyGatherRank(rules, operand, n)) ||
      failed(verifyIndices(rules, kDynamicGather, operand, indices, n.getCollapsedSliceDims(),
                           n.getOperandBatchingDims(), n.getStartIndicesBatchingDims(),
                           n.getStartIndexMap(), n.getIndexVectorDim())) ||
      failed(rules.size("c11", "slice_sizes", tensorType(op.getSliceSizes()).getDimSize(0),
                        operand.getRank()))) {
    return failure();
  }
  llvm::SmallVector<int64_t> sizes(operand.getRank(), mlir::ShapedType::kDynamic);
  mlir::DenseIntElementsAttr known;
  if (mlir::matchPattern(op.getSliceSizes(), mlir::m_Constant(&known))) {
    for (auto [i, size] : llvm::enumerate(known.getValues<llvm::APInt>())) {
      sizes[i] = size.getSExtValue();
    }
    if (failed(verifySliceSizes(rules, operand, n, sizes, "c12", "c8", "c8"))) return failure();
  }
  return inferGather(rules, operand, indices, n, sizes, "c4", "c5", types);
}

ISTHMUS_INFER(ScatterOp, "scatter") {
  mlir::Region& region = *op.getRegions().front();
  if (op.getInputs().empty()) {
    return rules.violates("c5", "there are no inputs, expected one or more");
  }
  llvm::SmallVector<mlir::Type> inputs, updates;
  for (mlir::Value input : op.getInputs()) inputs.push_back(tensorType(input).getElementType());
  for (mlir::Value update : op.getUpdates()) updates.push_back(tensorType(update).getElementType());
  if (failed(verifyReducer(rules, "c23", region, inputs, updates))) return failure();
  for (auto [input, element] : llvm::zip(op.getInputs(), reducerElementTypes(region))) {
    types.push_back(tensorType(input).clone(element));
  }
  return success();
}

LogicalResult ScatterOp::verify() {
  Rules rules(*this);
  if (getInputs().empty()) {
    return rules.violates("c5", "there are no inputs, expected one or more");
  }
  mlir::RankedTensorType input = tensorType(getInputs().front());
  mlir::RankedTensorType update = tensorType(getUpdates().front());
  mlir::RankedTensorType indices = getScatterIndices().getType();
  ScatterDimensionNumbersAttr n = getScatterDimensionNumbers();
  Dims window = n.getUpdateWindowDims();
  if (failed(rules.sameShapes("c1", getInputs().getTypes())) ||
      failed(rules.sameShapes("c3", getUpdates().getTypes()))) {
    return failure();
  }
  for (auto [in, up] : llvm::zip(getInputs(), getUpdates())) {
    mlir::Type a = tensorType(in).getElementType(), b = tensorType(up).getElementType();
    if (!sameBaseline(a, b)) {
      return rules.violates("c6", "element types of inputs and updates are ", a, " and ", b,
                            ", expected the same");
    }
  }
  size_t sum = window.size() + n.getInsertedWindowDims().size() + n.getInputBatchingDims().size();
  if (static_cast<int64_t>(sum) != input.getRank()) {
    return rules.violates("c2", "there are ", sum,
                          " window, inserted and batching dimensions, expected as many as ", input,
                          " has, ", input.getRank());
  }
  if (failed(rules.unique("c7", "update_window_dims", window)) ||
      failed(rules.sorted("c7", "update_window_dims", window)) ||
      failed(rules.allInRange("c8", "update_window_dims", window, 0, update.getRank())) ||
      failed(verifyIndices(rules, kScatter, input, indices, n.getInsertedWindowDims(),
                           n.getInputBatchingDims(), n.getScatterIndicesBatchingDims(),
                           n.getScatterDimsToOperandDims(), n.getIndexVectorDim()))) {
    return failure();
  }
  llvm::SmallVector<int64_t> batchSizes, bounds, windowSizes;
  addBatchSizes(indices, n.getIndexVectorDim(), batchSizes, bounds);
  for (int64_t dim = 0; dim < input.getRank(); ++dim) {
    if (!llvm::is_contained(n.getInsertedWindowDims(), dim) &&
        !llvm::is_contained(n.getInputBatchingDims(), dim)) {
      windowSizes.push_back(input.getDimSize(dim));
    }
  }
  if (update.getRank() != static_cast<int64_t>(batchSizes.size() + window.size())) {
    return rules.violates("c4", "updates are ", update, ", expected rank ",
                          batchSizes.size() + window.size());
  }
  size_t batch = 0, inner = 0;
  for (int64_t dim = 0; dim < update.getRank(); ++dim) {
    int64_t size = update.getDimSize(dim);
    if (llvm::is_contained(window, dim)) {
      int64_t most = windowSizes[inner++];
      if (!isDynamic(size) && !isDynamic(most) && size > most) {
        return rules.violates("c4", "dimension ", dim, " of ", update, " has size ", size,
                              ", expected ", most, " at most as in ", input);
      }
    } else if (int64_t expected = batchSizes[batch++]; !agree(size, expected)) {
      return rules.violates("c4", "dimension ", dim, " of ", update, " has size ", size,
                            ", expected that of the indices, ", expected);
    }
  }
  return success();
}

}  // namespace isthmus::shlo

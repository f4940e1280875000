// Blocks at indices that a tensor holds.
#include "compiler/reference/evaluators/evaluators.h"

namespace isthmus::reference {
namespace {

bool contains(llvm::ArrayRef<int64_t> dims, int64_t d) { return llvm::is_contained(dims, d); }

// What gather and scatter have in common: the parts of an index into the result (of gather) or the
// updates (of scatter), and what they say about an index into the operand.
struct IndexMap {
  llvm::ArrayRef<int64_t> windowDims;   // of the result: offset_dims, update_window_dims
  llvm::ArrayRef<int64_t> missingDims;  // of the operand, without a window dimension
  llvm::ArrayRef<int64_t> operandBatch;
  llvm::ArrayRef<int64_t> indicesBatch;
  llvm::ArrayRef<int64_t> startMap;
  int64_t indexVectorDim;
  int64_t operandRank;

  // The indices of the result that are not the window's.
  Index batchIndex(const Index& index) const {
    Index batch;
    for (size_t d = 0; d < index.size(); ++d) {
      if (!contains(windowDims, static_cast<int64_t>(d))) batch.push_back(index[d]);
    }
    return batch;
  }

  // The start that `indices` has for the batch index, for each dimension of the operand.
  Index fullStart(const Tensor& indices, const Index& batch) const {
    Index full(static_cast<size_t>(operandRank), 0);
    for (size_t k = 0; k < startMap.size(); ++k) {
      Index at = batch;
      if (indexVectorDim < indices.rank()) {
        at.insert(at.begin() + indexVectorDim, static_cast<int64_t>(k));
      }
      full[static_cast<size_t>(startMap[k])] = indices.integer(positionOf(indices.dims(), at));
    }
    return full;
  }

  // Batching index plus index in the window.
  Index offset(const Index& index, const Index& batch) const {
    Index full(static_cast<size_t>(operandRank), 0);
    for (size_t k = 0; k < operandBatch.size(); ++k) {
      int64_t d = indicesBatch[k];
      full[static_cast<size_t>(operandBatch[k])] =
          batch[static_cast<size_t>(d < indexVectorDim ? d : d - 1)];
    }
    size_t window = 0;
    for (int64_t d = 0; d < operandRank; ++d) {
      if (contains(missingDims, d) || contains(operandBatch, d)) continue;
      full[static_cast<size_t>(d)] += index[static_cast<size_t>(windowDims[window++])];
    }
    return full;
  }

  // The sizes of the window in the operand, where `sizes` are those of the result.
  Dims window(const Dims& sizes) const {
    Dims full(static_cast<size_t>(operandRank), 1);
    size_t next = 0;
    for (int64_t d = 0; d < operandRank; ++d) {
      if (contains(missingDims, d) || contains(operandBatch, d)) continue;
      full[static_cast<size_t>(d)] = sizes[static_cast<size_t>(windowDims[next++])];
    }
    return full;
  }
};

}  // namespace

Status gatherWith(Call& call, shlo::GatherDimensionNumbersAttr numbers,
                  llvm::ArrayRef<int64_t> sliceSizes) {
  const Tensor& x = call.tensor(0);
  const Tensor& indices = call.tensor(1);
  IndexMap map{numbers.getOffsetDims(),
               numbers.getCollapsedSliceDims(),
               numbers.getOperandBatchingDims(),
               numbers.getStartIndicesBatchingDims(),
               numbers.getStartIndexMap(),
               numbers.getIndexVectorDim(),
               x.rank()};
  if (sliceSizes.size() != x.dims().size()) return invalidArgument("slice sizes do not fit");
  // Window sizes at offset_dims, those of the indices between them.
  Dims batchSizes = indices.dims();
  if (map.indexVectorDim < indices.rank())
    batchSizes.erase(batchSizes.begin() + map.indexVectorDim);
  Dims windowSizes;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (sliceSizes[static_cast<size_t>(d)] < 0 || sliceSizes[static_cast<size_t>(d)] > x.dim(d)) {
      return invalidArgument("slice size ", sliceSizes[static_cast<size_t>(d)],
                             " of a dimension of size ", x.dim(d));
    }
    if (contains(map.missingDims, d) || contains(map.operandBatch, d)) continue;
    windowSizes.push_back(sliceSizes[static_cast<size_t>(d)]);
  }
  Dims dims;
  size_t batch = 0, window = 0;
  while (batch < batchSizes.size() || window < windowSizes.size()) {
    bool isWindow = contains(map.windowDims, static_cast<int64_t>(dims.size()));
    if (isWindow ? window >= windowSizes.size() : batch >= batchSizes.size()) {
      return invalidArgument("offset_dims do not fit the slice sizes");
    }
    dims.push_back(isWindow ? windowSizes[window++] : batchSizes[batch++]);
  }
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(x.elementType(), dims));
  ISTHMUS_RETURN_IF_ERROR(forEachIndex(dims, [&](const Index& index, int64_t position) -> Status {
    Index at = map.batchIndex(index);
    Index from = map.fullStart(indices, at);
    Index offset = map.offset(index, at);
    for (size_t d = 0; d < from.size(); ++d) {
      int64_t last = x.dims()[d] - sliceSizes[d];
      // Large numbers of ui64 are no negative ones.
      if (from[d] < 0 && isUnsignedInteger(indices.elementType())) from[d] = last;
      from[d] = std::max<int64_t>(0, std::min(from[d], last)) + offset[d];
    }
    if (!isInside(x.dims(), from)) return invalidArgument("an index out of bounds");
    result.copyElement(position, x, positionOf(x.dims(), from));
    return {};
  }));
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateGather(Call& call) {
  auto op = llvm::cast<shlo::GatherOp>(call.op);
  return gatherWith(call, op.getDimensionNumbers(), op.getSliceSizes());
}

// A window that is partly out of bounds is left out as a whole, as in XLA and as JAX documents it;
// the specification would leave out the elements that are.
Status evaluateScatter(Call& call) {
  auto op = llvm::cast<shlo::ScatterOp>(call.op);
  shlo::ScatterDimensionNumbersAttr numbers = op.getScatterDimensionNumbers();
  size_t count = op.getInputs().size();
  const Tensor& indices = call.tensor(count);
  mlir::Region& region = op.getUpdateComputation();
  IndexMap map{numbers.getUpdateWindowDims(),
               numbers.getInsertedWindowDims(),
               numbers.getInputBatchingDims(),
               numbers.getScatterIndicesBatchingDims(),
               numbers.getScatterDimsToOperandDims(),
               numbers.getIndexVectorDim(),
               call.tensor(0).rank()};
  std::vector<Tensor> results;
  for (size_t k = 0; k < count; ++k) {
    const Tensor& input = call.tensor(k);
    ElementType type = call.resultElementType(k);
    ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(type, input.dims()));
    for (int64_t i = 0; i < input.size(); ++i) {
      result.set(i, scalars::convert(input.elementType(), input.get(i), type));
    }
    results.push_back(std::move(result));
  }
  const Dims dims = results[0].dims();
  const Dims updates = call.tensor(count + 1).dims();
  const Dims window = map.window(updates);
  ISTHMUS_RETURN_IF_ERROR(
      forEachIndex(updates, [&](const Index& index, int64_t position) -> Status {
        Index batch = map.batchIndex(index);
        Index to = map.fullStart(indices, batch);
        Index offset = map.offset(index, batch);
        for (size_t d = 0; d < to.size(); ++d) {
          if (to[d] < 0 || to[d] > dims[d] - window[d]) return {};
          to[d] += offset[d];
        }
        if (!isInside(dims, to)) return {};
        int64_t at = positionOf(dims, to);
        std::vector<Tensor> arguments;
        for (unsigned k = 0; k < count; ++k) {
          ISTHMUS_ASSIGN_OR_RETURN(Tensor old, call.elementFor(region, k, results[k], at));
          arguments.push_back(std::move(old));
        }
        for (unsigned k = 0; k < count; ++k) {
          ISTHMUS_ASSIGN_OR_RETURN(Tensor update,
                                   call.elementFor(region, static_cast<unsigned>(count) + k,
                                                   call.tensor(count + 1 + k), position));
          arguments.push_back(std::move(update));
        }
        ISTHMUS_ASSIGN_OR_RETURN(std::vector<Tensor> given,
                                 call.runScalars(region, std::move(arguments)));
        for (size_t k = 0; k < count; ++k) results[k].set(at, given[k].get(0));
        return {};
      }));
  for (Tensor& result : results) call.results.push_back(std::move(result));
  return {};
}

}  // namespace isthmus::reference

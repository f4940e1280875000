// Operations that place elements elsewhere.
#include "compiler/reference/evaluators/evaluators.h"

namespace isthmus::reference {
namespace {

// A result whose element at each index is the operand's at `source(index)`.
template <typename Source>
StatusOr<Tensor> moved(Call& call, const Tensor& operand, Dims dims, Source source) {
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(operand.elementType(), std::move(dims)));
  Index from(static_cast<size_t>(operand.rank()));
  ISTHMUS_RETURN_IF_ERROR(
      forEachIndex(result.dims(), [&](const Index& index, int64_t position) -> Status {
        source(index, from);
        if (!isInside(operand.dims(), from)) return internalError("an index out of bounds");
        result.copyElement(position, operand, positionOf(operand.dims(), from));
        return {};
      }));
  return result;
}

// Starts of a slice, kept inside.
Index clampedStarts(Call& call, size_t first, const Dims& operand, const Dims& slice) {
  Index starts;
  for (size_t d = 0; d < operand.size(); ++d) {
    const Tensor& start = call.tensor(first + d);
    int64_t value = start.integer(0);
    // Large numbers of ui64 are no negative ones.
    if (value < 0 && isUnsignedInteger(start.elementType())) value = operand[d];
    starts.push_back(std::max<int64_t>(0, std::min(value, operand[d] - slice[d])));
  }
  return starts;
}

}  // namespace

StatusOr<Tensor> broadcastTo(Call& call, const Tensor& operand, const Dims& dims,
                             llvm::ArrayRef<int64_t> dimensions) {
  if (dimensions.size() != static_cast<size_t>(operand.rank())) {
    return invalidArgument("broadcast dimensions are ", dimensions.size(), " for rank ",
                           operand.rank());
  }
  for (size_t d = 0; d < dimensions.size(); ++d) {
    int64_t size = operand.dims()[d];
    if (dimensions[d] < 0 || dimensions[d] >= static_cast<int64_t>(dims.size()) ||
        (size != 1 && size != dims[static_cast<size_t>(dimensions[d])])) {
      return invalidArgument("dimension ", d, " of size ", size, " cannot be broadcast");
    }
  }
  return moved(call, operand, dims, [&](const Index& index, Index& from) {
    for (size_t d = 0; d < from.size(); ++d) {
      from[d] = operand.dims()[d] == 1 ? 0 : index[static_cast<size_t>(dimensions[d])];
    }
  });
}

StatusOr<Tensor> padTo(Call& call, const Tensor& operand, const Tensor& value,
                       llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high,
                       llvm::ArrayRef<int64_t> interior) {
  Dims dims;
  for (size_t d = 0; d < operand.dims().size(); ++d) {
    int64_t size = operand.dims()[d];
    // Sizes were verified where they are static; elsewhere this is the first look at them.
    int64_t inner = 0, padded = 0;
    if (interior[d] < 0 ||
        __builtin_mul_overflow(std::max<int64_t>(size - 1, 0), interior[d], &inner) ||
        __builtin_add_overflow(size, inner, &padded) ||
        __builtin_add_overflow(padded, low[d], &padded) ||
        __builtin_add_overflow(padded, high[d], &padded) || padded < 0) {
      return invalidArgument("dimension ", d, " cannot be padded by ", low[d], ", ", high[d],
                             " and ", interior[d]);
    }
    dims.push_back(padded);
  }
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(operand.elementType(), dims));
  for (int64_t i = 0; i < result.size(); ++i) result.copyElement(i, value, 0);
  Index to(dims.size());
  ISTHMUS_RETURN_IF_ERROR(
      forEachIndex(operand.dims(), [&](const Index& index, int64_t position) -> Status {
        for (size_t d = 0; d < to.size(); ++d) to[d] = low[d] + index[d] * (interior[d] + 1);
        if (isInside(dims, to)) result.copyElement(positionOf(dims, to), operand, position);
        return {};
      }));
  return result;
}

StatusOr<Tensor> sliceOf(Call& call, const Tensor& operand, llvm::ArrayRef<int64_t> starts,
                         llvm::ArrayRef<int64_t> limits, llvm::ArrayRef<int64_t> strides) {
  Dims dims;
  for (size_t d = 0; d < operand.dims().size(); ++d) {
    if (starts[d] < 0 || limits[d] < starts[d] || limits[d] > operand.dims()[d] || strides[d] < 1) {
      return invalidArgument("slice ", starts[d], ":", limits[d], ":", strides[d],
                             " of a dimension of size ", operand.dims()[d]);
    }
    dims.push_back((limits[d] - starts[d] + strides[d] - 1) / strides[d]);
  }
  return moved(call, operand, dims, [&](const Index& index, Index& from) {
    for (size_t d = 0; d < from.size(); ++d) from[d] = starts[d] + index[d] * strides[d];
  });
}

StatusOr<Tensor> concatenated(Call& call, llvm::ArrayRef<Tensor> parts, int64_t dimension) {
  auto axis = static_cast<size_t>(dimension);
  Dims dims = parts.front().dims();
  if (axis >= dims.size()) return invalidArgument("there is no dimension ", dimension);
  dims[axis] = 0;
  for (const Tensor& part : parts) dims[axis] += part.dims()[axis];
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(parts.front().elementType(), dims));
  int64_t offset = 0;
  for (const Tensor& part : parts) {
    ISTHMUS_RETURN_IF_ERROR(
        forEachIndex(part.dims(), [&](const Index& index, int64_t position) -> Status {
          Index to = index;
          to[axis] += offset;
          result.copyElement(positionOf(dims, to), part, position);
          return {};
        }));
    offset += part.dims()[axis];
  }
  return result;
}

Status evaluateBroadcast(Call& call) {
  auto op = llvm::cast<shlo::BroadcastOp>(call.op);
  const Tensor& x = call.tensor(0);
  Dims dims = toDims(op.getBroadcastSizes());
  std::vector<int64_t> dimensions;
  for (int64_t size : x.dims()) {
    dimensions.push_back(static_cast<int64_t>(dims.size()));
    dims.push_back(size);
  }
  return addResult(call, broadcastTo(call, x, dims, dimensions));
}

Status evaluateBroadcastInDim(Call& call) {
  auto op = llvm::cast<shlo::BroadcastInDimOp>(call.op);
  auto type = llvm::cast<mlir::RankedTensorType>(op.getType());
  if (!type.hasStaticShape()) return unimplemented("a result of unknown shape");
  return addResult(call, broadcastTo(call, call.tensor(0), toDims(type.getShape()),
                                     op.getBroadcastDimensions()));
}

Status evaluateConcatenate(Call& call) {
  auto op = llvm::cast<shlo::ConcatenateOp>(call.op);
  std::vector<Tensor> parts;
  for (const Value& operand : call.operands) parts.push_back(operand.tensor);
  return addResult(call, concatenated(call, parts, static_cast<int64_t>(op.getDimension())));
}

Status evaluateDynamicSlice(Call& call) {
  auto op = llvm::cast<shlo::DynamicSliceOp>(call.op);
  const Tensor& x = call.tensor(0);
  Dims dims = toDims(op.getSliceSizes());
  Index starts = clampedStarts(call, 1, x.dims(), dims);
  return addResult(call, moved(call, x, dims, [&](const Index& index, Index& from) {
                     for (size_t d = 0; d < from.size(); ++d) from[d] = starts[d] + index[d];
                   }));
}

Status evaluateDynamicUpdateSlice(Call& call) {
  const Tensor& x = call.tensor(0);
  const Tensor& update = call.tensor(1);
  Index starts = clampedStarts(call, 2, x.dims(), update.dims());
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(x.elementType(), x.dims()));
  for (int64_t i = 0; i < x.size(); ++i) result.copyElement(i, x, i);
  ISTHMUS_RETURN_IF_ERROR(
      forEachIndex(update.dims(), [&](const Index& index, int64_t position) -> Status {
        Index to = index;
        for (size_t d = 0; d < to.size(); ++d) to[d] += starts[d];
        result.copyElement(positionOf(x.dims(), to), update, position);
        return {};
      }));
  call.results.push_back(std::move(result));
  return {};
}

Status evaluatePad(Call& call) {
  auto op = llvm::cast<shlo::PadOp>(call.op);
  return addResult(call, padTo(call, call.tensor(0), call.tensor(1), op.getEdgePaddingLow(),
                               op.getEdgePaddingHigh(), op.getInteriorPadding()));
}

Status evaluateReshape(Call& call) {
  const Tensor& x = call.tensor(0);
  auto type = llvm::cast<mlir::RankedTensorType>(call.op->getResult(0).getType());
  if (!type.hasStaticShape()) return unimplemented("a result of unknown shape");
  call.results.push_back(x.withType({x.elementType(), toDims(type.getShape())}));
  return {};
}

Status evaluateReverse(Call& call) {
  auto op = llvm::cast<shlo::ReverseOp>(call.op);
  const Tensor& x = call.tensor(0);
  return addResult(call, moved(call, x, x.dims(), [&](const Index& index, Index& from) {
                     from = index;
                     for (int64_t d : op.getDimensions()) {
                       auto at = static_cast<size_t>(d);
                       from[at] = x.dims()[at] - 1 - index[at];
                     }
                   }));
}

Status evaluateSlice(Call& call) {
  auto op = llvm::cast<shlo::SliceOp>(call.op);
  return addResult(call, sliceOf(call, call.tensor(0), op.getStartIndices(), op.getLimitIndices(),
                                 op.getStrides()));
}

Status evaluateTranspose(Call& call) {
  auto op = llvm::cast<shlo::TransposeOp>(call.op);
  const Tensor& x = call.tensor(0);
  llvm::ArrayRef<int64_t> permutation = op.getPermutation();
  Dims dims;
  for (int64_t d : permutation) dims.push_back(x.dim(d));
  return addResult(call, moved(call, x, dims, [&](const Index& index, Index& from) {
                     for (size_t d = 0; d < from.size(); ++d) {
                       from[static_cast<size_t>(permutation[d])] = index[d];
                     }
                   }));
}

// result[batch, outer, index, inner] = operand[batch, outer, index[batch, …], inner].
Status evaluateTorchIndexSelect(Call& call) {
  auto op = llvm::cast<shlo::TorchIndexSelectOp>(call.op);
  const Tensor& x = call.tensor(0);
  const Tensor& indices = call.tensor(1);
  int64_t dimension = op.getDim() < 0 ? op.getDim() + x.rank() : op.getDim();
  int64_t batch = op.getBatchDims() < 0 ? op.getBatchDims() + indices.rank() : op.getBatchDims();
  if (dimension < 0 || dimension >= x.rank() || batch < 0 || batch > dimension ||
      batch > indices.rank()) {
    return invalidArgument("there is no dimension ", op.getDim(), " with ", op.getBatchDims(),
                           " batch dimensions");
  }
  Dims dims(x.dims().begin(), x.dims().begin() + dimension);
  dims.insert(dims.end(), indices.dims().begin() + batch, indices.dims().end());
  dims.insert(dims.end(), x.dims().begin() + dimension + 1, x.dims().end());
  int64_t extra = indices.rank() - batch;
  return addResult(
      call, moved(call, x, dims, [&](const Index& index, Index& from) {
        Index at(index.begin(), index.begin() + batch);
        at.insert(at.end(), index.begin() + dimension, index.begin() + dimension + extra);
        std::copy(index.begin(), index.begin() + dimension, from.begin());
        int64_t chosen = indices.integer(positionOf(indices.dims(), at));
        from[static_cast<size_t>(dimension)] =
            std::max<int64_t>(0, std::min(chosen, x.dim(dimension) - 1));
        std::copy(index.begin() + dimension + extra, index.end(), from.begin() + dimension + 1);
      }));
}

Status evaluateIota(Call& call) {
  auto op = llvm::cast<shlo::IotaOp>(call.op);
  auto type = llvm::cast<mlir::RankedTensorType>(op.getType());
  ElementType element = call.resultElementType();
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(element, toDims(type.getShape())));
  ISTHMUS_RETURN_IF_ERROR(
      forEachIndex(result.dims(), [&](const Index& index, int64_t position) -> Status {
        Scalar value = scalars::makeInteger(index[op.getIotaDimension()]);
        result.set(position, scalars::convert(ElementType::kS64, value, element));
        return {};
      }));
  call.results.push_back(std::move(result));
  return {};
}

}  // namespace isthmus::reference

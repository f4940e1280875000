// Operations whose result shape is an operand.
#include "compiler/reference/evaluators/evaluators.h"

namespace isthmus::reference {
namespace {

// What a shape operand says, if it agrees with what the result type knows.
StatusOr<Dims> shapeFrom(Call& call, const Tensor& shape) {
  ISTHMUS_ASSIGN_OR_RETURN(Dims dims, integersOf(shape));
  auto type = llvm::cast<mlir::RankedTensorType>(call.op->getResult(0).getType());
  if (static_cast<int64_t>(dims.size()) != type.getRank()) {
    return invalidArgument("a shape of ", dims.size(), " numbers for rank ", type.getRank());
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t known = type.getDimSize(static_cast<unsigned>(d));
    if (dims[d] < 0 || (!mlir::ShapedType::isDynamic(known) && known != dims[d])) {
      return invalidArgument("dimension ", d, " of the result is computed as ", dims[d]);
    }
  }
  return dims;
}

}  // namespace

Status evaluateDynamicBroadcastInDim(Call& call) {
  auto op = llvm::cast<shlo::DynamicBroadcastInDimOp>(call.op);
  ISTHMUS_ASSIGN_OR_RETURN(Dims dims, shapeFrom(call, call.tensor(1)));
  return addResult(call, broadcastTo(call, call.tensor(0), dims, op.getBroadcastDimensions()));
}

Status evaluateDynamicGather(Call& call) {
  auto op = llvm::cast<shlo::DynamicGatherOp>(call.op);
  ISTHMUS_ASSIGN_OR_RETURN(Dims sizes, integersOf(call.tensor(2)));
  return gatherWith(call, op.getDimensionNumbers(), sizes);
}

Status evaluateDynamicIota(Call& call) {
  auto op = llvm::cast<shlo::DynamicIotaOp>(call.op);
  ISTHMUS_ASSIGN_OR_RETURN(Dims dims, shapeFrom(call, call.tensor(0)));
  ElementType type = call.resultElementType();
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(type, dims));
  ISTHMUS_RETURN_IF_ERROR(forEachIndex(dims, [&](const Index& index, int64_t position) -> Status {
    Scalar value = scalars::makeInteger(index[op.getIotaDimension()]);
    result.set(position, scalars::convert(ElementType::kS64, value, type));
    return {};
  }));
  call.results.push_back(std::move(result));
  return {};
}

Status evaluateDynamicPad(Call& call) {
  ISTHMUS_ASSIGN_OR_RETURN(Dims low, integersOf(call.tensor(2)));
  ISTHMUS_ASSIGN_OR_RETURN(Dims high, integersOf(call.tensor(3)));
  ISTHMUS_ASSIGN_OR_RETURN(Dims interior, integersOf(call.tensor(4)));
  return addResult(call, padTo(call, call.tensor(0), call.tensor(1), low, high, interior));
}

Status evaluateDynamicReshape(Call& call) {
  const Tensor& x = call.tensor(0);
  ISTHMUS_ASSIGN_OR_RETURN(Dims dims, shapeFrom(call, call.tensor(1)));
  ArrayType type{x.elementType(), dims};
  if (!type.isValid() || type.numElements() != x.size()) {
    return invalidArgument("a shape for ", x.size(),
                           " elements has another number of them: ", type.toString());
  }
  call.results.push_back(x.withType(type));
  return {};
}

Status evaluateRealDynamicSlice(Call& call) {
  ISTHMUS_ASSIGN_OR_RETURN(Dims starts, integersOf(call.tensor(1)));
  ISTHMUS_ASSIGN_OR_RETURN(Dims limits, integersOf(call.tensor(2)));
  ISTHMUS_ASSIGN_OR_RETURN(Dims strides, integersOf(call.tensor(3)));
  return addResult(call, sliceOf(call, call.tensor(0), starts, limits, strides));
}

Status evaluateGetDimensionSize(Call& call) {
  auto op = llvm::cast<shlo::GetDimensionSizeOp>(call.op);
  int64_t size = call.tensor(0).dim(static_cast<int64_t>(op.getDimension()));
  return addResult(call, call.scalar(scalars::makeInteger(size), ElementType::kS32));
}

// The array keeps what lies within the size.
Status evaluateSetDimensionSize(Call& call) {
  auto op = llvm::cast<shlo::SetDimensionSizeOp>(call.op);
  const Tensor& x = call.tensor(0);
  auto d = static_cast<size_t>(op.getDimension());
  int64_t size = call.tensor(1).integer(0);
  if (size < 0 || size > x.dims()[d]) {
    return invalidArgument("size ", size, " of a dimension of at most ", x.dims()[d]);
  }
  Dims limits = x.dims();
  limits[d] = size;
  Dims starts(limits.size(), 0), strides(limits.size(), 1);
  return addResult(call, sliceOf(call, x, starts, limits, strides));
}

}  // namespace isthmus::reference

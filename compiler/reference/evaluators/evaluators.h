// The evaluators that the op table names, one for each operation, by file.
//
// Each reads the operands of a call and appends its results; shapes follow from the operands.
#pragma once

#include "compiler/reference/call.h"
#include "compiler/reference/scalar/scalar.h"

namespace isthmus::reference {

using Evaluator = Status (*)(Call& call);

// A row of the op table (ops/evaluators.td).
struct EvaluatorEntry {
  const char* name;  // without the dialect
  Evaluator evaluate;
  bool computesWithReals;  // quantized operands are dequantized first, results quantized
};

// By the full name of an operation, "stablehlo.add"; null if there is none. Thread-safe.
const EvaluatorEntry* findEvaluator(llvm::StringRef name);

// elementwise.cc
Status evaluateUnary(Call& call, scalars::Unary function);
Status evaluateBinary(Call& call, scalars::Binary function);
template <scalars::Unary function>
Status unary(Call& call) {
  return evaluateUnary(call, function);
}
template <scalars::Binary function>
Status binary(Call& call) {
  return evaluateBinary(call, function);
}
Status evaluateConvert(Call& call);
Status evaluateReducePrecision(Call& call);
Status evaluateCompare(Call& call);
Status evaluateClamp(Call& call);
Status evaluateSelect(Call& call);
Status evaluateMap(Call& call);

// quantization.cc
Status evaluateUniformQuantize(Call& call);
Status evaluateUniformDequantize(Call& call);

// data_movement.cc
Status evaluateBroadcast(Call& call);
Status evaluateBroadcastInDim(Call& call);
Status evaluateConcatenate(Call& call);
Status evaluateDynamicSlice(Call& call);
Status evaluateDynamicUpdateSlice(Call& call);
Status evaluatePad(Call& call);
Status evaluateReshape(Call& call);
Status evaluateReverse(Call& call);
Status evaluateSlice(Call& call);
Status evaluateTorchIndexSelect(Call& call);
Status evaluateTranspose(Call& call);
Status evaluateIota(Call& call);
StatusOr<Tensor> broadcastTo(Call& call, const Tensor& operand, const Dims& dims,
                             llvm::ArrayRef<int64_t> dimensions);
StatusOr<Tensor> padTo(Call& call, const Tensor& operand, const Tensor& value,
                       llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high,
                       llvm::ArrayRef<int64_t> interior);
StatusOr<Tensor> sliceOf(Call& call, const Tensor& operand, llvm::ArrayRef<int64_t> starts,
                         llvm::ArrayRef<int64_t> limits, llvm::ArrayRef<int64_t> strides);
StatusOr<Tensor> concatenated(Call& call, llvm::ArrayRef<Tensor> parts, int64_t dimension);

// bits.cc
Status evaluateConstant(Call& call);
Status evaluateBitcastConvert(Call& call);

// gather.cc
Status evaluateGather(Call& call);
Status evaluateScatter(Call& call);
Status gatherWith(Call& call, shlo::GatherDimensionNumbersAttr numbers,
                  llvm::ArrayRef<int64_t> sliceSizes);

// reduction.cc
Status evaluateReduce(Call& call);
Status evaluateReduceWindow(Call& call);
Status evaluateSelectAndScatter(Call& call);
Status evaluateSort(Call& call);

// contraction.cc
Status evaluateDot(Call& call);
Status evaluateDotGeneral(Call& call);
Status evaluateEinsum(Call& call);
Status evaluateUnaryEinsum(Call& call);
Status evaluateConvolution(Call& call);
Status evaluateDynamicConv(Call& call);

// linear_algebra.cc
Status evaluateCholesky(Call& call);
Status evaluateTriangularSolve(Call& call);
Status evaluateFft(Call& call);
Status evaluateBatchNormGrad(Call& call);
Status evaluateBatchNormInference(Call& call);
Status evaluateBatchNormTraining(Call& call);

// random.cc
Status evaluateRng(Call& call);
Status evaluateRngBitGenerator(Call& call);

// control_flow.cc
Status evaluateReturn(Call& call);
Status evaluateIf(Call& call);
Status evaluateCase(Call& call);
Status evaluateWhile(Call& call);
Status evaluateIdentity(Call& call);
Status evaluateComposite(Call& call);
Status evaluateAsyncStart(Call& call);
Status evaluateAsyncDone(Call& call);
Status evaluateCall(Call& call);
Status evaluateCustomCall(Call& call);
Status evaluateTuple(Call& call);
Status evaluateGetTupleElement(Call& call);
Status evaluateToken(Call& call);

// collective.cc
Status evaluateAllGather(Call& call);
Status evaluateAllReduce(Call& call);
Status evaluateAllToAll(Call& call);
Status evaluateCollectiveBroadcast(Call& call);
Status evaluateCollectivePermute(Call& call);
Status evaluateCollectiveReduce(Call& call);
Status evaluateCrossReplicaSum(Call& call);
Status evaluateReduceScatter(Call& call);
Status evaluatePartitionId(Call& call);
Status evaluateReplicaId(Call& call);
Status evaluateInfeed(Call& call);
Status evaluateOutfeed(Call& call);
Status evaluateSend(Call& call);
Status evaluateRecv(Call& call);

// dynamic.cc
Status evaluateDynamicBroadcastInDim(Call& call);
Status evaluateDynamicGather(Call& call);
Status evaluateDynamicIota(Call& call);
Status evaluateDynamicPad(Call& call);
Status evaluateDynamicReshape(Call& call);
Status evaluateRealDynamicSlice(Call& call);
Status evaluateGetDimensionSize(Call& call);
Status evaluateSetDimensionSize(Call& call);

// chlo.cc
Status evaluateBroadcasting(Call& call, scalars::Binary function);
template <scalars::Binary function>
Status broadcasting(Call& call) {
  return evaluateBroadcasting(call, function);
}
Status evaluateBroadcastCompare(Call& call);
Status evaluateBroadcastSelect(Call& call);
Status evaluateConstantLike(Call& call);
Status evaluateRaggedDot(Call& call);
Status evaluateTopK(Call& call);
Status evaluateScan(Call& call);

}  // namespace isthmus::reference

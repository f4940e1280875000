// Attention as a call of isthmus_rt_attention.
#include "backends/cpu/kernels/gemm/attention.h"

#include <numeric>

#include "backends/cpu/lower/library_ops.h"
#include "compiler/codegen/kernel_emitter.h"
#include "compiler/dialect/types.h"
#include "compiler/schedule/attention.h"
#include "llvm/IR/Module.h"

namespace isthmus::cpu {
namespace {

// Of weights, on whichever side, and values, with batches in the order of the weights.
struct ValueNumbers {
  // Of each batch, in the order of the weights' dimensions.
  std::vector<int64_t> weightsBatching, batching, resultOfBatch;
  llvm::ArrayRef<int64_t> weightsContracting;
  llvm::ArrayRef<int64_t> contracting;  // of the values
  mlir::Value values;

  explicit ValueNumbers(Attention& attention) {
    shlo::DotDimensionNumbersAttr numbers = attention.values.getDotDimensionNumbers();
    const bool isLeft = attention.weightsAreLeft();
    auto ofWeights =
        isLeft ? numbers.getLhsBatchingDimensions() : numbers.getRhsBatchingDimensions();
    auto ofValues =
        isLeft ? numbers.getRhsBatchingDimensions() : numbers.getLhsBatchingDimensions();
    contracting =
        isLeft ? numbers.getRhsContractingDimensions() : numbers.getLhsContractingDimensions();
    values = isLeft ? attention.values.getRhs() : attention.values.getLhs();
    weightsContracting =
        isLeft ? numbers.getLhsContractingDimensions() : numbers.getRhsContractingDimensions();
    std::vector<size_t> order(ofWeights.size());
    std::iota(order.begin(), order.end(), 0);
    llvm::sort(order, [&](size_t a, size_t b) { return ofWeights[a] < ofWeights[b]; });
    for (size_t i : order) {
      weightsBatching.push_back(ofWeights[i]);
      batching.push_back(ofValues[i]);
      resultOfBatch.push_back(static_cast<int64_t>(i));
    }
  }
};

// Dense strides of the final result, by dimension of the second product's.
std::vector<int64_t> resultStrides(Attention& attention) {
  auto type = mlir::cast<mlir::RankedTensorType>(attention.result().getType());
  std::vector<int64_t> strides(static_cast<size_t>(type.getRank()));
  int64_t stride = 1;
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    strides[attention.transpose ? attention.transpose.getPermutation()[d] : d] = stride;
    stride *= type.getDimSize(d);
  }
  return strides;
}

Status describeResult(Attention& attention, const ValueNumbers& numbers, int64_t rowRank,
                      AttentionDescriptor& descriptor) {
  auto type = mlir::cast<mlir::RankedTensorType>(attention.values.getType());
  const std::vector<int64_t> strides = resultStrides(attention);
  const auto batchRank = static_cast<int64_t>(numbers.batching.size());
  const int64_t columnRank = type.getRank() - batchRank - rowRank;
  if (type.getRank() > kMaxDotDimensions) {
    return unimplemented("attention: more than ", kMaxDotDimensions, " dimensions");
  }
  const int64_t firstRow = attention.weightsAreLeft() ? batchRank : batchRank + columnRank;
  const int64_t firstColumn = attention.weightsAreLeft() ? batchRank + rowRank : batchRank;
  int count = 0;
  auto add = [&](int64_t d) {
    descriptor.result[count++] = {type.getDimSize(d), strides[static_cast<size_t>(d)]};
  };
  for (int64_t d : numbers.resultOfBatch) add(d);
  for (int64_t d = 0; d < rowRank; ++d) add(firstRow + d);
  for (int64_t d = 0; d < columnRank; ++d) add(firstColumn + d);
  descriptor.batchRank = static_cast<int32_t>(batchRank);
  descriptor.rowRank = static_cast<int32_t>(rowRank);
  descriptor.columnRank = static_cast<int32_t>(columnRank);
  return {};
}

}  // namespace

Status callWithRows(ir::FusionOp fusion, OperationCode& code, LibraryContext& context) {
  Attention attention = *attentionOf(fusion);
  ISTHMUS_ASSIGN_OR_RETURN(KernelSchedule schedule, scheduleOf(fusion, context.target));
  AttentionDescriptor descriptor{};
  ISTHMUS_ASSIGN_OR_RETURN(descriptor.scores, describeDot(attention.scores));
  descriptor.scores.lhsBuffer = bufferOf(attention.scores.getLhs());
  descriptor.scores.rhsBuffer = bufferOf(attention.scores.getRhs());
  descriptor.scores.sumsBuffer = -1;

  const ValueNumbers numbers(attention);
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType weights, toArrayType(attention.rows->getResult(0).getType()));
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType values, toArrayType(numbers.values.getType()));
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType result, toArrayType(attention.values.getType()));
  ISTHMUS_ASSIGN_OR_RETURN(
      descriptor.values,
      makeDotDescriptor({weights.elementType, weights.dims, {}},
                        {values.elementType, values.dims, {}}, result.elementType,
                        numbers.weightsBatching, numbers.batching,
                        toSpan(numbers.weightsContracting), toSpan(numbers.contracting)));
  descriptor.values.lhsBuffer = bufferOf(numbers.values);  // not read
  descriptor.values.rhsBuffer = bufferOf(numbers.values);
  descriptor.values.sumsBuffer = -1;
  const auto rowRank = static_cast<int64_t>(weights.dims.size() - numbers.batching.size() -
                                            numbers.contracting.size());
  ISTHMUS_RETURN_IF_ERROR(describeResult(attention, numbers, rowRank, descriptor));

  const auto operands = static_cast<int32_t>(fusion->getNumOperands());
  descriptor.resultBuffer = operands;
  descriptor.kernelBuffer = operands + 1;
  descriptor.rowsAtATime = schedule.stages[0].chunk;
  const unsigned scores = attention.scoresOperand();
  descriptor.sharesRows = canShareBuffer(attention.rows, scores, 0);
  if (attention.rows->getNumOperands() + 1 > kMaxRowBuffers) {
    return unimplemented("attention: the kernel of rows has more than ", kMaxRowBuffers,
                         " buffers");
  }
  for (mlir::OpOperand& operand : attention.rows->getOpOperands()) {
    descriptor.kernelBuffers[descriptor.kernelBufferCount++] =
        operand.getOperandNumber() == scores ? kScoresBuffer : bufferOf(operand.get());
  }
  descriptor.kernelBuffers[descriptor.kernelBufferCount++] = kWeightsBuffer;

  callBack("isthmus_rt_attention", descriptorBytes(descriptor), schedule.stages[0].ns, code,
           context);
  return {};
}

}  // namespace isthmus::cpu

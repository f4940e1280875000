// Attention as a call of isthmus_rt_attention.
#include "backends/cpu/kernels/gemm/attention.h"

#include <numeric>

#include "backends/cpu/lower/library_ops.h"
#include "compiler/codegen/kernel_emitter.h"
#include "compiler/dialect/types/type_conversion.h"
#include "compiler/schedule/attention/attention.h"
#include "compiler/schedule/loop/sharing.h"
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

  ValueNumbers(Attention& attention, RowProduct& product) {
    shlo::DotDimensionNumbersAttr numbers = product.dot.getDotDimensionNumbers();
    const bool isLeft = attention.weightsAreLeft(product);
    auto ofWeights =
        isLeft ? numbers.getLhsBatchingDimensions() : numbers.getRhsBatchingDimensions();
    auto ofValues =
        isLeft ? numbers.getRhsBatchingDimensions() : numbers.getLhsBatchingDimensions();
    contracting =
        isLeft ? numbers.getRhsContractingDimensions() : numbers.getLhsContractingDimensions();
    values = isLeft ? product.dot.getRhs() : product.dot.getLhs();
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

// Dense strides of the final result, by dimension of the product's.
std::vector<int64_t> resultStrides(RowProduct& product) {
  auto type = mlir::cast<mlir::RankedTensorType>(product.result().getType());
  std::vector<int64_t> strides(static_cast<size_t>(type.getRank()));
  int64_t stride = 1;
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    strides[product.transpose ? product.transpose.getPermutation()[d] : d] = stride;
    stride *= type.getDimSize(d);
  }
  return strides;
}

Status describeResult(Attention& attention, RowProduct& product, const ValueNumbers& numbers,
                      int64_t rowRank, RowProductDescriptor& descriptor) {
  auto type = mlir::cast<mlir::RankedTensorType>(product.dot.getType());
  const std::vector<int64_t> strides = resultStrides(product);
  const auto batchRank = static_cast<int64_t>(numbers.batching.size());
  const int64_t columnRank = type.getRank() - batchRank - rowRank;
  if (type.getRank() > kMaxDotDimensions) {
    return unimplemented("attention: more than ", kMaxDotDimensions, " dimensions");
  }
  const bool isLeft = attention.weightsAreLeft(product);
  const int64_t firstRow = isLeft ? batchRank : batchRank + columnRank;
  const int64_t firstColumn = isLeft ? batchRank + rowRank : batchRank;
  int count = 0;
  // Appends a dimension, but not one of size 1.
  auto add = [&](int64_t d, int32_t& rank) {
    if (type.getDimSize(d) == 1) return;
    descriptor.result[count++] = {type.getDimSize(d), strides[static_cast<size_t>(d)]};
    ++rank;
  };
  for (int64_t d : numbers.resultOfBatch) add(d, descriptor.batchRank);
  for (int64_t d = 0; d < rowRank; ++d) add(firstRow + d, descriptor.rowRank);
  for (int64_t d = 0; d < columnRank; ++d) add(firstColumn + d, descriptor.columnRank);
  return {};
}

Status describeProduct(Attention& attention, RowProduct& product,
                       RowProductDescriptor& descriptor) {
  const ValueNumbers numbers(attention, product);
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType weights, toArrayType(attention.weights(product).getType()));
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType values, toArrayType(numbers.values.getType()));
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType result, toArrayType(product.dot.getType()));
  ISTHMUS_ASSIGN_OR_RETURN(
      descriptor.values,
      makeDotDescriptor({weights.elementType, weights.dims, {}},
                        {values.elementType, values.dims, {}}, result.elementType,
                        numbers.weightsBatching, numbers.batching,
                        toSpan(numbers.weightsContracting), toSpan(numbers.contracting)));
  descriptor.values.lhsBuffer = bufferOf(numbers.values);  // not read
  descriptor.values.rhsBuffer = bufferOf(numbers.values);
  descriptor.values.sumsBuffer = -1;
  descriptor.weights = static_cast<int32_t>(product.weights);
  descriptor.sumsRows = product.sumsRows;
  const auto rowRank = static_cast<int64_t>(weights.dims.size() - numbers.batching.size() -
                                            numbers.contracting.size());
  return describeResult(attention, product, numbers, rowRank, descriptor);
}

}  // namespace

static_assert(kMaxScores == isthmus::kMaxScores && kMaxWeights == isthmus::kMaxWeights &&
              kMaxRowProducts == isthmus::kMaxRowProducts);

Status callWithRows(ir::FusionOp fusion, OperationCode& code, LibraryContext& context) {
  Attention attention = *attentionOf(fusion);
  ISTHMUS_ASSIGN_OR_RETURN(KernelSchedule schedule, scheduleOf(fusion, context.target));
  AttentionDescriptor descriptor{};
  const auto operands = static_cast<int32_t>(fusion->getNumOperands());
  llvm::SmallVector<int32_t> bufferOfOperand;
  for (mlir::Value operand : attention.rows->getOperands()) {
    bufferOfOperand.push_back(mlir::isa<mlir::BlockArgument>(operand) ? bufferOf(operand) : 0);
  }
  for (auto [i, scores] : llvm::enumerate(attention.scores)) {
    DotDescriptor& dot = descriptor.scores[descriptor.scoresCount];
    ISTHMUS_ASSIGN_OR_RETURN(dot, describeDot(scores));
    dot.lhsBuffer = bufferOf(scores.getLhs());
    dot.rhsBuffer = bufferOf(scores.getRhs());
    dot.sumsBuffer = -1;
    bufferOfOperand[attention.scoresOperand(i)] = kScoresBuffer - descriptor.scoresCount++;
  }
  for (RowProduct& product : attention.products) {
    RowProductDescriptor& of = descriptor.products[descriptor.productCount];
    ISTHMUS_RETURN_IF_ERROR(describeProduct(attention, product, of));
    of.resultBuffer = operands + descriptor.productCount++;
  }
  descriptor.kernelBuffer = operands + static_cast<int32_t>(fusion->getNumResults());
  const auto* stage = schedule.only<AttentionStage>();
  if (!stage) return internalError("the kernel of attention has another schedule");
  descriptor.rowsAtATime = stage->rows;
  descriptor.rowsPerTask = context.target.scoreTaskRows;
  descriptor.rowsPerPart = context.target.scorePartRows;
  const unsigned buffers = attention.rows->getNumOperands() + attention.rows->getNumResults();
  if (buffers > kMaxRowBuffers) {
    return unimplemented("attention: the kernel of rows has more than ", kMaxRowBuffers,
                         " buffers");
  }
  for (int32_t buffer : bufferOfOperand) {
    descriptor.kernelBuffers[descriptor.kernelBufferCount++] = buffer;
  }
  for (auto [i, weights] : llvm::enumerate(attention.rows->getResults())) {
    if (attention.products.empty()) {
      descriptor.kernelBuffers[descriptor.kernelBufferCount++] = operands + static_cast<int32_t>(i);
      continue;
    }
    ISTHMUS_ASSIGN_OR_RETURN(ArrayType type, toArrayType(weights.getType()));
    descriptor.weightTypes[descriptor.weightsCount] = type.elementType;
    // Sharing is known of one result at a time: with several, one may be written before another is
    // computed.
    const bool shares = attention.rows->getNumResults() == 1 &&
                        canShareBuffer(attention.rows, attention.scoresOperand(0), 0);
    descriptor.sharedScores[descriptor.weightsCount] = shares ? 0 : -1;
    descriptor.kernelBuffers[descriptor.kernelBufferCount++] =
        kWeightsBuffer - descriptor.weightsCount++;
  }

  callBack("isthmus_rt_attention", descriptorBytes(descriptor), stage->ns, code, context);
  return {};
}

}  // namespace isthmus::cpu

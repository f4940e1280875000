// Fusions are read from their result back to the sums.
#include "backends/cuda/kernels/dnn_epilogue.h"

#include "backends/cuda/kernels/conv_dnn.h"
#include "backends/cuda/kernels/epilogue_values.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/dot_scheduler.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus::cuda {
namespace {

using mlir::Value;

// Whether `operand` has an element for each of the result's places along `dim`, and nothing else.
bool isAlong(shlo::BroadcastInDimOp broadcast, int64_t dim) {
  mlir::RankedTensorType from = tensorTypeOf(broadcast.getOperand());
  const int64_t size = tensorTypeOf(broadcast.getResult()).getDimSize(dim);
  if (from.getNumElements() != size) return false;
  if (size == 1) return true;
  for (auto [d, to] : llvm::enumerate(broadcast.getBroadcastDimensions())) {
    if (from.getDimSize(static_cast<int64_t>(d)) == size) return to == dim;
  }
  return false;
}

class Reader {
 public:
  Reader(ir::FusionOp fusion, shlo::ConvolutionOp convolution)
      : fusion_(fusion), convolution_(convolution) {}

  std::optional<DnnFusion> read(bool allowsTf32) {
    std::optional<DnnConvolution> described = dnnConvolutionOf(convolution_, allowsTf32);
    if (!described || described->kind != DnnKind::kForward || fusion_->getNumResults() != 1) {
      return std::nullopt;
    }
    Value value = fusion_.getBody().front().getTerminator()->getOperand(0);
    if (value.getType() != convolution_.getType()) return std::nullopt;
    DnnEpilogue& epilogue = described->epilogue;
    if (Value x = argumentOfRelu(value)) {
      epilogue.hasRelu = true;
      value = x;
    }
    // In whatever order: sums in f32 are added in any order, too.
    for (int i = 0; i < 2; ++i) {
      Value rest = plus(value, [&](Value one) { return readBias(one) || readResidual(one); });
      if (rest) value = rest;
    }
    epilogue.hasBias = bias_.has_value();
    epilogue.hasResidual = residual_.has_value();
    if (epilogue.isNone() || value != convolution_.getResult()) return std::nullopt;
    DnnFusion read{
        *std::move(described),
        {*argumentNumber(convolution_.getLhs()), *argumentNumber(convolution_.getRhs())}};
    if (residual_) read.operands.push_back(*residual_);
    if (bias_) read.operands.push_back(*bias_);
    return read;
  }

 private:
  static std::optional<unsigned> argumentNumber(Value value) {
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
    return argument ? std::optional(argument.getArgNumber()) : std::nullopt;
  }

  bool readBias(Value value) {
    auto broadcast = value.getDefiningOp<shlo::BroadcastInDimOp>();
    const auto features =
        static_cast<int64_t>(convolution_.getDimensionNumbers().getOutputFeatureDimension());
    if (!broadcast || bias_ || !isAlong(broadcast, features)) return false;
    bias_ = argumentNumber(withoutReshapes(broadcast.getOperand()));
    return bias_.has_value();
  }

  bool readResidual(Value value) {
    if (residual_) return false;
    residual_ = argumentNumber(value);
    return residual_.has_value();
  }

  ir::FusionOp fusion_;
  shlo::ConvolutionOp convolution_;
  std::optional<unsigned> residual_, bias_;
};

}  // namespace

std::optional<DnnFusion> dnnFusionOf(ir::FusionOp fusion, bool allowsTf32) {
  auto convolution = llvm::dyn_cast_or_null<shlo::ConvolutionOp>(productOf(fusion));
  if (!convolution) return std::nullopt;
  const bool readsMemory =
      llvm::all_of(convolution->getOperands(), [](Value value) { return !value.getDefiningOp(); });
  return readsMemory ? Reader(fusion, convolution).read(allowsTf32) : std::nullopt;
}

}  // namespace isthmus::cuda

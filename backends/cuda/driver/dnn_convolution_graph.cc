#include "backends/cuda/driver/dnn_graph_builder.h"

namespace isthmus::cuda {
namespace {

using namespace dnn;

class ConvolutionGraph {
 public:
  using Opaque = DnnGraphBuilder::Opaque;

  ConvolutionGraph(DnnGraphBuilder& builder, const DnnConvolution& convolution)
      : b_(builder), c_(convolution), arrays_(c_) {}

  std::vector<Opaque> operations() {
    b_.describe("an array");
    const auto type = static_cast<int>(c_.type);
    Opaque image = b_.buffer(arrays_.image, type), kernel = b_.buffer(arrays_.kernel, type);
    Opaque residual = c_.epilogue.hasResidual ? b_.buffer(arrays_.result, type) : nullptr;
    Opaque bias = c_.epilogue.hasBias ? b_.buffer(arrays_.bias, type) : nullptr;
    Opaque result = b_.buffer(arrays_.result, type);
    Opaque sums = b_.virtualArray(arrays_.result);
    b_.describe("the convolution");
    std::vector<Opaque> operations = {forward(image, kernel, sums)};
    b_.describe("the epilogue");
    int left = c_.epilogue.hasResidual + c_.epilogue.hasBias + c_.epilogue.hasRelu;
    auto add = [&](int mode, Opaque other) {
      Opaque next = --left == 0 ? result : b_.virtualArray(arrays_.result);
      operations.push_back(b_.pointwise({mode}, sums, next, other));
      sums = next;
    };
    if (residual) add(kPointwiseAdd, residual);
    if (bias) add(kPointwiseAdd, bias);
    if (c_.epilogue.hasRelu) add(kPointwiseRelu, nullptr);
    return operations;
  }

 private:
  Opaque convolution() {
    Opaque made = b_.create(kConvolution);
    b_.set(made, kConvolutionComputeType, kTypeDataType, kDataFloat);
    b_.set(made, kConvolutionMode, kTypeConvolutionMode,
           c_.isFlipped ? kModeConvolution : kModeCrossCorrelation);
    b_.set(made, kConvolutionSpatialDims, kTypeInt64, static_cast<int64_t>(arrays_.axes.size()));
    b_.set(made, kConvolutionDilations, arrays_.numbers(&DnnAxis::dilation));
    b_.set(made, kConvolutionStrides, arrays_.numbers(&DnnAxis::stride));
    b_.set(made, kConvolutionPrePaddings, arrays_.numbers(&DnnAxis::padding));
    b_.set(made, kConvolutionPostPaddings, arrays_.numbers(&DnnAxis::padding));
    return b_.finalize(made);
  }

  Opaque forward(Opaque image, Opaque kernel, Opaque sums) {
    Opaque settings = convolution();
    Opaque made = b_.create(kForward);
    const float one = 1, zero = 0;
    b_.set(made, kForwardAlpha, kTypeFloat, one);
    b_.set(made, kForwardBeta, kTypeFloat, zero);
    b_.set(made, kForwardConvolution, kTypeDescriptor, settings);
    b_.set(made, kForwardX, kTypeDescriptor, image);
    b_.set(made, kForwardW, kTypeDescriptor, kernel);
    b_.set(made, kForwardY, kTypeDescriptor, sums);
    return b_.finalize(made);
  }

  DnnGraphBuilder& b_;
  const DnnConvolution& c_;
  const DnnArrays arrays_;
};

}  // namespace

StatusOr<std::unique_ptr<DnnGraph>> DnnGraph::make(const DnnGraphFunctions& functions, void* handle,
                                                   const DnnConvolution& convolution,
                                                   int64_t workspaceBytes) {
  DnnGraphBuilder builder(functions, handle);
  const std::vector<void*> operations = ConvolutionGraph(builder, convolution).operations();
  DnnGraphBuilder::Limits limits;
  limits.keepsNans = convolution.epilogue.hasRelu;
  limits.roundsToTf32 = convolution.type != DnnType::kF32 || convolution.isTf32;
  limits.workspaceBytes = workspaceBytes;
  return builder.finish(operations, limits, convolution.toString());
}

}  // namespace isthmus::cuda

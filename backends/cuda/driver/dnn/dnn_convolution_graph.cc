// The graph of a convolution, with what its epilogue adds, or of one of its gradients.
#include "backends/cuda/driver/dnn/dnn_graph_builder.h"

namespace isthmus::cuda {
namespace {

using namespace dnn;

class ConvolutionGraph {
 public:
  using Opaque = DnnGraphBuilder::Opaque;

  ConvolutionGraph(DnnGraphBuilder& builder, const DnnConvolution& convolution)
      : b_(builder), c_(convolution), arrays_(c_) {}

  std::vector<Opaque> operations() {
    return c_.kind == DnnKind::kForward ? forwardWithEpilogue() : std::vector{gradient()};
  }

 private:
  // Numbers of an operation and of its attributes. Gradients have the same three arrays, one of
  // which they make.
  struct Names {
    int kind, alpha, beta, convolution, w, x, y;
  };
  static constexpr Names kForwardNames = {
      kForward, kForwardAlpha, kForwardBeta, kForwardConvolution, kForwardW, kForwardX, kForwardY};
  static constexpr Names kDataNames = {
      kBackwardData,  kBackwardDataAlpha, kBackwardDataBeta, kBackwardDataConvolution,
      kBackwardDataW, kBackwardDataX,     kBackwardDataY};
  static constexpr Names kFilterNames = {
      kBackwardFilter,  kBackwardFilterAlpha, kBackwardFilterBeta, kBackwardFilterConvolution,
      kBackwardFilterW, kBackwardFilterX,     kBackwardFilterY};

  Opaque gradient() {
    b_.describe("an array");
    const auto type = static_cast<int>(c_.type);
    const bool isOfImage = c_.kind == DnnKind::kBackwardData;
    // In the order of the buffers.
    Opaque first = b_.buffer(isOfImage ? arrays_.result : arrays_.image, type);
    Opaque second = b_.buffer(isOfImage ? arrays_.kernel : arrays_.result, type);
    Opaque made = b_.buffer(isOfImage ? arrays_.image : arrays_.kernel, type);
    b_.describe("the convolution");
    return isOfImage ? operation(kDataNames, made, second, first)
                     : operation(kFilterNames, first, made, second);
  }

  std::vector<Opaque> forwardWithEpilogue() {
    b_.describe("an array");
    const auto type = static_cast<int>(c_.type);
    Opaque image = b_.buffer(arrays_.image, type), kernel = b_.buffer(arrays_.kernel, type);
    Opaque residual = c_.epilogue.hasResidual ? b_.buffer(arrays_.result, type) : nullptr;
    Opaque bias = c_.epilogue.hasBias ? b_.buffer(arrays_.bias, type) : nullptr;
    Opaque result = b_.buffer(arrays_.result, type);
    int left = c_.epilogue.hasResidual + c_.epilogue.hasBias + c_.epilogue.hasRelu;
    Opaque sums = left == 0 ? result : b_.virtualArray(arrays_.result);
    b_.describe("the convolution");
    std::vector<Opaque> operations = {operation(kForwardNames, image, kernel, sums)};
    b_.describe("the epilogue");
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

  Opaque operation(const Names& names, Opaque image, Opaque kernel, Opaque result) {
    Opaque settings = convolution();
    Opaque made = b_.create(names.kind);
    const float one = 1, zero = 0;
    b_.set(made, names.alpha, kTypeFloat, one);
    b_.set(made, names.beta, kTypeFloat, zero);
    b_.set(made, names.convolution, kTypeDescriptor, settings);
    b_.set(made, names.x, kTypeDescriptor, image);
    b_.set(made, names.w, kTypeDescriptor, kernel);
    b_.set(made, names.y, kTypeDescriptor, result);
    return b_.finalize(made);
  }

  DnnGraphBuilder& b_;
  const DnnConvolution& c_;
  const DnnArrays arrays_;
};

}  // namespace

StatusOr<std::unique_ptr<DnnGraph>> DnnGraph::make(const DnnGraphFunctions& functions, void* handle,
                                                   const DnnConvolution& convolution,
                                                   int64_t workspaceBytes, size_t maxPlans) {
  DnnGraphBuilder builder(functions, handle);
  const std::vector<void*> operations = ConvolutionGraph(builder, convolution).operations();
  DnnGraphBuilder::Limits limits;
  limits.keepsNans = convolution.epilogue.hasRelu;
  limits.roundsToTf32 = convolution.type != DnnType::kF32 || convolution.isTf32;
  limits.workspaceBytes = workspaceBytes;
  limits.maxPlans = maxPlans;
  return builder.finish(operations, limits, convolution.toString());
}

}  // namespace isthmus::cuda

// Everything is a descriptor with attributes: arrays, operations, the graph of these, the
// heuristics' question, the engines they answer with, the plan, and the buffers of a run.
#include "backends/cuda/driver/dnn_graph.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <type_traits>

#include "isthmus/backend.h"

namespace isthmus::cuda {
namespace {

using Opaque = void*;

// Values of cuDNN's enumerations: descriptors.
constexpr int kPointwise = 0, kConvolution = 1, kEngine = 2, kEngineConfig = 3, kHeuristics = 4;
constexpr int kExecutionPlan = 5, kForward = 10, kPointwiseOperation = 13, kOperationGraph = 15;
constexpr int kVariantPack = 16, kTensor = 17;
// Types of attributes.
constexpr int kTypeHandle = 0, kTypeDataType = 1, kTypeBoolean = 2, kTypeInt64 = 3, kTypeFloat = 4;
constexpr int kTypeDouble = 5, kTypePointer = 6, kTypeConvolutionMode = 7, kTypeHeurMode = 8;
constexpr int kTypeNanPropagation = 10, kTypeNumericalNote = 11, kTypePointwiseMode = 14;
constexpr int kTypeDescriptor = 15, kTypeBehaviorNote = 19;
// Attributes.
constexpr int kPointwiseMode = 0, kPointwiseMathPrecision = 1, kPointwiseNanPropagation = 2;
constexpr int kPointwiseReluUpperClip = 4;
constexpr int kConvolutionComputeType = 100, kConvolutionMode = 101, kConvolutionDilations = 102;
constexpr int kConvolutionStrides = 103, kConvolutionPostPaddings = 104;
constexpr int kConvolutionPrePaddings = 105, kConvolutionSpatialDims = 106;
constexpr int kHeuristicsMode = 200, kHeuristicsGraph = 201, kHeuristicsResults = 202;
constexpr int kEngineConfigEngine = 300;
constexpr int kPlanHandle = 400, kPlanEngineConfig = 401, kPlanWorkspaceSize = 402;
constexpr int kForwardAlpha = 700, kForwardBeta = 701, kForwardConvolution = 702;
constexpr int kForwardW = 703, kForwardX = 704, kForwardY = 705;
constexpr int kOperationPointwise = 750, kOperationX = 751, kOperationB = 752, kOperationY = 753;
constexpr int kGraphHandle = 800, kGraphOperations = 801;
constexpr int kTensorAlignment = 900, kTensorDataType = 901, kTensorDimensions = 902;
constexpr int kTensorStrides = 903, kTensorId = 906, kTensorIsVirtual = 907;
constexpr int kPackIds = 1000, kPackPointers = 1001, kPackWorkspace = 1003;
constexpr int kEngineNumericalNote = 1303, kEngineBehaviorNote = 1305;
// What they may be.
constexpr int kDataFloat = 0, kModeConvolution = 0, kModeCrossCorrelation = 1;
constexpr int kPointwiseAdd = 0, kPointwiseRelu = 100, kPropagateNan = 1, kHeurModeA = 3;
constexpr int kNoteTensorCore = 0, kNoteStrictNan = 9;
constexpr int kNoteRuntimeCompilation = 0, kNoteSupportsGraphs = 3, kNoteBlasDependency = 4;

// Engines that are asked for, and notes that are read of each.
constexpr int64_t kMostEngines = 32;
constexpr int64_t kMostNotes = 64;

}  // namespace

#define ISTHMUS_DNN_GRAPH_FUNCTIONS(X)                                                      \
  X(CreateDescriptor, "cudnnBackendCreateDescriptor", (int, Opaque*))                       \
  X(DestroyDescriptor, "cudnnBackendDestroyDescriptor", (Opaque))                           \
  X(Finalize, "cudnnBackendFinalize", (Opaque))                                             \
  X(SetAttribute, "cudnnBackendSetAttribute", (Opaque, int, int, int64_t, const void*))     \
  X(GetAttribute, "cudnnBackendGetAttribute", (Opaque, int, int, int64_t, int64_t*, void*)) \
  X(Execute, "cudnnBackendExecute", (Opaque, Opaque, Opaque))

std::unique_ptr<DnnGraphFunctions> findDnnGraphs(const SharedLibrary& library) {
  auto functions = std::make_unique<DnnGraphFunctions>();
#define ISTHMUS_DNN_GRAPH_FIND(name, symbol, parameters)                       \
  static_assert(std::is_same_v<decltype(functions->name), int(*) parameters>); \
  if (!library.find(symbol, functions->name).ok()) return nullptr;
  ISTHMUS_DNN_GRAPH_FUNCTIONS(ISTHMUS_DNN_GRAPH_FIND)
#undef ISTHMUS_DNN_GRAPH_FIND
  return functions;
}

// Of all that is called, the first failure counts; what is called after it does nothing.
class DnnGraph::Builder {
 public:
  Builder(DnnGraph& graph, void* handle, const DnnConvolution& convolution)
      : graph_(graph), f_(graph.functions_), handle_(handle), c_(convolution), arrays_(c_) {}

  Status build(int64_t workspaceBytes) {
    Opaque question = describe();
    std::array<Opaque, kMostEngines> configs = {};
    for (Opaque& config : configs) config = create(kEngineConfig);
    int64_t found = 0;
    get(question, kHeuristicsResults, kTypeDescriptor, kMostEngines, found, configs.data());
    if (failure_ != 0) return refused("describes no such graph");
    std::string why;
    for (int64_t i = 0; i < std::min(found, kMostEngines); ++i) {
      Opaque config = configs[static_cast<size_t>(i)];
      if (!isAllowed(config) || !plan(config)) continue;
      if (graph_.workspaceBytes_ <= workspaceBytes) return {};
      // It may hold code that was compiled for it.
      f_.DestroyDescriptor(graph_.descriptors_.back());
      graph_.descriptors_.pop_back();
      why = ", or one that wants less than " + std::to_string(graph_.workspaceBytes_) + " bytes";
    }
    return unimplemented("cuDNN has no engine for ", c_.toString(),
                         " that sums products in a fixed order",
                         c_.epilogue.hasRelu ? " and keeps NaNs" : "", why);
  }

 private:
  Status refused(const char* what) const {
    return unimplemented("cuDNN ", what, ": status ", failure_);
  }

  bool keep(int code) {
    if (failure_ == 0) failure_ = code;
    return failure_ == 0;
  }
  Opaque create(int kind) {
    Opaque made = nullptr;
    if (failure_ == 0 && keep(f_.CreateDescriptor(kind, &made)))
      graph_.descriptors_.push_back(made);
    return made;
  }
  void set(Opaque descriptor, int name, int type, int64_t count, const void* values) {
    if (failure_ == 0) keep(f_.SetAttribute(descriptor, name, type, count, values));
  }
  template <typename Value>
  void set(Opaque descriptor, int name, int type, const Value& value) {
    set(descriptor, name, type, 1, &value);
  }
  void set(Opaque descriptor, int name, const std::vector<int64_t>& numbers) {
    set(descriptor, name, kTypeInt64, static_cast<int64_t>(numbers.size()), numbers.data());
  }
  void get(Opaque descriptor, int name, int type, int64_t most, int64_t& count, void* values) {
    if (failure_ == 0) keep(f_.GetAttribute(descriptor, name, type, most, &count, values));
  }
  Opaque finish(Opaque descriptor) {
    if (failure_ == 0) keep(f_.Finalize(descriptor));
    return descriptor;
  }

  // In memory, and known to runs as the next buffer; or in f32, on the way from one operation to
  // the next.
  Opaque array(const DnnArray& array, bool isVirtual) {
    Opaque made = create(kTensor);
    const int64_t id = ++lastId_, alignment = kBufferAlignment;
    set(made, kTensorId, kTypeInt64, id);
    set(made, kTensorDataType, kTypeDataType, isVirtual ? kDataFloat : static_cast<int>(c_.type));
    set(made, kTensorAlignment, kTypeInt64, alignment);
    set(made, kTensorDimensions, array.dims);
    set(made, kTensorStrides, array.strides);
    set(made, kTensorIsVirtual, kTypeBoolean, isVirtual);
    if (!isVirtual) graph_.ids_.push_back(id);
    return finish(made);
  }

  Opaque convolution() {
    Opaque made = create(kConvolution);
    set(made, kConvolutionComputeType, kTypeDataType, kDataFloat);
    set(made, kConvolutionMode, kTypeConvolutionMode,
        c_.isFlipped ? kModeConvolution : kModeCrossCorrelation);
    set(made, kConvolutionSpatialDims, kTypeInt64, static_cast<int64_t>(arrays_.axes.size()));
    set(made, kConvolutionDilations, arrays_.numbers(&DnnAxis::dilation));
    set(made, kConvolutionStrides, arrays_.numbers(&DnnAxis::stride));
    set(made, kConvolutionPrePaddings, arrays_.numbers(&DnnAxis::padding));
    set(made, kConvolutionPostPaddings, arrays_.numbers(&DnnAxis::padding));
    return finish(made);
  }

  Opaque forward(Opaque image, Opaque kernel, Opaque sums) {
    Opaque settings = convolution();
    Opaque made = create(kForward);
    const float one = 1, zero = 0;
    set(made, kForwardAlpha, kTypeFloat, one);
    set(made, kForwardBeta, kTypeFloat, zero);
    set(made, kForwardConvolution, kTypeDescriptor, settings);
    set(made, kForwardX, kTypeDescriptor, image);
    set(made, kForwardW, kTypeDescriptor, kernel);
    set(made, kForwardY, kTypeDescriptor, sums);
    return finish(made);
  }

  Opaque pointwise(int mode, Opaque x, Opaque b, Opaque y) {
    Opaque settings = create(kPointwise);
    set(settings, kPointwiseMode, kTypePointwiseMode, mode);
    set(settings, kPointwiseMathPrecision, kTypeDataType, kDataFloat);
    if (mode == kPointwiseRelu) {
      set(settings, kPointwiseNanPropagation, kTypeNanPropagation, kPropagateNan);
      // By default it is the largest finite number, which an infinity would become.
      set(settings, kPointwiseReluUpperClip, kTypeDouble, std::numeric_limits<double>::infinity());
    }
    finish(settings);
    Opaque made = create(kPointwiseOperation);
    set(made, kOperationPointwise, kTypeDescriptor, settings);
    set(made, kOperationX, kTypeDescriptor, x);
    if (b) set(made, kOperationB, kTypeDescriptor, b);
    set(made, kOperationY, kTypeDescriptor, y);
    return finish(made);
  }

  // Returns the heuristics' question for the graph.
  Opaque describe() {
    Opaque image = array(arrays_.image, false), kernel = array(arrays_.kernel, false);
    Opaque residual = c_.epilogue.hasResidual ? array(arrays_.result, false) : nullptr;
    Opaque bias = c_.epilogue.hasBias ? array(arrays_.bias, false) : nullptr;
    Opaque result = array(arrays_.result, false);
    Opaque sums = array(arrays_.result, true);
    std::vector<Opaque> operations = {forward(image, kernel, sums)};
    int left = c_.epilogue.hasResidual + c_.epilogue.hasBias + c_.epilogue.hasRelu;
    auto add = [&](int mode, Opaque other) {
      Opaque next = --left == 0 ? result : array(arrays_.result, true);
      operations.push_back(pointwise(mode, sums, other, next));
      sums = next;
    };
    if (residual) add(kPointwiseAdd, residual);
    if (bias) add(kPointwiseAdd, bias);
    if (c_.epilogue.hasRelu) add(kPointwiseRelu, nullptr);
    Opaque graph = create(kOperationGraph);
    set(graph, kGraphHandle, kTypeHandle, handle_);
    set(graph, kGraphOperations, kTypeDescriptor, static_cast<int64_t>(operations.size()),
        operations.data());
    finish(graph);
    Opaque question = create(kHeuristics);
    set(question, kHeuristicsGraph, kTypeDescriptor, graph);
    set(question, kHeuristicsMode, kTypeHeurMode, kHeurModeA);
    return finish(question);
  }

  // What an engine's notes say of it; false if it cannot be read.
  bool readNotes(Opaque engine, int name, int type, std::vector<int>& notes) {
    notes.resize(kMostNotes);
    int64_t count = 0;
    if (f_.GetAttribute(engine, name, type, kMostNotes, &count, notes.data()) != 0) return false;
    if (count < 0 || count > kMostNotes) return false;
    notes.resize(static_cast<size_t>(count));
    return true;
  }

  // An engine with a note that is not known here may do anything.
  bool isAllowed(Opaque config) {
    Opaque engine = create(kEngine);
    int64_t count = 0;
    std::vector<int> numerical, behavior;
    if (failure_ != 0 ||
        f_.GetAttribute(config, kEngineConfigEngine, kTypeDescriptor, 1, &count, &engine) != 0 ||
        !readNotes(engine, kEngineNumericalNote, kTypeNumericalNote, numerical) ||
        !readNotes(engine, kEngineBehaviorNote, kTypeBehaviorNote, behavior)) {
      return false;
    }
    bool keepsNans = false;
    for (int note : numerical) {
      keepsNans |= note == kNoteStrictNan;
      // In f32, tensor cores round operands to TF32.
      const bool isRounding = c_.type == DnnType::kF32 && !c_.isTf32;
      if (note != kNoteStrictNan && (note != kNoteTensorCore || isRounding)) return false;
    }
    for (int note : behavior) {
      if (note != kNoteRuntimeCompilation && note != kNoteSupportsGraphs &&
          note != kNoteBlasDependency) {
        return false;
      }
    }
    return keepsNans || !c_.epilogue.hasRelu;
  }

  // False if this engine cannot do it after all.
  bool plan(Opaque config) {
    Opaque plan = create(kExecutionPlan);
    set(plan, kPlanHandle, kTypeHandle, handle_);
    set(plan, kPlanEngineConfig, kTypeDescriptor, config);
    finish(plan);
    int64_t bytes = 0, count = 0;
    get(plan, kPlanWorkspaceSize, kTypeInt64, 1, count, &bytes);
    const bool isPlanned = failure_ == 0 && count == 1 && bytes >= 0;
    failure_ = 0;  // others may
    graph_.plan_ = plan;
    graph_.workspaceBytes_ = bytes;
    return isPlanned;
  }

  DnnGraph& graph_;
  const DnnGraphFunctions& f_;
  void* handle_;
  const DnnConvolution& c_;
  const DnnArrays arrays_;
  int64_t lastId_ = 0;
  int failure_ = 0;
};

StatusOr<std::unique_ptr<DnnGraph>> DnnGraph::make(const DnnGraphFunctions& functions, void* handle,
                                                   const DnnConvolution& convolution,
                                                   int64_t workspaceBytes) {
  std::unique_ptr<DnnGraph> graph(new DnnGraph(functions));
  ISTHMUS_RETURN_IF_ERROR(Builder(*graph, handle, convolution).build(workspaceBytes));
  return graph;
}

// Users before what they use.
DnnGraph::~DnnGraph() {
  for (size_t i = descriptors_.size(); i-- > 0;) functions_.DestroyDescriptor(descriptors_[i]);
}

int DnnGraph::run(void* handle, std::span<void* const> buffers, void* workspace) const {
  Opaque pack = nullptr;
  int code = functions_.CreateDescriptor(kVariantPack, &pack);
  if (code != 0) return code;
  auto set = [&](int name, int type, int64_t count, const void* values) {
    if (code == 0) code = functions_.SetAttribute(pack, name, type, count, values);
  };
  const auto count = static_cast<int64_t>(ids_.size());
  set(kPackIds, kTypeInt64, count, ids_.data());
  set(kPackPointers, kTypePointer, count, buffers.data());
  set(kPackWorkspace, kTypePointer, 1, &workspace);
  if (code == 0) code = functions_.Finalize(pack);
  if (code == 0) code = functions_.Execute(handle, plan_, pack);
  functions_.DestroyDescriptor(pack);
  return code;
}

}  // namespace isthmus::cuda

// Graphs (dnn_graph.h), and where cuDNN has none for a convolution the functions by descriptors of
// images, kernels and convolutions: cuDNN 9 calls them deprecated and has them all (ADR 27).
#include "backends/cuda/driver/dnn/dnn.h"

#include <algorithm>
#include <array>

#include "backends/cuda/driver/autotune.h"
#include "backends/cuda/driver/dnn/dnn_attention_graphs.h"
#include "backends/cuda/driver/dnn/dnn_graph.h"
#include "base/shared_library.h"
#include "isthmus/log.h"

namespace isthmus::cuda {
namespace {

// Values of cuDNN's enumerations.
constexpr int kSuccess = 0;
// From here on codes are of what went wrong this time; smaller ones are of versions, and of what is
// asked for.
constexpr int kInternalError = 4000;
constexpr int kDataFloat = 0;
constexpr int kFormatNchw = 0, kFormatNhwc = 1;
constexpr int kModeConvolution = 0, kModeCrossCorrelation = 1;
constexpr int kMathDefault = 0, kMathTensorOp = 1, kMathFma = 3;
constexpr int kDeterministic = 1;
// Algorithms that sum products as they are. Fourier transforms and Winograd's let an infinity
// spread, and lose digits.
constexpr int kForwardImplicitGemm = 0, kForwardPrecomputedGemm = 1, kForwardGemm = 2;
constexpr int kBackwardDataAlgorithm1 = 1;
constexpr int kBackwardFilterAlgorithm1 = 1;
// More than there are of one kind.
constexpr int kMaxAlgorithms = 16;

// cudnnConvolution*AlgoPerf_t, which are alike.
struct Choice {
  int algorithm;
  int status;
  float milliseconds;
  size_t memory;
  int determinism;
  int mathType;
  int reserved[3];
};
static_assert(sizeof(Choice) == 48);

using Opaque = void*;

}  // namespace

// X(member, symbol, parameters): handles and descriptors are pointers to what only cuDNN knows.
#define ISTHMUS_DNN_FUNCTIONS(X)                                                                \
  X(Create, "cudnnCreate", (Opaque*))                                                           \
  X(SetStream, "cudnnSetStream", (Opaque, CUstream))                                            \
  X(TensorCreate, "cudnnCreateTensorDescriptor", (Opaque*))                                     \
  X(TensorSet, "cudnnSetTensorNdDescriptor", (Opaque, int, int, const int*, const int*))        \
  X(TensorDestroy, "cudnnDestroyTensorDescriptor", (Opaque))                                    \
  X(FilterCreate, "cudnnCreateFilterDescriptor", (Opaque*))                                     \
  X(FilterSet, "cudnnSetFilterNdDescriptor", (Opaque, int, int, int, const int*))               \
  X(FilterDestroy, "cudnnDestroyFilterDescriptor", (Opaque))                                    \
  X(ConvolutionCreate, "cudnnCreateConvolutionDescriptor", (Opaque*))                           \
  X(ConvolutionSet, "cudnnSetConvolutionNdDescriptor",                                          \
    (Opaque, int, const int*, const int*, const int*, int, int))                                \
  X(ConvolutionSetGroups, "cudnnSetConvolutionGroupCount", (Opaque, int))                       \
  X(ConvolutionSetMath, "cudnnSetConvolutionMathType", (Opaque, int))                           \
  X(ConvolutionDestroy, "cudnnDestroyConvolutionDescriptor", (Opaque))                          \
  X(ForwardChoices, "cudnnGetConvolutionForwardAlgorithm_v7",                                   \
    (Opaque, Opaque, Opaque, Opaque, Opaque, int, int*, Choice*))                               \
  X(ForwardWorkspace, "cudnnGetConvolutionForwardWorkspaceSize",                                \
    (Opaque, Opaque, Opaque, Opaque, Opaque, int, size_t*))                                     \
  X(Forward, "cudnnConvolutionForward",                                                         \
    (Opaque, const void*, Opaque, const void*, Opaque, const void*, Opaque, int, void*, size_t, \
     const void*, Opaque, void*))                                                               \
  X(BackwardDataChoices, "cudnnGetConvolutionBackwardDataAlgorithm_v7",                         \
    (Opaque, Opaque, Opaque, Opaque, Opaque, int, int*, Choice*))                               \
  X(BackwardDataWorkspace, "cudnnGetConvolutionBackwardDataWorkspaceSize",                      \
    (Opaque, Opaque, Opaque, Opaque, Opaque, int, size_t*))                                     \
  X(BackwardData, "cudnnConvolutionBackwardData",                                               \
    (Opaque, const void*, Opaque, const void*, Opaque, const void*, Opaque, int, void*, size_t, \
     const void*, Opaque, void*))                                                               \
  X(BackwardFilterChoices, "cudnnGetConvolutionBackwardFilterAlgorithm_v7",                     \
    (Opaque, Opaque, Opaque, Opaque, Opaque, int, int*, Choice*))                               \
  X(BackwardFilterWorkspace, "cudnnGetConvolutionBackwardFilterWorkspaceSize",                  \
    (Opaque, Opaque, Opaque, Opaque, Opaque, int, size_t*))                                     \
  X(BackwardFilter, "cudnnConvolutionBackwardFilter",                                           \
    (Opaque, const void*, Opaque, const void*, Opaque, const void*, Opaque, int, void*, size_t, \
     const void*, Opaque, void*))

struct DnnFunctions {
#define ISTHMUS_DNN_MEMBER(name, symbol, parameters) int(*name) parameters = nullptr;
  ISTHMUS_DNN_FUNCTIONS(ISTHMUS_DNN_MEMBER)
#undef ISTHMUS_DNN_MEMBER
  const char* (*GetErrorString)(int) = nullptr;
};

class DnnPlan {
 public:
  DnnPlan(const DnnFunctions& functions, DnnKind kind) : kind(kind), functions_(functions) {}
  ~DnnPlan() {
    if (convolution) functions_.ConvolutionDestroy(convolution);
    if (kernel) functions_.FilterDestroy(kernel);
    for (Opaque tensor : {image, result}) {
      if (tensor) functions_.TensorDestroy(tensor);
    }
  }
  DnnPlan(const DnnPlan&) = delete;
  DnnPlan& operator=(const DnnPlan&) = delete;

  const DnnKind kind;
  Opaque image = nullptr, kernel = nullptr, result = nullptr, convolution = nullptr;
  int mathType = kMathDefault;
  int algorithm = 0;
  size_t workspaceBytes = 0;
  // Instead of all this, if cuDNN has one; and of attention.
  std::unique_ptr<DnnGraph> graph;
  std::unique_ptr<DnnAttentionGraphs> attention;

 private:
  const DnnFunctions& functions_;
};

namespace {

// One kind's functions, and what they are given in this order.
struct Calls {
  decltype(DnnFunctions::ForwardChoices) choices;
  decltype(DnnFunctions::ForwardWorkspace) workspace;
  decltype(DnnFunctions::Forward) run;
  const char *choicesName, *workspaceName, *runName;
  Opaque first, second, third;  // the convolution is before the third
};

Calls callsOf(const DnnFunctions& f, const DnnPlan& plan) {
  switch (plan.kind) {
    case DnnKind::kForward:
      break;
    case DnnKind::kBackwardData:
      return {f.BackwardDataChoices,
              f.BackwardDataWorkspace,
              f.BackwardData,
              "cudnnGetConvolutionBackwardDataAlgorithm_v7",
              "cudnnGetConvolutionBackwardDataWorkspaceSize",
              "cudnnConvolutionBackwardData",
              plan.kernel,
              plan.result,
              plan.image};
    case DnnKind::kBackwardFilter:
      return {f.BackwardFilterChoices,
              f.BackwardFilterWorkspace,
              f.BackwardFilter,
              "cudnnGetConvolutionBackwardFilterAlgorithm_v7",
              "cudnnGetConvolutionBackwardFilterWorkspaceSize",
              "cudnnConvolutionBackwardFilter",
              plan.image,
              plan.result,
              plan.kernel};
  }
  return {f.ForwardChoices,
          f.ForwardWorkspace,
          f.Forward,
          "cudnnGetConvolutionForwardAlgorithm_v7",
          "cudnnGetConvolutionForwardWorkspaceSize",
          "cudnnConvolutionForward",
          plan.image,
          plan.kernel,
          plan.result};
}

bool sumsProducts(DnnKind kind, int algorithm) {
  switch (kind) {
    case DnnKind::kForward:
      return algorithm == kForwardImplicitGemm || algorithm == kForwardPrecomputedGemm ||
             algorithm == kForwardGemm;
    case DnnKind::kBackwardData:
      return algorithm == kBackwardDataAlgorithm1;
    case DnnKind::kBackwardFilter:
      return algorithm == kBackwardFilterAlgorithm1;
  }
  return false;
}

// The functions by descriptors of arrays know numbers of 31 bits.
std::vector<int> narrow(const std::vector<int64_t>& numbers) {
  std::vector<int> narrowed;
  for (int64_t number : numbers) narrowed.push_back(static_cast<int>(number));
  return narrowed;
}

// In f32, products of f32 that may not be rounded have no tensor cores.
int wantedMath(const DnnConvolution& convolution) {
  if (convolution.type != DnnType::kF32) return kMathTensorOp;
  return convolution.isTf32 ? kMathDefault : kMathFma;
}

}  // namespace

Dnn::Dnn(std::unique_ptr<DnnFunctions> functions, Driver& driver)
    : functions_(std::move(functions)), driver_(driver) {
  for (int device = 0; device < driver.numDevices(); ++device) {
    handles_.push_back(std::make_unique<Handle>());
  }
}

Dnn::~Dnn() = default;

StatusOr<std::unique_ptr<Dnn>> Dnn::load(const std::string& path, Driver& driver) {
  std::vector<std::string> names = {path};
  if (path == "libcudnn.so") names.push_back(path + ".9");
  ISTHMUS_ASSIGN_OR_RETURN(SharedLibrary library, SharedLibrary::open("cuDNN", names));
  auto functions = std::make_unique<DnnFunctions>();
#define ISTHMUS_DNN_FIND(name, symbol, parameters) \
  ISTHMUS_RETURN_IF_ERROR(library.find(symbol, functions->name));
  ISTHMUS_DNN_FUNCTIONS(ISTHMUS_DNN_FIND)
#undef ISTHMUS_DNN_FIND
  ISTHMUS_RETURN_IF_ERROR(library.find("cudnnGetErrorString", functions->GetErrorString));
  std::unique_ptr<Dnn> dnn(new Dnn(std::move(functions), driver));
  dnn->graphs_ = findDnnGraphs(library);
  return dnn;
}

Status Dnn::check(int code, const char* call) const {
  if (code == kSuccess) return {};
  const char* text = functions_->GetErrorString(code);
  return internalError(call, " failed: ", text ? text : "unknown error", " (", code, ")");
}

Status Dnn::open(int device, Handle& handle) {
  if (handle.handle || !handle.failure.ok()) return handle.failure;
  int code = functions_->Create(&handle.handle);
  // It says little of what it lacks.
  if (code != kSuccess && driver_.makeRoom(device).ok()) code = functions_->Create(&handle.handle);
  Status status = check(code, "cudnnCreate");
  if (status.ok()) return status;
  handle.handle = nullptr;
  if (code >= kInternalError) return status;
  // Such as a version that the driver is too old for. Programs that need it fail, others do
  // without.
  log(LogLevel::kWarning, "cuda: ", status.message(), "; own kernels convolve");
  handle.failure = status;
  return status;
}

Status Dnn::describe(const DnnConvolution& c, DnnPlan& plan) const {
  const DnnFunctions& f = *functions_;
  const DnnArrays arrays(c);
  const auto rank = static_cast<int>(arrays.image.dims.size());
  const auto type = static_cast<int>(c.type);
  auto describeImage = [&](Opaque* made, const DnnArray& array) -> Status {
    ISTHMUS_RETURN_IF_ERROR(check(f.TensorCreate(made), "cudnnCreateTensorDescriptor"));
    std::vector<int> dims = narrow(array.dims), strides = narrow(array.strides);
    return check(f.TensorSet(*made, type, rank, dims.data(), strides.data()),
                 "cudnnSetTensorNdDescriptor");
  };
  ISTHMUS_RETURN_IF_ERROR(describeImage(&plan.image, arrays.image));
  ISTHMUS_RETURN_IF_ERROR(describeImage(&plan.result, arrays.result));
  std::vector<int> window = narrow(arrays.kernel.dims);
  ISTHMUS_RETURN_IF_ERROR(check(f.FilterCreate(&plan.kernel), "cudnnCreateFilterDescriptor"));
  ISTHMUS_RETURN_IF_ERROR(
      check(f.FilterSet(plan.kernel, type, c.isChannelsLast ? kFormatNhwc : kFormatNchw, rank,
                        window.data()),
            "cudnnSetFilterNdDescriptor"));
  ISTHMUS_RETURN_IF_ERROR(
      check(f.ConvolutionCreate(&plan.convolution), "cudnnCreateConvolutionDescriptor"));
  std::vector<int> padding = narrow(arrays.numbers(&DnnAxis::padding));
  std::vector<int> strides = narrow(arrays.numbers(&DnnAxis::stride));
  std::vector<int> dilation = narrow(arrays.numbers(&DnnAxis::dilation));
  ISTHMUS_RETURN_IF_ERROR(check(
      f.ConvolutionSet(plan.convolution, rank - 2, padding.data(), strides.data(), dilation.data(),
                       c.isFlipped ? kModeConvolution : kModeCrossCorrelation, kDataFloat),
      "cudnnSetConvolutionNdDescriptor"));
  ISTHMUS_RETURN_IF_ERROR(
      check(f.ConvolutionSetGroups(plan.convolution, static_cast<int>(c.groups)),
            "cudnnSetConvolutionGroupCount"));
  plan.mathType = wantedMath(c);
  return check(f.ConvolutionSetMath(plan.convolution, plan.mathType),
               "cudnnSetConvolutionMathType");
}

Status Dnn::choose(void* handle, DnnPlan& plan, int64_t workspaceBytes) const {
  const Calls calls = callsOf(*functions_, plan);
  std::array<Choice, kMaxAlgorithms> choices = {};
  int found = 0;
  // Not an error: cuDNN says in this way, too, that it does not compute such a convolution.
  int code = calls.choices(handle, calls.first, calls.second, plan.convolution, calls.third,
                           kMaxAlgorithms, &found, choices.data());
  if (code >= kInternalError) return check(code, calls.choicesName);
  if (code != kSuccess) return unimplemented(check(code, calls.choicesName).message());
  const int wanted = plan.mathType;
  size_t least = 0;
  for (int i = 0; i < std::min(found, kMaxAlgorithms); ++i) {
    const Choice& choice = choices[static_cast<size_t>(i)];
    if (choice.status != kSuccess || choice.determinism != kDeterministic) continue;
    if (!sumsProducts(plan.kind, choice.algorithm)) continue;
    // What runs is what the descriptor says, so it is given what the algorithm was chosen for; but
    // no rounding that the program does not allow.
    if (choice.mathType != kMathDefault && choice.mathType != kMathTensorOp &&
        choice.mathType != kMathFma) {
      continue;
    }
    if (wanted == kMathFma && choice.mathType == kMathTensorOp) continue;
    int math = wanted == kMathFma ? kMathFma : choice.mathType;
    ISTHMUS_RETURN_IF_ERROR(check(functions_->ConvolutionSetMath(plan.convolution, math),
                                  "cudnnSetConvolutionMathType"));
    size_t bytes = 0;
    code = calls.workspace(handle, calls.first, calls.second, plan.convolution, calls.third,
                           choice.algorithm, &bytes);
    if (code != kSuccess) continue;
    if (bytes <= static_cast<size_t>(workspaceBytes)) {
      plan.mathType = math;
      plan.algorithm = choice.algorithm;
      plan.workspaceBytes = bytes;
      return {};
    }
    if (least == 0 || bytes < least) least = bytes;
  }
  if (least > 0) {
    return unimplemented("cuDNN wants a workspace of ", least, " bytes, and may have ",
                         workspaceBytes);
  }
  return unimplemented("cuDNN has no algorithm for it that sums products in a fixed order");
}

StatusOr<std::shared_ptr<const DnnPlan>> Dnn::plan(int device, const DnnWork& work,
                                                   int64_t scratchBytes) {
  return plans_.find({device, work, scratchBytes},
                     [&] { return makePlan(device, work, scratchBytes); });
}

StatusOr<std::unique_ptr<DnnGraph>> Dnn::makeGraph(int device, void* handle,
                                                   const DnnConvolution& convolution,
                                                   int64_t workspaceBytes) const {
  if (!graphs_) return unimplemented("cuDNN has no graphs, which have epilogues");
  double bytes = 0;
  for (int64_t elements : convolution.bufferElements()) {
    bytes += static_cast<double>(elements * bytesOf(convolution.type));
  }
  const bool isTuned = isWorthTiming(convolution.products(), bytes);
  ISTHMUS_ASSIGN_OR_RETURN(
      std::unique_ptr<DnnGraph> graph,
      DnnGraph::make(*graphs_, handle, convolution, workspaceBytes, isTuned ? maxCandidates() : 1));
  if (graph->numPlans() > 1) {
    ISTHMUS_RETURN_IF_ERROR(tune(device, handle, convolution, *graph));
  }
  return graph;
}

Status Dnn::tune(int device, void* handle, const DnnConvolution& convolution,
                 DnnGraph& graph) const {
  ISTHMUS_RETURN_IF_ERROR(check(
      functions_->SetStream(handle, driver_.stream(device, Queue::kCompute)), "cudnnSetStream"));
  Candidates candidates;
  candidates.count = graph.numPlans();
  for (int64_t elements : convolution.bufferElements()) {
    candidates.bytes.push_back(static_cast<size_t>(elements * bytesOf(convolution.type)));
  }
  const auto workspaceBytes = static_cast<size_t>(graph.largestWorkspaceBytes());
  candidates.bytes.push_back(workspaceBytes + kDnnWorkspaceAlignment);
  candidates.run = [&](size_t candidate, std::span<void* const> buffers) {
    graph.choose(candidate);
    void* workspace = buffers.back();
    size_t room = workspaceBytes + kDnnWorkspaceAlignment;
    std::align(kDnnWorkspaceAlignment, workspaceBytes, workspace, room);
    return check(graph.run(handle, buffers.first(buffers.size() - 1), workspace), kGraphRunName);
  };
  ISTHMUS_ASSIGN_OR_RETURN(size_t fastest, fastestOf(driver_, device, candidates));
  graph.choose(fastest);
  graph.dropOthers();
  log(LogLevel::kInfo, "cuda: of ", candidates.count, " plans for ", convolution.toString(),
      ", number ", fastest, " is the fastest");
  return {};
}

StatusOr<std::unique_ptr<DnnAttentionGraphs>> Dnn::makeAttention(void* handle,
                                                                 const DnnAttention& attention,
                                                                 int64_t workspaceBytes) const {
  if (!graphs_) return unimplemented("cuDNN has no graphs, which attention is");
  return DnnAttentionGraphs::make(*graphs_, handle, attention, workspaceBytes);
}

StatusOr<std::shared_ptr<const DnnPlan>> Dnn::makePlan(int device, const DnnWork& work,
                                                       int64_t scratchBytes) {
  Handle& handle = *handles_[static_cast<size_t>(device)];
  std::lock_guard lock(handle.mutex);
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, driver_.enter(device));
  ISTHMUS_RETURN_IF_ERROR(open(device, handle));
  const auto* convolution = std::get_if<DnnConvolution>(&work);
  auto plan =
      std::make_shared<DnnPlan>(*functions_, convolution ? convolution->kind : DnnKind::kForward);
  const int64_t workspaceBytes =
      std::max<int64_t>(scratchBytes, kDnnWorkspaceAlignment) - kDnnWorkspaceAlignment;
  if (!convolution) {
    ISTHMUS_ASSIGN_OR_RETURN(
        plan->attention,
        makeAttention(handle.handle, std::get<DnnAttention>(work), workspaceBytes));
    plan->workspaceBytes = static_cast<size_t>(plan->attention->workspaceBytes());
    return std::shared_ptr<const DnnPlan>(std::move(plan));
  }
  StatusOr<std::unique_ptr<DnnGraph>> graph =
      makeGraph(device, handle.handle, *convolution, workspaceBytes);
  if (graph.ok()) {
    plan->graph = *std::move(graph);
    plan->workspaceBytes = static_cast<size_t>(plan->graph->workspaceBytes());
    return std::shared_ptr<const DnnPlan>(std::move(plan));
  }
  // Only what is a convolution and nothing else has other functions.
  if (!convolution->epilogue.isNone()) return graph.status();
  Status status = describe(*convolution, *plan);
  if (!status.ok()) return unimplemented(status.message());
  ISTHMUS_RETURN_IF_ERROR(choose(handle.handle, *plan, workspaceBytes));
  return std::shared_ptr<const DnnPlan>(std::move(plan));
}

int64_t Dnn::scratchBytes(const DnnPlan& plan) {
  return static_cast<int64_t>(plan.workspaceBytes) + kDnnWorkspaceAlignment;
}

bool Dnn::mayBeRecorded(const DnnPlan& plan) { return plan.graph || plan.attention; }

Status Dnn::run(int device, Queue queue, const DnnPlan& plan, std::span<void* const> buffers,
                void* scratch) {
  Handle& handle = *handles_[static_cast<size_t>(device)];
  std::lock_guard lock(handle.mutex);
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, driver_.enter(device));
  ISTHMUS_RETURN_IF_ERROR(open(device, handle));
  ISTHMUS_RETURN_IF_ERROR(
      check(functions_->SetStream(handle.handle, driver_.stream(device, queue)), "cudnnSetStream"));
  void* workspace = scratch;
  auto bytes = static_cast<size_t>(scratchBytes(plan));
  std::align(kDnnWorkspaceAlignment, plan.workspaceBytes, workspace, bytes);
  if (plan.graph) return check(plan.graph->run(handle.handle, buffers, workspace), kGraphRunName);
  if (plan.attention) {
    return check(plan.attention->run(handle.handle, buffers, workspace), kGraphRunName);
  }
  const float one = 1, zero = 0;
  const Calls calls = callsOf(*functions_, plan);
  const void *lhs = buffers[0], *rhs = buffers[1];
  // A kernel is the first operand of gradients by the image.
  if (plan.kind == DnnKind::kBackwardData) std::swap(lhs, rhs);
  return check(
      calls.run(handle.handle, &one, calls.first, lhs, calls.second, rhs, plan.convolution,
                plan.algorithm, workspace, plan.workspaceBytes, &zero, calls.third, buffers[2]),
      calls.runName);
}

}  // namespace isthmus::cuda

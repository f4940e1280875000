// Everything is a descriptor with attributes: arrays, operations, the graph of these, the
// heuristics' question, the engines they answer with, the plan, and the buffers of a run.
#include "backends/cuda/driver/dnn/dnn_graph.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>

#include "backends/cuda/driver/dnn/dnn_graph_builder.h"
#include "isthmus/backend.h"

namespace isthmus::cuda {

using namespace dnn;
using Opaque = void*;

// Between what is said of one engine and of the next.
static std::string separator(const std::string& before) { return before.empty() ? " " : ", "; }

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
  if (!library.find("cudnnGetVersion", functions->GetVersion).ok()) return nullptr;
  if (!library.find("cudnnGetLastErrorString", functions->GetLastErrorString).ok()) {
    functions->GetLastErrorString = nullptr;
  }
  return functions;
}

std::string DnnGraphBuilder::lastError() const {
  if (!f_.GetLastErrorString) return "";
  // Of what the engines say in turn, the last words.
  constexpr size_t kMaxShown = 600;
  std::array<char, 8192> text = {};
  f_.GetLastErrorString(text.data(), text.size() - 1);
  std::string message(text.data());
  while (!message.empty() && message.back() == '\n') message.pop_back();
  if (message.size() > kMaxShown) message = "… " + message.substr(message.size() - kMaxShown);
  std::ranges::replace(message, '\n', ' ');
  return message.empty() ? "" : " (" + message + ")";
}

bool DnnGraphBuilder::keep(int code, const char* call, int kind, int attribute) {
  if (!failure_.empty()) return false;
  if (code == 0) return true;
  failure_ = std::string(call) + " failed with status " + std::to_string(code);
  if (kind >= 0) failure_ += " for a descriptor of kind " + std::to_string(kind);
  if (attribute >= 0) failure_ += " and attribute " + std::to_string(attribute);
  if (*part_) failure_ += ", " + std::string(part_);
  failure_ += lastError();
  return false;
}

Opaque DnnGraphBuilder::create(int kind) {
  Opaque made = nullptr;
  if (!failure_.empty()) return made;
  if (keep(f_.CreateDescriptor(kind, &made), "cudnnBackendCreateDescriptor", kind)) {
    graph_->descriptors_.push_back(made);
  }
  return made;
}

void DnnGraphBuilder::set(Opaque descriptor, int name, int type, int64_t count,
                          const void* values) {
  if (!failure_.empty()) return;
  keep(f_.SetAttribute(descriptor, name, type, count, values), "cudnnBackendSetAttribute", -1,
       name);
}

Opaque DnnGraphBuilder::finalize(Opaque descriptor) {
  if (failure_.empty()) keep(f_.Finalize(descriptor), "cudnnBackendFinalize", -1);
  return descriptor;
}

Opaque DnnGraphBuilder::array(const DnnArray& array, int type, int64_t id, bool isVirtual,
                              bool isByValue) {
  Opaque made = create(kTensor);
  const int64_t alignment = isByValue ? sizeof(float) : kBufferAlignment;
  set(made, kTensorId, kTypeInt64, id);
  set(made, kTensorDataType, kTypeDataType, type);
  set(made, kTensorAlignment, kTypeInt64, alignment);
  set(made, kTensorDimensions, array.dims);
  set(made, kTensorStrides, array.strides);
  set(made, kTensorIsVirtual, kTypeBoolean, isVirtual);
  if (isByValue) set(made, kTensorIsByValue, kTypeBoolean, isByValue);
  return finalize(made);
}

Opaque DnnGraphBuilder::buffer(const DnnArray& array, int type) {
  graph_->ids_.push_back(++lastId_);
  return this->array(array, type, lastId_, false, false);
}

Opaque DnnGraphBuilder::virtualArray(const DnnArray& array, int type) {
  return this->array(array, type, ++lastId_, true, false);
}

Opaque DnnGraphBuilder::number(float value, size_t rank) {
  graph_->ids_.push_back(++lastId_);
  graph_->numbers_.push_back(value);
  const std::vector<int64_t> ones(rank, 1);
  return array({ones, ones}, kDataFloat, lastId_, false, true);
}

Opaque DnnGraphBuilder::pointwise(const Pointwise& settings, Opaque x, Opaque y, Opaque b,
                                  Opaque t) {
  Opaque mode = create(kPointwise);
  set(mode, kPointwiseMode, kTypePointwiseMode, settings.mode);
  set(mode, kPointwiseMathPrecision, kTypeDataType, settings.computeType);
  if (settings.mode == kPointwiseIndex) set(mode, kPointwiseAxis, kTypeInt64, settings.axis);
  if (settings.mode == kPointwiseRelu) {
    set(mode, kPointwiseNanPropagation, kTypeNanPropagation, kPropagateNan);
    // By default it is the largest finite number, which an infinity would become.
    set(mode, kPointwiseReluUpperClip, kTypeDouble, std::numeric_limits<double>::infinity());
  }
  finalize(mode);
  Opaque made = create(kPointwiseOperation);
  set(made, kOperationPointwise, kTypeDescriptor, mode);
  set(made, kOperationX, kTypeDescriptor, x);
  if (b) set(made, kOperationB, kTypeDescriptor, b);
  if (t) set(made, kOperationT, kTypeDescriptor, t);
  set(made, kOperationY, kTypeDescriptor, y);
  return finalize(made);
}

StatusOr<std::unique_ptr<DnnGraph>> DnnGraphBuilder::finish(const std::vector<Opaque>& operations,
                                                            const Limits& limits,
                                                            const std::string& what) {
  describe("the graph");
  Opaque graph = create(kOperationGraph);
  set(graph, kGraphHandle, kTypeHandle, handle_);
  set(graph, kGraphOperations, kTypeDescriptor, static_cast<int64_t>(operations.size()),
      operations.data());
  finalize(graph);
  describe("the heuristics");
  Opaque question = create(kHeuristics);
  set(question, kHeuristicsGraph, kTypeDescriptor, graph);
  set(question, kHeuristicsMode, kTypeHeurMode, kHeurModeA);
  finalize(question);
  std::array<Opaque, kMaxEngines> configs = {};
  for (Opaque& config : configs) config = create(kEngineConfig);
  int64_t found = 0;
  if (failure_.empty()) {
    keep(f_.GetAttribute(question, kHeuristicsResults, kTypeDescriptor, kMaxEngines, &found,
                         configs.data()),
         "cudnnBackendGetAttribute", kHeuristics, kHeuristicsResults);
  }
  if (!failure_.empty()) return unimplemented("cuDNN describes no graph of ", what, ": ", failure_);
  std::string why = found == 0 ? lastError() : "";
  for (int64_t i = 0; i < std::min(found, kMaxEngines); ++i) {
    Opaque config = configs[static_cast<size_t>(i)];
    if (graph_->plans_.size() == limits.maxPlans) break;
    if (!isAllowed(config, limits, why)) continue;
    std::optional<DnnGraph::Plan> made = plan(config, why);
    if (!made) continue;
    if (made->workspaceBytes <= limits.workspaceBytes) {
      graph_->plans_.push_back(*made);
      continue;
    }
    // It may hold code that was compiled for it.
    f_.DestroyDescriptor(made->descriptor);
    why += separator(why) + "one wants " + std::to_string(made->workspaceBytes) + " bytes";
  }
  if (!graph_->plans_.empty()) return std::move(graph_);
  return unimplemented("cuDNN has no engine for ", what, " that sums products in a fixed order",
                       limits.keepsNans ? " and keeps NaNs" : "", "; of ", found, ":", why);
}

// What an engine's notes say of it; false if it cannot be read.
bool DnnGraphBuilder::readNotes(Opaque engine, int name, int type, std::vector<int>& notes) {
  notes.resize(kMaxNotes);
  int64_t count = 0;
  if (f_.GetAttribute(engine, name, type, kMaxNotes, &count, notes.data()) != 0) return false;
  if (count < 0 || count > kMaxNotes) return false;
  notes.resize(static_cast<size_t>(count));
  return true;
}

// An engine with a note that is not known here may do anything.
bool DnnGraphBuilder::isAllowed(Opaque config, const Limits& limits, std::string& why) {
  Opaque engine = create(kEngine);
  int64_t count = 0;
  std::vector<int> numerical, behavior;
  if (!failure_.empty() ||
      f_.GetAttribute(config, kEngineConfigEngine, kTypeDescriptor, 1, &count, &engine) != 0 ||
      !readNotes(engine, kEngineNumericalNote, kTypeNumericalNote, numerical) ||
      !readNotes(engine, kEngineBehaviorNote, kTypeBehaviorNote, behavior)) {
    why += separator(why) + "one without notes";
    return false;
  }
  bool keepsNans = false;
  for (int note : numerical) {
    keepsNans |= note == kNoteStrictNan;
    // In f32, tensor cores round operands to TF32.
    if (note != kNoteStrictNan && (note != kNoteTensorCore || !limits.roundsToTf32)) {
      why += separator(why) + "one with numerical note " + std::to_string(note);
      return false;
    }
  }
  for (int note : behavior) {
    // Which takes a second.
    if (note == kNoteRuntimeCompilation && !graph_->plans_.empty()) return false;
    if (note != kNoteRuntimeCompilation && note != kNoteSupportsGraphs &&
        note != kNoteBlasDependency) {
      why += separator(why) + "one with behavior note " + std::to_string(note);
      return false;
    }
  }
  if (keepsNans || !limits.keepsNans) return true;
  why += separator(why) + "one that loses NaNs";
  return false;
}

// Nothing if this engine cannot do it after all.
std::optional<DnnGraph::Plan> DnnGraphBuilder::plan(Opaque config, std::string& why) {
  describe("a plan");
  Opaque plan = create(kExecutionPlan);
  if (plan) graph_->descriptors_.pop_back();
  set(plan, kPlanHandle, kTypeHandle, handle_);
  set(plan, kPlanEngineConfig, kTypeDescriptor, config);
  finalize(plan);
  int64_t bytes = 0, count = 0;
  if (failure_.empty()) {
    keep(f_.GetAttribute(plan, kPlanWorkspaceSize, kTypeInt64, 1, &count, &bytes),
         "cudnnBackendGetAttribute", kExecutionPlan, kPlanWorkspaceSize);
  }
  if (failure_.empty() && count == 1 && bytes >= 0) return DnnGraph::Plan{plan, bytes};
  why += separator(why) + "one without a plan: " + std::exchange(failure_, "");
  if (plan) f_.DestroyDescriptor(plan);
  return std::nullopt;
}

// Users before what they use.
DnnGraph::~DnnGraph() {
  for (const Plan& plan : plans_) functions_.DestroyDescriptor(plan.descriptor);
  for (size_t i = descriptors_.size(); i-- > 0;) functions_.DestroyDescriptor(descriptors_[i]);
}

void DnnGraph::dropOthers() {
  std::swap(plans_[0], plans_[chosen_]);
  chosen_ = 0;
  for (size_t i = 1; i < plans_.size(); ++i) functions_.DestroyDescriptor(plans_[i].descriptor);
  plans_.resize(1);
}

int64_t DnnGraph::largestWorkspaceBytes() const {
  int64_t largest = 0;
  for (const Plan& plan : plans_) largest = std::max(largest, plan.workspaceBytes);
  return largest;
}

int DnnGraph::run(void* handle, std::span<void* const> buffers, void* workspace) const {
  Opaque pack = nullptr;
  int code = functions_.CreateDescriptor(kVariantPack, &pack);
  if (code != 0) return code;
  auto set = [&](int name, int type, int64_t count, const void* values) {
    if (code == 0) code = functions_.SetAttribute(pack, name, type, count, values);
  };
  std::vector<void*> pointers(buffers.begin(), buffers.end());
  for (float& number : numbers_) pointers.push_back(&number);
  const auto count = static_cast<int64_t>(ids_.size());
  set(kPackIds, kTypeInt64, count, ids_.data());
  set(kPackPointers, kTypePointer, count, pointers.data());
  set(kPackWorkspace, kTypePointer, 1, &workspace);
  if (code == 0) code = functions_.Finalize(pack);
  if (code == 0) code = functions_.Execute(handle, plans_[chosen_].descriptor, pack);
  functions_.DestroyDescriptor(pack);
  return code;
}

}  // namespace isthmus::cuda

// cuDNN's graphs over the fake driver, as its header describes their attributes: a convolution and
// what is done with its elements. Stricter than the manual: what is set must have the type and the
// number of elements that are written there, and nothing may be read before it is finished.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/driver/fake/fake_convolution.h"
#include "backends/cuda/driver/fake/fake_descriptor.h"
#include "backends/cuda/driver/fake/fake_dnn.h"
#include "backends/cuda/driver/fake/fake_streams.h"

namespace {

using namespace fake_dnn;

enum Kind {
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kHeuristics = 4,
  kPlan = 5,
  kForward = 10,
  kBackwardFilter = 11,
  kBackwardData = 12,
  kPointwiseOperation = 13,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kMatmul = 18,
  kMatmulOperation = 19,
  kReduction = 21,
  kReductionOperation = 22,
  kReshapeOperation = 31
};

// By number of attribute: whose it is, and the number of its type. Those that are only read are in
// readOnly.
struct Rule {
  int kind, type;
  bool isOptional = false;
};
const std::map<int, Rule> rules = {
    {0, {kPointwise, 14}},
    {1, {kPointwise, 1}},
    {2, {kPointwise, 10, true}},
    {4, {kPointwise, 5, true}},
    {9, {kPointwise, 3, true}},
    {100, {kConvolution, 1}},
    {101, {kConvolution, 7}},
    {102, {kConvolution, 3}},
    {103, {kConvolution, 3}},
    {104, {kConvolution, 3}},
    {105, {kConvolution, 3}},
    {106, {kConvolution, 3}},
    {200, {kHeuristics, 8}},
    {201, {kHeuristics, 15}},
    {400, {kPlan, 0}},
    {401, {kPlan, 15}},
    {700, {kForward, 4}},
    {701, {kForward, 4}},
    {702, {kForward, 15}},
    {703, {kForward, 15}},
    {704, {kForward, 15}},
    {705, {kForward, 15}},
    {706, {kBackwardData, 4}},
    {707, {kBackwardData, 4}},
    {708, {kBackwardData, 15}},
    {709, {kBackwardData, 15}},
    {710, {kBackwardData, 15}},
    {711, {kBackwardData, 15}},
    {712, {kBackwardFilter, 4}},
    {713, {kBackwardFilter, 4}},
    {714, {kBackwardFilter, 15}},
    {715, {kBackwardFilter, 15}},
    {716, {kBackwardFilter, 15}},
    {717, {kBackwardFilter, 15}},
    {750, {kPointwiseOperation, 15}},
    {751, {kPointwiseOperation, 15}},
    {752, {kPointwiseOperation, 15, true}},
    {753, {kPointwiseOperation, 15}},
    {758, {kPointwiseOperation, 15, true}},
    {800, {kOperationGraph, 0}},
    {801, {kOperationGraph, 15}},
    {900, {kTensor, 3}},
    {901, {kTensor, 1}},
    {902, {kTensor, 3}},
    {903, {kTensor, 3}},
    {906, {kTensor, 3}},
    {907, {kTensor, 2, true}},
    {908, {kTensor, 2, true}},
    {1000, {kVariantPack, 3}},
    {1001, {kVariantPack, 6}},
    {1003, {kVariantPack, 6}},
    {1500, {kMatmul, 1}},
    {1520, {kMatmulOperation, 15}},
    {1521, {kMatmulOperation, 15}},
    {1522, {kMatmulOperation, 15}},
    {1523, {kMatmulOperation, 15}},
    {1600, {kReduction, 18}},
    {1601, {kReduction, 1}},
    {1610, {kReductionOperation, 15}},
    {1611, {kReductionOperation, 15}},
    {1612, {kReductionOperation, 15}},
    {2200, {kReshapeOperation, 15}},
    {2201, {kReshapeOperation, 15}},
};

// By number of type.
size_t sizeOf(int type) {
  switch (type) {
    case 2:
      return sizeof(bool);
    case 0:
    case 3:
    case 5:
    case 6:
    case 15:
      return 8;
    default:
      return 4;
  }
}

std::atomic<bool> refusesGraphs;

// The heuristics' answers, the fastest first. Most are of no use: the notes that say so come first.
constexpr int kTensorCore = 0, kNondeterministic = 4, kWinograd = 5, kStrictNan = 9, kUnknown = 10;
constexpr int kCompiles = 0, kReordersBias = 2;
struct Engine {
  std::vector<int> notes, behavior;
  int64_t workspaceBytes = kWorkspaceBytes;
  bool isPlanned = true;
};
const std::vector<Engine> engines = {
    {{kTensorCore, kStrictNan, kNondeterministic}, {}},
    {{kStrictNan, kWinograd}, {}},
    {{kStrictNan, kUnknown}, {}},
    {{kStrictNan}, {kReordersBias}},
    {{kStrictNan}, {}, kWorkspaceBytes, false},
    {{kStrictNan}, {}, int64_t{1} << 40},
    {{kTensorCore}, {kCompiles}},  // and loses NaNs
    {{kTensorCore, kStrictNan}, {kCompiles}},
    {{}, {}},  // and loses NaNs
    {{kStrictNan}, {}},
};

Array arrayOf(const Descriptor& tensor) {
  auto narrow = [&](int name) {
    Ints numbers;
    for (int64_t number : tensor.list<int64_t>(name)) numbers.push_back(static_cast<int>(number));
    return numbers;
  };
  return {tensor.one<int>(901), narrow(902), narrow(903)};
}

Ints numbersOf(const Descriptor& convolution, int name) {
  Ints numbers;
  for (int64_t number : convolution.list<int64_t>(name))
    numbers.push_back(static_cast<int>(number));
  return numbers;
}

bool isConvolution(const Descriptor& operation) {
  return operation.kind == kForward || operation.kind == kBackwardData ||
         operation.kind == kBackwardFilter;
}

// The first of a convolution's attributes: factors (2), settings, kernel, image, result.
int firstOf(const Descriptor& convolution) {
  return convolution.kind == kForward ? 700 : convolution.kind == kBackwardData ? 706 : 712;
}
const Descriptor& kernelOf(const Descriptor& c) { return c.other(firstOf(c) + 3); }
const Descriptor& imageOf(const Descriptor& c) { return c.other(firstOf(c) + 4); }
const Descriptor& resultOf(const Descriptor& c) { return c.other(firstOf(c) + 5); }
// What it makes.
const Descriptor& madeBy(const Descriptor& c) {
  return c.kind == kForward ? resultOf(c) : c.kind == kBackwardData ? imageOf(c) : kernelOf(c);
}

Problem problemOf(const Descriptor& convolution) {
  const Descriptor& settings = convolution.other(firstOf(convolution) + 2);
  Problem p;
  p.x = arrayOf(imageOf(convolution));
  p.w = arrayOf(kernelOf(convolution));
  p.y = arrayOf(resultOf(convolution));
  p.c = {numbersOf(settings, 105), numbersOf(settings, 103), numbersOf(settings, 102),
         settings.one<int>(101), settings.one<int>(100)};
  // Groups are what sizes say.
  p.c.groups = p.w.dims[1] > 0 ? p.x.dims[1] / p.w.dims[1] : 0;
  return p;
}

// What is done with elements, in the words of the graph.
struct Step {
  bool isRelu = false, keepsNans = false;
  float most = 0;
  const Descriptor *added = nullptr, *made = nullptr;
};

bool agrees(const Descriptor& operation) {
  const Array x = arrayOf(operation.other(751)), y = arrayOf(operation.other(753));
  if (x.dims != y.dims) return false;
  if (operation.has(758) && arrayOf(operation.other(758)).dims != y.dims) return false;
  if (!operation.has(752)) return true;
  const Array b = arrayOf(operation.other(752));
  if (b.dims.size() != y.dims.size()) return false;
  for (size_t d = 0; d < y.dims.size(); ++d) {
    if (b.dims[d] != y.dims[d] && b.dims[d] != 1) return false;
  }
  return true;
}

// One chain from a convolution to the only result in memory; nothing for other graphs.
std::optional<std::vector<Step>> stepsOf(const Descriptor& graph) {
  auto operations = graph.list<const Descriptor*>(801);
  if (operations.empty() || !isConvolution(*operations[0])) return std::nullopt;
  if (operations[0]->kind != kForward && operations.size() > 1) return std::nullopt;
  const Descriptor* last = &madeBy(*operations[0]);
  std::vector<Step> steps;
  for (size_t i = 1; i < operations.size(); ++i) {
    const Descriptor& operation = *operations[i];
    if (operation.kind != kPointwiseOperation || !isVirtual(*last)) return std::nullopt;
    if (idOf(operation.other(751)) != idOf(*last) || arrayOf(*last).type != 0) return std::nullopt;
    const Descriptor& settings = operation.other(750);
    const int mode = settings.one<int>(0);
    Step step;
    step.isRelu = mode == 100;
    step.keepsNans = settings.has(2) && settings.one<int>(2) == 1;
    step.most = settings.has(4) ? static_cast<float>(settings.one<double>(4)) : 3.4028234e38F;
    if (operation.has(752)) step.added = &operation.other(752);
    step.made = last = &operation.other(753);
    // Additions (0) and ReLU; the only support of NaNs is that they are kept.
    if ((mode != 0 && mode != 100) || settings.one<int>(1) != 0) return std::nullopt;
    if ((mode == 0) != (step.added != nullptr) || (step.isRelu && !step.keepsNans))
      return std::nullopt;
    steps.push_back(step);
  }
  if (isVirtual(*last)) return std::nullopt;
  return steps;
}

int finishTensor(const Descriptor& tensor) {
  const Array array = arrayOf(tensor);
  if (array.dims.size() < 4 || array.dims.size() != array.strides.size()) return kBadParameter;
  auto isPositive = [](int number) { return number > 0; };
  if (!std::all_of(array.dims.begin(), array.dims.end(), isPositive) ||
      !std::all_of(array.strides.begin(), array.strides.end(), isPositive)) {
    return kBadParameter;
  }
  if (isByValue(tensor) && elementsOf(array) != 1) return kBadParameter;
  return tensor.one<int64_t>(900) % (array.type == 0 ? 4 : 2) == 0 ? kOk : kBadParameter;
}

int finishConvolution(const Descriptor& convolution) {
  const auto axes = static_cast<size_t>(convolution.one<int64_t>(106));
  for (int name : {102, 103, 104, 105}) {
    if (convolution.list<int64_t>(name).size() != axes) return kBadParameter;
  }
  return convolution.list<int64_t>(104) == convolution.list<int64_t>(105) ? kOk : kNotSupported;
}

int finishOperation(const Descriptor& convolution) {
  Problem p = problemOf(convolution);
  const int first = firstOf(convolution);
  if (convolution.one<float>(first) != 1 || convolution.one<float>(first + 1) != 0) {
    return kNotSupported;
  }
  // Sums on their way are in f32, whatever they are made of.
  if (convolution.kind == kForward && p.y.type == 0) p.y.type = p.x.type;
  if (p.c.groups * p.w.dims[1] != p.x.dims[1]) return kBadParameter;
  return p.isConsistent() ? kOk : kBadParameter;
}

int finishGraph(const Descriptor& graph) {
  if (!graph.one<void*>(800)) return kBadParameter;
  if (isAttention(graph.list<const Descriptor*>(801))) return kOk;
  std::optional<std::vector<Step>> steps = stepsOf(graph);
  if (!steps) return kNotSupported;
  const Problem p = problemOf(*graph.list<const Descriptor*>(801)[0]);
  if (!p.hasOneLayout()) return kNotSupported;
  // For tests of refusals: of everything, of features last, of features first, of graphs alone.
  const bool isChannelsLast = p.x.strides[1] == 1;
  if (p.x.dims[1] == 13 || p.x.dims[1] == (isChannelsLast ? 26 : 39)) return kNotSupported;
  return refusesGraphs || p.y.dims[1] == 29 ? kNotSupported : kOk;
}

int finish(const Descriptor& descriptor) {
  for (const auto& [name, rule] : rules) {
    if (rule.kind == descriptor.kind && !rule.isOptional && !descriptor.has(name)) {
      return kBadParameter;
    }
    if (rule.kind != descriptor.kind || rule.type != 15 || !descriptor.has(name)) continue;
    for (const Descriptor* other : descriptor.list<const Descriptor*>(name)) {
      if (!other || !other->isFinished) return kBadParameter;
    }
  }
  switch (descriptor.kind) {
    case kTensor:
      return finishTensor(descriptor);
    case kConvolution:
      return finishConvolution(descriptor);
    case kForward:
    case kBackwardData:
    case kBackwardFilter:
      return finishOperation(descriptor);
    case kPointwiseOperation:
      return agrees(descriptor) ? kOk : kBadParameter;
    case kOperationGraph:
      return finishGraph(descriptor);
    case kPlan:
      return engines[static_cast<size_t>(descriptor.other(401).engine)].isPlanned ? kOk
                                                                                  : kNotSupported;
    case kEngine:
    case kEngineConfig:
      return kBadParameter;  // which are the heuristics'
    default:
      return kOk;
  }
}

float addedTo(const Descriptor& tensor, const void* data, const Array& y, int64_t at) {
  const Array b = arrayOf(tensor);
  // The place in y as a multi-index, in the order of its strides.
  int64_t place = 0;
  for (size_t d = 0; d < y.dims.size(); ++d) {
    const int64_t index = at / y.strides[d] % y.dims[d];
    if (b.dims[d] != 1) place += index * b.strides[d];
  }
  return read(b.type, data, place);
}

// The name of what is enqueued: "convolution graph NHWC with + + relu by engine 7", or "convolution
// backward data NHWC by engine 6", and of f32 on tensor cores "of tf32".
std::string nameOf(int kind, const Problem& p, const std::vector<Step>& steps, int engine) {
  const std::string layout = p.x.strides[1] == 1 ? "NHWC" : "NCHW";
  std::string name = kind == kForward        ? "convolution forward"
                     : kind == kBackwardData ? "convolution backward data"
                                             : "convolution backward filter";
  const std::vector<int>& notes = engines[static_cast<size_t>(engine)].notes;
  const bool isOnTensorCores = std::count(notes.begin(), notes.end(), kTensorCore) != 0;
  if (p.x.type == 0 && isOnTensorCores) name += " of tf32";
  name += " " + layout;
  if (!steps.empty()) name = "convolution graph " + layout + " with";
  for (const Step& step : steps) name += step.isRelu ? " relu" : " +";
  return name + " by engine " + std::to_string(engine);
}

int attend(Handle* handle, const Descriptor& graph, int engine, const Descriptor& pack) {
  const auto ids = pack.list<int64_t>(1000);
  const auto pointers = pack.list<void*>(1001);
  auto* workspace = pack.one<void*>(1003);
  if (ids.size() != pointers.size() || !workspace ||
      reinterpret_cast<uintptr_t>(workspace) % 256 != 0) {
    return kBadParameter;
  }
  std::optional<AttentionWork> found =
      fake_dnn::attentionOf(graph.list<const Descriptor*>(801), [&](int64_t id) -> void* {
        auto at = std::find(ids.begin(), ids.end(), id);
        return at == ids.end() ? nullptr : pointers[static_cast<size_t>(at - ids.begin())];
      });
  if (!found) return kBadParameter;
  fake_cuda_enqueue(handle->stream, found->name + " by engine " + std::to_string(engine),
                    found->work);
  return kOk;
}

int execute(Handle* handle, const Descriptor& plan, const Descriptor& pack) {
  const int engine = plan.other(401).engine;
  const Descriptor& graph = *plan.other(401).graph;
  if (isAttention(graph.list<const Descriptor*>(801))) return attend(handle, graph, engine, pack);
  const Descriptor& convolution = *graph.list<const Descriptor*>(801)[0];
  const int kind = convolution.kind;
  const Problem p = problemOf(convolution);
  const std::vector<Step> steps = *stepsOf(graph);
  auto* workspace = pack.one<void*>(1003);
  if (!workspace || reinterpret_cast<uintptr_t>(workspace) % 256 != 0) return kBadParameter;
  const auto ids = pack.list<int64_t>(1000);
  const auto pointers = pack.list<void*>(1001);
  if (ids.size() != pointers.size()) return kBadParameter;
  auto pointerOf = [&](const Descriptor& tensor) -> void* {
    auto at = std::find(ids.begin(), ids.end(), idOf(tensor));
    return at == ids.end() ? nullptr : pointers[static_cast<size_t>(at - ids.begin())];
  };
  std::vector<const void*> added;
  for (const Step& step : steps) added.push_back(step.added ? pointerOf(*step.added) : nullptr);
  const void *image = pointerOf(imageOf(convolution)), *kernel = pointerOf(kernelOf(convolution));
  const Descriptor& made = steps.empty() ? madeBy(convolution) : *steps.back().made;
  const void* gradient = kind == kForward ? nullptr : pointerOf(resultOf(convolution));
  void* result = pointerOf(made);
  if (!image || !kernel || !result || (kind != kForward && !gradient)) return kBadParameter;
  // For a test of a failure.
  if (p.x.dims[0] == 11) return kExecutionFailed;
  // Descriptors of arrays are read when it runs, so they live as long as the plan: as in cuDNN.
  const auto& notes = engines[static_cast<size_t>(engine)].notes;
  const bool isStrict = std::count(notes.begin(), notes.end(), kStrictNan) != 0;
  const Array of = arrayOf(made);
  const int type = of.type;
  fake_cuda_enqueue(handle->stream, nameOf(kind, p, steps, engine), [=] {
    std::vector<float> sums(static_cast<size_t>(elementsOf(of)));
    forEachProduct(p, [&](int64_t x, int64_t w, int64_t y) {
      if (kind == kForward) {
        sums[static_cast<size_t>(y)] += read(p.x.type, image, x) * read(p.w.type, kernel, w);
      } else if (kind == kBackwardData) {
        sums[static_cast<size_t>(x)] += read(p.w.type, kernel, w) * read(p.y.type, gradient, y);
      } else {
        sums[static_cast<size_t>(w)] += read(p.x.type, image, x) * read(p.y.type, gradient, y);
      }
    });
    for (size_t i = 0; i < sums.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      float value = sums[i];
      for (size_t s = 0; s < steps.size(); ++s) {
        const Step& step = steps[s];
        if (step.added) value += addedTo(*step.added, added[s], p.y, at);
        if (!step.isRelu) continue;
        if (value < 0 || (std::isnan(value) && !isStrict)) value = 0;
        if (value > step.most) value = step.most;
      }
      write(type, result, at, value);
    }
  });
  return kOk;
}

}  // namespace

extern "C" {

void fake_dnn_refuse_graphs(int isRefused) { refusesGraphs = isRefused != 0; }

int cudnnBackendCreateDescriptor(int kind, void** made) {
  auto* descriptor = new Descriptor;
  descriptor->kind = kind;
  *made = descriptor;
  return kOk;
}
int cudnnBackendDestroyDescriptor(void* descriptor) {
  delete static_cast<Descriptor*>(descriptor);
  return kOk;
}
int cudnnBackendSetAttribute(void* made, int name, int type, int64_t count, const void* values) {
  auto& descriptor = *static_cast<Descriptor*>(made);
  auto rule = rules.find(name);
  if (descriptor.isFinished || rule == rules.end() || rule->second.kind != descriptor.kind ||
      rule->second.type != type || count < 1) {
    return kBadParameter;
  }
  descriptor.attributes[name] =
      std::string(static_cast<const char*>(values), static_cast<size_t>(count) * sizeOf(type));
  return kOk;
}
int cudnnBackendFinalize(void* made) {
  auto& descriptor = *static_cast<Descriptor*>(made);
  if (descriptor.isFinished) return kBadParameter;
  const int code = finish(descriptor);
  descriptor.isFinished = code == kOk;
  return code;
}
int cudnnBackendGetAttribute(void* from, int name, int type, int64_t most, int64_t* count,
                             void* values) {
  const auto& descriptor = *static_cast<const Descriptor*>(from);
  if (!descriptor.isFinished) return kBadParameter;
  if (descriptor.kind == kHeuristics && name == 202 && type == 15) {
    fake_dnn_asked();
    *count = static_cast<int64_t>(engines.size());
    for (int64_t i = 0; i < std::min(most, *count); ++i) {
      auto* config = static_cast<Descriptor**>(values)[i];
      if (config->kind != kEngineConfig) return kBadParameter;
      config->engine = static_cast<int>(i);
      config->graph = &descriptor.other(201);
      config->isFinished = true;
    }
    return kOk;
  }
  if (descriptor.kind == kEngineConfig && name == 300 && type == 15 && most == 1) {
    auto* engine = *static_cast<Descriptor**>(values);
    if (engine->kind != kEngine) return kBadParameter;
    engine->engine = descriptor.engine;
    engine->isFinished = true;
    *count = 1;
    return kOk;
  }
  const bool isNumerical = name == 1303 && type == 11, isBehavior = name == 1305 && type == 19;
  if (descriptor.kind == kEngine && (isNumerical || isBehavior)) {
    const Engine& engine = engines[static_cast<size_t>(descriptor.engine)];
    const std::vector<int>& notes = isNumerical ? engine.notes : engine.behavior;
    *count = static_cast<int64_t>(notes.size());
    std::copy_n(notes.begin(), std::min(*count, most), static_cast<int*>(values));
    return kOk;
  }
  if (descriptor.kind == kPlan && name == 402 && type == 3 && most == 1) {
    *static_cast<int64_t*>(values) =
        engines[static_cast<size_t>(descriptor.other(401).engine)].workspaceBytes;
    *count = 1;
    return kOk;
  }
  return kBadParameter;
}
int cudnnBackendExecute(void* handle, void* plan, void* pack) {
  const auto &made = *static_cast<Descriptor*>(plan), &buffers = *static_cast<Descriptor*>(pack);
  if (made.kind != kPlan || !made.isFinished || !buffers.isFinished) return kBadParameter;
  return execute(static_cast<Handle*>(handle), made, buffers);
}

}  // extern "C"

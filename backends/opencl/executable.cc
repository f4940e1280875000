#include "backends/opencl/executable.h"

#include <algorithm>
#include <bit>

#include "backends/cpu/kernels/scratch.h"
#include "isthmus/trace.h"

namespace isthmus::opencl {
namespace {

struct GroupShape {
  std::array<size_t, 3> global;
  std::array<size_t, 3> local;
};

// Groups lie along the first dimension: long enough for vectors, few enough work-items that all
// units have work.
GroupShape groupShape(const std::array<int64_t, 3>& items, const DeviceFacts& facts) {
  constexpr int64_t kGroupsPerUnit = 4;
  constexpr int64_t kMinItems = 16;
  int64_t limit = facts.isCpu ? 1024 : 256;
  limit = std::min<int64_t>(limit, static_cast<int64_t>(facts.maxWorkGroupItems));
  int64_t share =
      items[0] * items[1] * items[2] / (kGroupsPerUnit * std::max(1u, facts.computeUnits));
  int64_t wanted = std::clamp<int64_t>(share, std::min(kMinItems, limit), limit);
  wanted =
      std::min<int64_t>(wanted, static_cast<int64_t>(std::bit_ceil(static_cast<size_t>(items[0]))));
  GroupShape shape{};
  shape.local = {std::bit_floor(static_cast<size_t>(wanted)), 1, 1};
  for (size_t d = 0; d < 3; ++d) {
    auto count = static_cast<size_t>(items[d]);
    shape.global[d] = (count + shape.local[d] - 1) / shape.local[d] * shape.local[d];
  }
  return shape;
}

}  // namespace

// One run of the program: where everything is, and the steps in order.
class OpenclExecutable::Run {
 public:
  Run(const OpenclExecutable& executable, const RunRequest& request)
      : executable_(executable),
        image_(executable.image_),
        driver_(executable.driver_),
        request_(request) {}
  ~Run() { driver_.free(arena_); }

  Status run() {
    if (image_.scratchBytes > 0) {
      StatusOr<void*> arena =
          driver_.allocate(request_.deviceId, static_cast<size_t>(image_.scratchBytes));
      if (!arena.ok()) return arena.status().withContext("program " + image_.info.name + ": arena");
      arena_ = *arena;
    }
    Status status = runSteps(image_.steps);
    // Even after an error: what was enqueued uses the buffers.
    Status finished = driver_.finish(request_.deviceId);
    return status.ok() ? finished.withContext("program " + image_.info.name) : status;
  }

 private:
  void* addressOf(const Location& location) const;
  Status runSteps(const std::vector<Step>& steps);
  Status runStep(const KernelLaunch& launch);
  Status runStep(const HostCall& call);
  Status runStep(const LibraryCall&) { return internalError("OpenCL has no library to call"); }
  Status runStep(const Move& move);
  Status runStep(const Loop& loop);
  Status runStep(const Branch& branch);
  // Waits for what was enqueued before.
  Status read(const Location& from, void* to) {
    return driver_.enqueueCopy(request_.deviceId, to, addressOf(from),
                               static_cast<size_t>(from.bytes), true);
  }
  Status copy(void* to, const void* from, int64_t bytes) {
    return driver_.enqueueCopy(request_.deviceId, to, from, static_cast<size_t>(bytes));
  }

  const OpenclExecutable& executable_;
  const ProgramImage& image_;
  Driver& driver_;
  const RunRequest& request_;
  void* arena_ = nullptr;
};

void* OpenclExecutable::Run::addressOf(const Location& location) const {
  return isthmus::addressOf(
      location, image_, {request_.parameters, request_.results, executable_.constants_, arena_});
}

Status OpenclExecutable::Run::runSteps(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    ISTHMUS_RETURN_IF_ERROR(
        std::visit([this](const auto& what) { return runStep(what); }, step.what));
  }
  return {};
}

Status OpenclExecutable::Run::runStep(const KernelLaunch& launch) {
  std::vector<void*> buffers;
  for (const Location& location : launch.buffers) buffers.push_back(addressOf(location));
  return executable_.launch(request_.deviceId, launch.kernel, buffers)
      .withContext(image_.kernels[launch.kernel].description);
}

Status OpenclExecutable::Run::runStep(const HostCall& call) {
  auto padded = [](int64_t bytes) {
    constexpr auto kAlignment = static_cast<int64_t>(kBufferAlignment);
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  };
  int64_t total = 0;
  for (const auto* places : {&call.inputs, &call.outputs}) {
    for (const Location& place : *places) total += padded(place.bytes);
  }
  cpu::Scratch<char> staging(*request_.services, std::max<int64_t>(total, 1));
  if (!staging) return resourceExhausted("no host memory to stage ", total, " bytes");
  std::vector<void*> buffers;
  char* next = staging.data();
  for (const auto* places : {&call.inputs, &call.outputs}) {
    for (const Location& place : *places) {
      buffers.push_back(next);
      next += padded(place.bytes);
    }
  }
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    ISTHMUS_RETURN_IF_ERROR(read(call.inputs[i], buffers[i]));
  }
  ISTHMUS_RETURN_IF_ERROR(executable_.hostFunctions_->call(call.function, request_, buffers));
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const Location& place = call.outputs[i];
    // Blocks, since the staging memory goes.
    ISTHMUS_RETURN_IF_ERROR(driver_.enqueueCopy(request_.deviceId, addressOf(place),
                                                buffers[call.inputs.size() + i],
                                                static_cast<size_t>(place.bytes), true));
  }
  return {};
}

Status OpenclExecutable::Run::runStep(const Move& move) {
  void* to = addressOf(move.to);
  void* from = addressOf(move.from);
  if (!move.isSwap) return copy(to, from, move.to.bytes);
  // A swap waits: its third place is in host memory.
  cpu::Scratch<char> kept(*request_.services, move.to.bytes);
  if (!kept) return resourceExhausted("no host memory for ", move.to.bytes, " bytes");
  ISTHMUS_RETURN_IF_ERROR(read(move.to, kept.data()));
  ISTHMUS_RETURN_IF_ERROR(copy(to, from, move.to.bytes));
  return driver_.enqueueCopy(request_.deviceId, from, kept.data(),
                             static_cast<size_t>(move.to.bytes), true);
}

Status OpenclExecutable::Run::runStep(const Loop& loop) {
  while (true) {
    ISTHMUS_RETURN_IF_ERROR(runSteps(loop.condition));
    uint8_t predicate = 0;
    ISTHMUS_RETURN_IF_ERROR(read(loop.predicate, &predicate));
    if (!predicate) return {};
    ISTHMUS_RETURN_IF_ERROR(runSteps(loop.body));
  }
}

Status OpenclExecutable::Run::runStep(const Branch& branch) {
  int32_t index = 0;
  if (branch.isIf) {
    uint8_t predicate = 0;
    ISTHMUS_RETURN_IF_ERROR(read(branch.index, &predicate));
    index = predicate;
  } else {
    ISTHMUS_RETURN_IF_ERROR(read(branch.index, &index));
  }
  return runSteps(branch.branches[chosenBranch(branch, index)]);
}

StatusOr<std::shared_ptr<const Executable>> OpenclExecutable::load(Driver& driver,
                                                                   ProgramImage image) {
  std::shared_ptr<OpenclExecutable> executable(new OpenclExecutable(driver, std::move(image)));
  ISTHMUS_RETURN_IF_ERROR(executable->build());
  return std::shared_ptr<const Executable>(std::move(executable));
}

Status OpenclExecutable::build() {
  ISTHMUS_ASSIGN_OR_RETURN(hostFunctions_, cpu::HostFunctions::load(image_.host));
  if (!image_.kernels.empty()) {
    bool takesSpirv = driver_.facts(0).takesSpirv;
    StatusOr<std::unique_ptr<Program>> program =
        takesSpirv ? driver_.buildSpirv(image_.spirv) : driver_.buildSource(image_.source, "");
    if (!program.ok()) return program.status().withContext("program " + image_.info.name);
    program_ = std::move(*program);
  }
  for (int device = 0; device < driver_.numDevices(); ++device) {
    kernels_.push_back(std::make_unique<DeviceKernels>());
    kernels_.back()->kernels.resize(image_.kernels.size(), nullptr);
  }
  if (!image_.constants.empty()) {
    ISTHMUS_ASSIGN_OR_RETURN(constants_, driver_.allocate(0, image_.constants.size()));
    ISTHMUS_RETURN_IF_ERROR(
        driver_.copyFromHost(0, constants_, image_.constants.data(), image_.constants.size()));
  }
  return {};
}

OpenclExecutable::~OpenclExecutable() {
  for (const std::unique_ptr<DeviceKernels>& device : kernels_) {
    for (cl_kernel kernel : device->kernels) {
      if (kernel) driver_.library().ReleaseKernel(kernel);
    }
  }
  driver_.free(constants_);
}

Status OpenclExecutable::launch(int device, int kernel, const std::vector<void*>& buffers) const {
  const codegen::KernelInfo& info = image_.kernels[kernel];
  DeviceKernels& own = *kernels_[device];
  std::lock_guard lock(own.mutex);
  cl_kernel& object = own.kernels[kernel];
  if (!object) {
    ISTHMUS_ASSIGN_OR_RETURN(object, driver_.createKernel(*program_, info.name));
  }
  for (unsigned i = 0; i < buffers.size(); ++i) {
    ISTHMUS_RETURN_IF_ERROR(driver_.setPointer(object, i, buffers[i]));
  }
  GroupShape shape = groupShape(info.items, driver_.facts(device));
  return check(driver_.library().EnqueueNDRangeKernel(driver_.queue(device), object, 3, nullptr,
                                                      shape.global.data(), shape.local.data(), 0,
                                                      nullptr, nullptr),
               "clEnqueueNDRangeKernel");
}

Status OpenclExecutable::run(const RunRequest& request) const {
  if (request.parameters.size() != image_.info.parameters.size() ||
      request.results.size() != image_.info.outputs.size()) {
    return internalError("program ", image_.info.name, " was given ", request.parameters.size(),
                         " parameters and ", request.results.size(), " results, expected ",
                         image_.info.parameters.size(), " and ", image_.info.outputs.size());
  }
  trace::Scope scope("run", image_.info.name);
  return Run(*this, request).run();
}

}  // namespace isthmus::opencl

#include "backends/opencl/executable.h"

#include <algorithm>
#include <bit>

#include "backends/cpu/kernels/scratch.h"
#include "backends/cpu/staging/step_runner.h"
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
class OpenclExecutable::Run final : public cpu::StepRunner {
 public:
  Run(const OpenclExecutable& executable, const RunRequest& request)
      : StepRunner(request, *executable.hostFunctions_),
        executable_(executable),
        image_(executable.image_),
        driver_(executable.driver_) {}
  ~Run() override { driver_.free(arena_); }

  Status run() {
    if (image_.scratchBytes > 0) {
      StatusOr<void*> arena =
          driver_.allocate(request().deviceId, static_cast<size_t>(image_.scratchBytes));
      if (!arena.ok()) return arena.status().withContext("program " + image_.info.name + ": arena");
      arena_ = *arena;
    }
    Status status = runSteps(image_.steps);
    // Even after an error: what was enqueued uses the buffers.
    Status finished = finish();
    return status.ok() ? finished.withContext("program " + image_.info.name) : status;
  }

 private:
  void* addressOf(const Location& place) const override {
    return isthmus::addressOf(
        place, image_, {request().parameters, request().results, executable_.constants_, arena_});
  }
  Status copy(void* to, const void* from, int64_t bytes) override {
    return driver_.enqueueCopy(request().deviceId, to, from, static_cast<size_t>(bytes));
  }
  Status finish() override { return driver_.finish(request().deviceId); }
  Status launch(const KernelLaunch& launch, const std::vector<void*>& buffers) override {
    return executable_.launch(request().deviceId, launch.kernel, buffers)
        .withContext(image_.kernels[launch.kernel].description);
  }
  Status callLibrary(const LibraryCall&) override {
    return internalError("OpenCL has no library to call");
  }
  Status swap(void* a, void* b, int64_t bytes) override;

  const OpenclExecutable& executable_;
  const ProgramImage& image_;
  Driver& driver_;
  void* arena_ = nullptr;
};

// Waits: the third place is in host memory.
Status OpenclExecutable::Run::swap(void* a, void* b, int64_t bytes) {
  cpu::Scratch<char> kept(*request().services, bytes);
  if (!kept) return resourceExhausted("no host memory for ", bytes, " bytes");
  const auto size = static_cast<size_t>(bytes);
  ISTHMUS_RETURN_IF_ERROR(driver_.enqueueCopy(request().deviceId, kept.data(), a, size, true));
  ISTHMUS_RETURN_IF_ERROR(copy(a, b, bytes));
  return driver_.enqueueCopy(request().deviceId, b, kept.data(), size, true);
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

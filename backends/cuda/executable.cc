#include "backends/cuda/executable.h"

#include <algorithm>

#include "backends/cpu/kernels/scratch.h"
#include "isthmus/flags.h"
#include "isthmus/trace.h"

namespace isthmus::cuda {
namespace {

// Kernels that an error after a fault names one by one.
constexpr size_t kNamedKernels = 8;

bool canBeRecorded(const std::vector<Step>& steps) {
  return std::all_of(steps.begin(), steps.end(), [](const Step& step) {
    if (const Move* move = std::get_if<Move>(&step.what)) return !move->isSwap;
    return std::holds_alternative<KernelLaunch>(step.what) ||
           std::holds_alternative<LibraryCall>(step.what);
  });
}

// Whether one run is over: not before its event is known.
class RunMark {
 public:
  // Null: it is over.
  void endsWith(const DeviceEventRef& event) {
    std::lock_guard lock(mutex_);
    hasEnd_ = true;
    event_ = event;
  }
  bool isOver() {
    std::lock_guard lock(mutex_);
    if (!hasEnd_) return false;
    // An event that nobody holds any more has happened.
    DeviceEventRef event = event_.lock();
    return !event || static_cast<const CudaEvent&>(*event).hasHappened();
  }

 private:
  std::mutex mutex_;
  bool hasEnd_ = false;
  std::weak_ptr<const isthmus::DeviceEvent> event_;
};

}  // namespace

// One run of the program: where everything is, and the steps in order.
class CudaExecutable::Run {
 public:
  Run(const CudaExecutable& executable, const RunRequest& request)
      : executable_(executable),
        image_(executable.image_),
        driver_(executable.driver_),
        device_(request.deviceId),
        request_(request) {}

  Status enqueue();

 private:
  const OnDevice& own() const { return executable_.devices_[device_]; }
  void* addressOf(const Location& place) const {
    return isthmus::addressOf(
        place, image_, {request_.parameters, request_.results, own().constants, request_.scratch});
  }
  Status runSteps(const std::vector<Step>& steps);
  Status runStep(const KernelLaunch& launch);
  Status runStep(const HostCall& call);
  Status runStep(const LibraryCall& call);
  Status runStep(const Move& move);
  Status runStep(const Loop& loop);
  Status runStep(const Branch& branch);
  // Waits for what was enqueued before.
  Status read(const Location& from, void* to) {
    ISTHMUS_RETURN_IF_ERROR(copy(to, addressOf(from), from.bytes));
    return executable_.finish(device_);
  }
  Status copy(void* to, const void* from, int64_t bytes) {
    return driver_.copy(device_, queue_, to, from, static_cast<size_t>(bytes));
  }

  const CudaExecutable& executable_;
  const ProgramImage& image_;
  Driver& driver_;
  int device_;
  const RunRequest& request_;
  Queue queue_ = Queue::kCompute;  // where steps are enqueued
};

Status CudaExecutable::Run::enqueue() {
  if (!executable_.usesGraphs_) return runSteps(image_.steps);
  GraphCache::Addresses addresses(request_.parameters.begin(), request_.parameters.end());
  addresses.insert(addresses.end(), request_.results.begin(), request_.results.end());
  addresses.push_back(request_.scratch);
  return own().graphs->run(addresses, [this](Queue queue) {
    queue_ = queue;
    return runSteps(image_.steps);
  });
}

Status CudaExecutable::Run::runSteps(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    ISTHMUS_RETURN_IF_ERROR(
        std::visit([this](const auto& what) { return runStep(what); }, step.what));
  }
  return {};
}

Status CudaExecutable::Run::runStep(const KernelLaunch& launch) {
  std::vector<void*> buffers;
  for (const Location& place : launch.buffers) buffers.push_back(addressOf(place));
  const LaunchShape& shape = image_.shapes[launch.kernel];
  return driver_
      .launch(device_, queue_, own().kernels[launch.kernel], shape.blocks, shape.threads, buffers)
      .withContext(image_.kernels[launch.kernel].description);
}

Status CudaExecutable::Run::runStep(const HostCall& call) {
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
    ISTHMUS_RETURN_IF_ERROR(copy(buffers[i], addressOf(call.inputs[i]), call.inputs[i].bytes));
  }
  ISTHMUS_RETURN_IF_ERROR(executable_.finish(device_));
  ISTHMUS_RETURN_IF_ERROR(executable_.hostFunctions_->call(call.function, request_, buffers));
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    ISTHMUS_RETURN_IF_ERROR(
        copy(addressOf(call.outputs[i]), buffers[call.inputs.size() + i], call.outputs[i].bytes));
  }
  // The staging memory goes.
  return executable_.finish(device_);
}

Status CudaExecutable::Run::runStep(const LibraryCall& call) {
  // lhs, rhs, result, workspace.
  return executable_.blas_->multiply(device_, queue_, *own().products[call.call],
                                     addressOf(call.buffers[0]), addressOf(call.buffers[1]),
                                     addressOf(call.buffers[2]), addressOf(call.buffers[3]));
}

Status CudaExecutable::Run::runStep(const Move& move) {
  void* to = addressOf(move.to);
  void* from = addressOf(move.from);
  if (!move.isSwap) return copy(to, from, move.to.bytes);
  ISTHMUS_ASSIGN_OR_RETURN(
      void* kept, driver_.allocate(device_, Queue::kCompute, static_cast<size_t>(move.to.bytes)));
  Status status = copy(kept, to, move.to.bytes);
  if (status.ok()) status = copy(to, from, move.to.bytes);
  if (status.ok()) status = copy(from, kept, move.to.bytes);
  driver_.free(device_, Queue::kCompute, kept);
  return status;
}

Status CudaExecutable::Run::runStep(const Loop& loop) {
  while (true) {
    ISTHMUS_RETURN_IF_ERROR(runSteps(loop.condition));
    uint8_t predicate = 0;
    ISTHMUS_RETURN_IF_ERROR(read(loop.predicate, &predicate));
    if (!predicate) return {};
    ISTHMUS_RETURN_IF_ERROR(runSteps(loop.body));
  }
}

Status CudaExecutable::Run::runStep(const Branch& branch) {
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

StatusOr<std::shared_ptr<const Executable>> CudaExecutable::load(Driver& driver, Blas* blas,
                                                                 ProgramImage image) {
  if (!blas && !image.products.empty()) {
    return internalError("program ", image.info.name, " calls cuBLASLt, which is not loaded");
  }
  std::shared_ptr<CudaExecutable> executable(new CudaExecutable(driver, blas, std::move(image)));
  ISTHMUS_ASSIGN_OR_RETURN(executable->hostFunctions_,
                           cpu::HostFunctions::load(executable->image_.host));
  executable->isStraight_ = canBeRecorded(executable->image_.steps);
  executable->usesGraphs_ = executable->isStraight_ && flagBool("ISTHMUS_CUDA_GRAPHS");
  executable->faultText_ = std::make_shared<const std::string>(executable->faultText());
  executable->devices_.resize(driver.numDevices());
  for (int device = 0; device < driver.numDevices(); ++device) {
    StatusOr<OnDevice> loaded = executable->loadOn(device);
    if (!loaded.ok()) {
      return loaded.status().withContext("program " + executable->image_.info.name);
    }
    executable->devices_[device] = std::move(*loaded);
  }
  return std::shared_ptr<const Executable>(std::move(executable));
}

StatusOr<CudaExecutable::OnDevice> CudaExecutable::loadOn(int device) {
  OnDevice own;
  own.graphs = std::make_unique<GraphCache>(driver_, device);
  if (!image_.ptx.empty()) {
    ISTHMUS_ASSIGN_OR_RETURN(own.module, driver_.loadModule(device, image_.ptx));
    for (const codegen::KernelInfo& kernel : image_.kernels) {
      ISTHMUS_ASSIGN_OR_RETURN(CUfunction function,
                               driver_.findKernel(*own.module, device, kernel.name));
      own.kernels.push_back(function);
    }
  }
  for (const BlasProduct& product : image_.products) {
    ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<const BlasPlan> plan, blas_->plan(device, product));
    own.products.push_back(std::move(plan));
  }
  if (!image_.constants.empty()) {
    ISTHMUS_ASSIGN_OR_RETURN(own.constants,
                             driver_.allocate(device, Queue::kTransfer, image_.constants.size()));
    ISTHMUS_RETURN_IF_ERROR(driver_.copy(device, Queue::kTransfer, own.constants,
                                         image_.constants.data(), image_.constants.size()));
    ISTHMUS_RETURN_IF_ERROR(driver_.synchronize(device, Queue::kTransfer));
  }
  return own;
}

CudaExecutable::~CudaExecutable() {
  for (size_t device = 0; device < devices_.size(); ++device) {
    driver_.free(static_cast<int>(device), Queue::kTransfer, devices_[device].constants);
  }
}

std::string CudaExecutable::faultText() const {
  std::string kernels;
  for (size_t i = 0; i < std::min(image_.kernels.size(), kNamedKernels); ++i) {
    const codegen::KernelInfo& kernel = image_.kernels[i];
    kernels += (i ? ", " : "") + kernel.name + " (" + kernel.description + ")";
  }
  if (image_.kernels.size() > kNamedKernels) {
    kernels += " and " + std::to_string(image_.kernels.size() - kNamedKernels) + " more";
  }
  return "program " + image_.info.name + " with " + kernels;
}

Status CudaExecutable::finish(int device) const {
  ISTHMUS_ASSIGN_OR_RETURN(DeviceEventRef done, recordEvent(driver_, device, Queue::kCompute));
  return done->await();
}

StatusOr<DeviceEventRef> CudaExecutable::enqueue(const RunRequest& request,
                                                 DeviceEvents after) const {
  if (request.parameters.size() != image_.info.parameters.size() ||
      request.results.size() != image_.info.outputs.size()) {
    return internalError("program ", image_.info.name, " was given ", request.parameters.size(),
                         " parameters and ", request.results.size(), " results, expected ",
                         image_.info.parameters.size(), " and ", image_.info.outputs.size());
  }
  trace::Scope scope("run", image_.info.name);
  int device = request.deviceId;
  auto mark = std::make_shared<RunMark>();
  // Before anything is enqueued: another thread may be the first to see a fault of it.
  driver_.setUnderWay(device, faultText_, [mark] { return mark->isOver(); });
  Status status = waitFor(driver_, device, Queue::kCompute, after);
  if (status.ok()) status = Run(*this, request).enqueue();
  StatusOr<DeviceEventRef> done =
      status.ok() ? recordEvent(driver_, device, Queue::kCompute) : status;
  if (done.ok()) {
    mark->endsWith(*done);
    return done;
  }
  // What was enqueued uses the request.
  Status finished = finish(device);
  Status error = finished.ok() ? done.status() : driver_.setLost(device, finished);
  mark->endsWith(nullptr);
  return error.withContext("program " + image_.info.name);
}

}  // namespace isthmus::cuda

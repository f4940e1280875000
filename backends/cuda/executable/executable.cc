#include "backends/cuda/executable/executable.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <span>

#include "backends/cuda/collectives.h"
#include "backends/cuda/executable/serialization.h"
#include "backends/shared/devices/await_each.h"
#include "backends/shared/serialization/cache_key.h"
#include "backends/shared/staging/run_profile.h"
#include "backends/shared/staging/step_runner.h"
#include "base/device_timeout.h"
#include "isthmus/flags.h"
#include "isthmus/trace.h"

namespace isthmus::cuda {
namespace {

// Kernels that an error after a fault names one by one.
constexpr size_t kNamedKernels = 8;

// Launches and copies that a graph may have: each is memory of the driver, and of the device.
constexpr int64_t kMaxRecorded = 4096;
constexpr int64_t kScratchAlignment = 256;

// Of a run whose steps are enqueued without reading what the device computes, and without the host:
// how many launches and copies; kMaxRecorded + 1 for more. Else none.
std::optional<int64_t> countStraight(const std::vector<Step>& steps) {
  int64_t count = 0;
  for (const Step& step : steps) {
    int64_t more = 1;
    if (const Loop* loop = std::get_if<Loop>(&step.what)) {
      std::optional<int64_t> body = countStraight(loop->body);
      if (loop->rounds < 0 || !body) return std::nullopt;
      more = loop->rounds > kMaxRecorded && *body > 0 ? kMaxRecorded + 1 : *body * loop->rounds;
      more += std::ssize(loop->addressSwaps);
    } else if (std::holds_alternative<HostCall>(step.what) ||
               std::holds_alternative<Branch>(step.what)) {
      return std::nullopt;
    }
    count = std::min(count + more, kMaxRecorded + 1);
  }
  return count;
}

// "kernel0 (stablehlo.add at model.py:7:3)".
std::string textOf(const codegen::KernelInfo& kernel) {
  return kernel.name + " (" + kernel.description + ")";
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
class CudaExecutable::Run final : public AddressStepRunner {
 public:
  Run(const CudaExecutable& executable, const OnDevice& own, const RunRequest& request)
      : AddressStepRunner(request, executable.hostFunctions()),
        executable_(executable),
        own_(own),
        image_(executable.image_),
        driver_(executable.driver_),
        device_(request.deviceId),
        collectives_(executable.nccl_, driver_, request) {
    if (trace::isOn()) profile_.emplace(executable.profiledEvents(), device_);
  }

  Status enqueue();
  // As a graph: false if there is none yet, and the steps were enqueued.
  StatusOr<bool> enqueueGraph();
  bool isProfiled() const { return profile_.has_value(); }
  // Waits for the end of the run, and hands over its profile.
  Status recordProfile();
  // Whether what was enqueued is not over in time, where work is timed; waits for it.
  bool isStuck() {
    if (!isLate()) static_cast<void>(settle());
    return isLate();
  }
  using StepRunner::takeMemoryInUse;
  const std::shared_ptr<NcclRun>& collectives() const { return collectives_.run(); }

 private:
  const OnDevice& own() const { return own_; }
  void* ownAddressOf(const Location& place) const override {
    return isthmus::addressOf(
        place, image_,
        {request().parameters, request().results, own().constants, request().scratch});
  }
  Status swap(const Location& a, const Location& b) override;
  Status copyMemory(void* to, const void* from, int64_t bytes) override {
    if (target_) return target_->copy(to, from, static_cast<size_t>(bytes));
    return marked(
        [] { return std::string("a copy"); },
        [&] { return driver_.copy(device_, queue_, to, from, static_cast<size_t>(bytes)); });
  }
  StatusOr<UnderWay> underWay() override;
  Status finish() override {
    ISTHMUS_RETURN_IF_ERROR(executable_.finish(device_));
    return collectives() ? collectives()->failure() : Status();
  }
  Status launch(const KernelLaunch& launch) override;
  Status callLibrary(const LibraryCall& call) override;
  StatusOr<bool> callOnDevice(const HostCall& call) override;
  std::shared_ptr<void> valueMemory() override;
  void onHostCall(const HostCall& step, int64_t beginNs, int64_t endNs) override {
    if (profile_) profile_->addHostCall(step.profileStep, beginNs, endNs);
  }
  // Enqueues what a fault is to be told of as `what()`, if work is marked.
  template <typename What, typename Enqueue>
  Status marked(const What& what, const Enqueue& enqueue) {
    if (!driver_.marksWork()) return enqueue();
    return driver_.enqueueMarked(device_, what() + executable_.ofProgram(), enqueue);
  }
  // Enqueues what is one step in a profile, between two events if one is recorded.
  Status timed(int32_t step, bool continuesOperation, const std::function<Status()>& enqueue);
  // The times of steps that are over: of at least the oldest `count`, which are waited for.
  Status noteTimes(size_t count);

  // Steps whose times nobody has asked for; more are waited for.
  static constexpr size_t kMaxTimed = 1024;
  struct TimedStep {
    int32_t step = -1;
    bool continuesOperation = false;
    DeviceEvent begin, end;
  };

  const CudaExecutable& executable_;
  const OnDevice& own_;
  const ProgramImage& image_;
  Driver& driver_;
  int device_;
  Queue queue_ = Queue::kCompute;             // where steps are enqueued
  ProgramGraph::Target* target_ = nullptr;    // if there is one, instead
  std::shared_ptr<PinnedPool::Block> value_;  // valueMemory, once it is asked for
  RunCollectives collectives_;
  std::optional<RunProfile> profile_;  // if one is recorded
  DeviceEventRef before_;              // all that came before the run, if it is timed
  DeviceEvent start_;                  // of the first step
  std::deque<TimedStep> timed_;        // whose times are not known yet
};

Status CudaExecutable::Run::timed(int32_t step, bool continuesOperation,
                                  const std::function<Status()>& enqueue) {
  if (!profile_) return enqueue();
  TimedStep one{step, continuesOperation, {}, {}};
  if (!start_) {
    ISTHMUS_ASSIGN_OR_RETURN(start_, driver_.recordTimed(device_, queue_));
  }
  ISTHMUS_ASSIGN_OR_RETURN(one.begin, driver_.recordTimed(device_, queue_));
  ISTHMUS_RETURN_IF_ERROR(enqueue());
  ISTHMUS_ASSIGN_OR_RETURN(one.end, driver_.recordTimed(device_, queue_));
  timed_.push_back(std::move(one));
  return timed_.size() < kMaxTimed ? Status() : noteTimes(kMaxTimed / 2);
}

Status CudaExecutable::Run::noteTimes(size_t count) {
  ISTHMUS_RETURN_IF_ERROR(settle());
  for (; count > 0 && !timed_.empty(); --count) {
    const TimedStep& one = timed_.front();
    ISTHMUS_RETURN_IF_ERROR(driver_.await(device_, one.end));
    ISTHMUS_ASSIGN_OR_RETURN(int64_t begin, driver_.elapsedNs(device_, start_, one.begin));
    ISTHMUS_ASSIGN_OR_RETURN(int64_t taken, driver_.elapsedNs(device_, one.begin, one.end));
    profile_->addCommand(one.step, one.continuesOperation, begin, begin + taken);
    timed_.pop_front();
  }
  return {};
}

StatusOr<StepRunner::UnderWay> CudaExecutable::Run::underWay() {
  ISTHMUS_ASSIGN_OR_RETURN(DeviceEventRef now, recordEvent(driver_, device_, Queue::kCompute));
  UnderWay work;
  auto isOver = [](const DeviceEventRef& event) { return [event] { return event->isReady(); }; };
  if (before_) work.before.push_back(isOver(before_));
  work.own.push_back(isOver(now));
  return work;
}

Status CudaExecutable::Run::recordProfile() {
  ISTHMUS_RETURN_IF_ERROR(settle());
  ISTHMUS_RETURN_IF_ERROR(finish());
  ISTHMUS_RETURN_IF_ERROR(noteTimes(timed_.size()));
  profile_->record();
  return {};
}

Status CudaExecutable::Run::enqueue() {
  if (hasDeviceTimeout()) {
    ISTHMUS_ASSIGN_OR_RETURN(before_, recordEvent(driver_, device_, Queue::kCompute));
  }
  // Steps of a graph have no times of their own.
  if (!executable_.usesGraphs_ || !own().recordsCalls || profile_) return runSteps(image_.steps);
  return own().choice->run([this] { return runSteps(image_.steps); },
                           [this] { return enqueueGraph(); });
}

StatusOr<bool> CudaExecutable::Run::enqueueGraph() {
  if (image_.calls.empty()) {
    const int64_t before = own().graph->replays();
    ISTHMUS_RETURN_IF_ERROR(own().graph->run([this](ProgramGraph::Target& target) {
      target_ = &target;
      return runSteps(image_.steps);
    }));
    return own().graph->replays() > before;
  }
  const int64_t before = own().graphs->replays();
  // What a library enqueues can be recorded, but not brought to other addresses.
  GraphCache::Addresses addresses(request().parameters.begin(), request().parameters.end());
  addresses.insert(addresses.end(), request().results.begin(), request().results.end());
  addresses.push_back(request().scratch);
  ISTHMUS_RETURN_IF_ERROR(own().graphs->run(addresses, [this](Queue queue) {
    queue_ = queue;
    return runSteps(image_.steps);
  }));
  return own().graphs->replays() > before;
}

Status CudaExecutable::Run::launch(const KernelLaunch& launch) {
  const std::vector<void*> buffers = addressesOf(launch.buffers);
  const LaunchShape& shape = image_.shapes[launch.kernel];
  const codegen::KernelInfo& kernel = image_.kernels[launch.kernel];
  if (target_) {
    return target_->launch(own().kernels[launch.kernel], shape.blocks, shape.threads, buffers)
        .withContext(kernel.description);
  }
  return timed(launch.profileStep, launch.continuesOperation, [&] {
    return marked([&] { return textOf(kernel); },
                  [&] {
                    return driver_.launch(device_, queue_, own().kernels[launch.kernel],
                                          shape.blocks, shape.threads, buffers);
                  })
        .withContext(kernel.description);
  });
}

Status CudaExecutable::Run::callLibrary(const LibraryCall& call) {
  const LibraryPlan& plan = own().calls[call.call];
  const std::vector<void*> buffers = addressesOf(call.buffers);
  const std::string& description = image_.calls[call.call].description;
  auto enqueue = [&]() -> Status {
    const size_t last = buffers.size() - 1;
    void* scratch = buffers[last];
    if (plan.dnn) {
      return executable_.dnn_->run(device_, queue_, *plan.dnn, std::span(buffers).first(last),
                                   scratch);
    }
    const void* bias = last > 3 ? buffers[2] : nullptr;
    return executable_.blas_->multiply(device_, queue_, *plan.product, buffers[0], buffers[1], bias,
                                       buffers[last - 1], scratch);
  };
  auto what = [&] { return (plan.dnn ? "cuDNN (" : "cuBLASLt (") + description + ")"; };
  Status status = timed(call.profileStep, false, [&] { return marked(what, enqueue); });
  return status.withContext(description);
}

StatusOr<bool> CudaExecutable::Run::callOnDevice(const HostCall& call) {
  const HostFunction& function = image_.host.functions[static_cast<size_t>(call.function)];
  if (!RunCollectives::isCollective(function)) return false;
  const std::vector<void*> inputs = addressesOf(call.inputs);
  const std::vector<void*> outputs = addressesOf(call.outputs);
  // One that the host carries out takes no time here, and is noted by it.
  bool isEnqueued = false;
  ISTHMUS_RETURN_IF_ERROR(timed(call.profileStep, false, [&]() -> Status {
    if (driver_.marksWork()) {
      // Not as one with what is enqueued, which waits until other devices have come as far. Nobody
      // else launches on the device meanwhile.
      ISTHMUS_RETURN_IF_ERROR(driver_.mark(
          device_, "a collective (" + function.description + ")" + executable_.ofProgram()));
    }
    ISTHMUS_ASSIGN_OR_RETURN(isEnqueued, collectives_.enqueue(function, inputs, outputs));
    return {};
  }));
  if (!isEnqueued && profile_ && !timed_.empty()) timed_.pop_back();
  return isEnqueued;
}

// A copy to other memory than page-locked one goes through the driver's, and holds up the thread.
std::shared_ptr<void> CudaExecutable::Run::valueMemory() {
  if (!value_) {
    auto block = executable_.pinned_.take(kValueBytes);
    if (!block.ok()) return nullptr;
    value_ = std::make_shared<PinnedPool::Block>(*std::move(block));
  }
  return {value_, value_->data()};
}

Status CudaExecutable::Run::swap(const Location& a, const Location& b) {
  void* kept = static_cast<char*>(request().scratch) + executable_.swapOffset_;
  ISTHMUS_RETURN_IF_ERROR(copyMemory(kept, addressOf(a), a.bytes));
  ISTHMUS_RETURN_IF_ERROR(copy(a, b));
  return copyMemory(addressOf(b), kept, b.bytes);
}

StatusOr<std::shared_ptr<const Executable>> CudaExecutable::load(const Libraries& libraries,
                                                                 std::string identity,
                                                                 ProgramImage image) {
  Driver& driver = *libraries.driver;
  std::shared_ptr<CudaExecutable> executable(
      new CudaExecutable(libraries, std::move(identity), std::move(image)));
  ISTHMUS_RETURN_IF_ERROR(executable->loadHostFunctions(&linkedHostFunctions()));
  // Programs that call the user's code are not launched in the same order on all devices.
  if (executable->image_.host.callsUserCode) executable->nccl_ = nullptr;
  executable->planRuns();
  executable->faultText_ = std::make_shared<const WorkText>(executable->faultText());
  executable->devices_.resize(static_cast<size_t>(driver.numDevices()));
  Status failure;
  bool isLoaded = false;
  for (int device = 0; device < driver.numDevices(); ++device) {
    const Status status = executable->on(device).status();
    isLoaded |= status.ok();
    if (failure.ok()) failure = status;
    const bool isTheDevices = status.code() == StatusCode::kUnavailable ||
                              status.code() == StatusCode::kResourceExhausted;
    if (!status.ok() && !isTheDevices) return status;
  }
  if (!isLoaded) return failure;
  return std::shared_ptr<const Executable>(std::move(executable));
}

StatusOr<const CudaExecutable::OnDevice*> CudaExecutable::on(int device) const {
  std::lock_guard lock(mutex_);
  std::unique_ptr<OnDevice>& own = devices_[static_cast<size_t>(device)];
  if (own) return static_cast<const OnDevice*>(own.get());
  auto made = std::make_unique<OnDevice>(driver_, device);
  Status status = loadOn(device, *made);
  if (!status.ok()) return status.withContext("program " + image_.info.name);
  own = std::move(made);
  return static_cast<const OnDevice*>(own.get());
}

void CudaExecutable::planRuns() {
  std::optional<int64_t> count = countStraight(image_.steps);
  isStraight_ = count.has_value();
  isShort_ = isStraight_ && *count <= kMaxRecorded;
  usesGraphs_ = isShort_ && flagBool("ISTHMUS_CUDA_GRAPHS") && !driver_.marksWork();
  usedScratchBytes_ = image_.scratchBytes;
  if (int64_t swapped = swappedBytes(image_.steps); swapped > 0) {
    swapOffset_ =
        (image_.scratchBytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
    usedScratchBytes_ = swapOffset_ + swapped;
  }
}

Status CudaExecutable::loadOn(int device, OnDevice& own) const {
  own.graphs = std::make_unique<GraphCache>(driver_, device);
  own.graph = std::make_unique<ProgramGraph>(driver_, device);
  own.choice = std::make_unique<LaunchChoice>(driver_, device);
  if (!image_.ptx.empty()) {
    ISTHMUS_ASSIGN_OR_RETURN(own.module, driver_.loadModule(device, image_.ptx));
    for (const codegen::KernelInfo& kernel : image_.kernels) {
      ISTHMUS_ASSIGN_OR_RETURN(CUfunction function,
                               driver_.findKernel(*own.module, device, kernel.name));
      own.kernels.push_back(function);
    }
  }
  for (const LibraryWork& work : image_.calls) {
    StatusOr<LibraryPlan> plan = planOn(device, work);
    if (!plan.ok()) return plan.status().withContext(work.description);
    own.recordsCalls &= !plan->dnn || Dnn::mayBeRecorded(*plan->dnn);
    own.calls.push_back(*std::move(plan));
  }
  if (!image_.constants.empty()) {
    ISTHMUS_ASSIGN_OR_RETURN(own.counted,
                             ProgramMemory::of(linkedBackend(), device)
                                 .add(image_.constants.size(), "constants of " + image_.info.name));
    // On the stream on which nothing waits: copies may be behind a program that does not end.
    ISTHMUS_ASSIGN_OR_RETURN(own.constants,
                             driver_.allocate(device, Queue::kAllocate, image_.constants.size()));
    ISTHMUS_RETURN_IF_ERROR(
        copyInTime("the copy of constants of " + image_.info.name, device, image_.constants,
                   [&](const char* from) -> StatusOr<DeviceEventRef> {
                     ISTHMUS_RETURN_IF_ERROR(driver_.copy(device, Queue::kAllocate, own.constants,
                                                          from, image_.constants.size()));
                     return recordEvent(driver_, device, Queue::kAllocate);
                   }));
  }
  return {};
}

StatusOr<CudaExecutable::LibraryPlan> CudaExecutable::planOn(int device,
                                                             const LibraryWork& work) const {
  LibraryPlan plan;
  if (const auto* product = std::get_if<BlasProduct>(&work.what)) {
    if (!blas_) return internalError("cuBLASLt is not loaded");
    ISTHMUS_ASSIGN_OR_RETURN(plan.product, blas_->tunedPlan(device, *product));
  } else {
    if (!dnn_) return internalError("cuDNN is not loaded");
    const auto* convolution = std::get_if<DnnConvolution>(&work.what);
    const DnnWork what = convolution ? DnnWork(*convolution) : std::get<DnnAttention>(work.what);
    // As the compiler asks, so that what was timed for it is not timed again.
    auto asCompiled = dnn_->plan(device, what, flagInt("ISTHMUS_CUDA_DNN_BYTES"));
    const bool fits = asCompiled.ok() && Dnn::scratchBytes(**asCompiled) <= work.scratchBytes;
    if (!fits) asCompiled = dnn_->plan(device, what, work.scratchBytes);
    ISTHMUS_ASSIGN_OR_RETURN(plan.dnn, std::move(asCompiled));
  }
  return plan;
}

WorkText CudaExecutable::faultText() const {
  const std::string program = "program " + image_.info.name;
  auto list = [&](size_t count, const char* between) {
    std::string kernels;
    for (size_t i = 0; i < count; ++i) {
      kernels += (i ? between : "") + textOf(image_.kernels[i]);
    }
    return kernels;
  };
  const size_t count = image_.kernels.size();
  if (count <= kNamedKernels) return {program + " with " + list(count, ", "), {}};
  return {program + " with " + list(kNamedKernels, ", ") + " and " +
              std::to_string(count - kNamedKernels) + " more",
          program + ":\n  " + list(count, "\n  ")};
}

StatusOr<std::string> CudaExecutable::serialize() const {
  ISTHMUS_ASSIGN_OR_RETURN(std::string key, cacheKey());
  return serializeImage(image_, identity_, key);
}

Status CudaExecutable::finish(int device) const {
  StatusOr<DeviceEventRef> done = recordEvent(driver_, device, Queue::kCompute);
  Status status = done.ok() ? (*done)->await() : done.status();
  if (status.ok() || driver_.isLost(device)) return status;
  // That says nothing of what was enqueued.
  return driver_.synchronize(device, Queue::kCompute);
}

StatusOr<DeviceEventRef> CudaExecutable::enqueue(const RunRequest& request,
                                                 DeviceEvents after) const {
  ISTHMUS_RETURN_IF_ERROR(checkCounts(request));
  trace::Scope scope("run", image_.info.name);
  int device = request.deviceId;
  ISTHMUS_ASSIGN_OR_RETURN(const OnDevice* own, on(device));
  auto mark = std::make_shared<RunMark>();
  // Before anything is enqueued: another thread may be the first to see a fault of it.
  driver_.setUnderWay(device, faultText_, [mark] { return mark->isOver(); });
  Status status = waitFor(driver_, device, Queue::kCompute, after);
  RunRequest withScratch = request;
  ScratchArena::Lease scratch;
  if (status.ok() && isStraight_ && usedScratchBytes_ > 0) {
    StatusOr<ScratchArena::Lease> taken = arenas_[static_cast<size_t>(device)]->take(
        static_cast<size_t>(usedScratchBytes_), image_.info.name);
    if (taken.ok()) {
      scratch = std::move(*taken);
      withScratch.scratch = scratch.data();
    }
    status = taken.status();
  }
  Run run(*this, *own, withScratch);
  if (status.ok()) status = run.enqueue();
  // What comes behind is not this program's.
  if (driver_.marksWork()) {
    const Status marked = driver_.mark(device, "");
    if (status.ok()) status = marked;
  }
  if (status.ok() && run.isProfiled()) status = run.recordProfile();
  if (!status.ok() && run.isStuck()) {
    status = status.withContext("program " + image_.info.name);
    ISTHMUS_ASSIGN_OR_RETURN(DeviceEventRef end, recordEvent(driver_, device, Queue::kCompute,
                                                             {run.collectives(), status, faultText_,
                                                              run.takeMemoryInUse()}));
    mark->endsWith(end);
    return end;
  }
  StatusOr<DeviceEventRef> done = status.ok() ? recordEvent(driver_, device, Queue::kCompute,
                                                            {run.collectives(), {}, faultText_})
                                              : status;
  if (done.ok()) {
    mark->endsWith(*done);
    return done;
  }
  // What was enqueued uses the request.
  Status finished = finish(device);
  Status error = driver_.isLost(device) ? finished : done.status();
  mark->endsWith(nullptr);
  return error.withContext("program " + image_.info.name);
}

}  // namespace isthmus::cuda

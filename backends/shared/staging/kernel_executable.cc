#include "backends/shared/staging/kernel_executable.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "backends/shared/collectives/device_collectives.h"
#include "backends/shared/devices/await_each.h"
#include "backends/shared/staging/run_profile.h"
#include "backends/shared/staging/step_runner.h"
#include "base/described_event.h"
#include "isthmus/run_services.h"
#include "isthmus/trace.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus {
namespace {

constexpr const char* kMemoryKind = "device";
// Events of a run that are kept; those that are over go when there are more.
constexpr size_t kManyEvents = 256;

constexpr std::string_view kCopyText = "a copy";
constexpr std::string_view kConstantsText = "the copy of its constants";
constexpr std::string_view kBeforeText = "what the program waits for";
constexpr std::string_view kCollectiveText = "a collective";

// The event of a step, with what the step is.
struct StepEvent {
  DeviceEventRef event;
  std::string_view what;

  bool isReady() const { return event->isReady(); }
  Status await() const { return event->await(); }
};

// The end of a run: a device need not pass on the errors of what its work waits for.
class RunEnd final : public DescribedEvent {
 public:
  // The error is the first of these events, else `failure` if that is none. `kept` are texts of
  // events, and memory that their work uses.
  RunEnd(std::vector<StepEvent> events, std::vector<std::shared_ptr<const void>> kept,
         Status failure = {})
      : events_(std::move(events)), kept_(std::move(kept)), failure_(std::move(failure)) {}
  bool isReady() const override {
    return std::all_of(events_.rbegin(), events_.rend(),
                       [](const StepEvent& step) { return step.isReady(); });
  }
  Status await() const override {
    Status status = awaitEach(events_);
    return status.ok() ? failure_ : status;
  }
  std::string underWay() const override {
    auto found = std::ranges::find_if(events_, [](const auto& step) { return !step.isReady(); });
    return found == events_.end() ? std::string() : std::string(found->what);
  }

 private:
  const std::vector<StepEvent> events_;
  const std::vector<std::shared_ptr<const void>> kept_;
  const Status failure_;
};

// Memory of a device, by its queue or without one.
class DeviceBlocks {
 public:
  DeviceBlocks(Backend& backend, int device)
      : backend_(backend), queue_(backend.queue(device)), device_(device) {}

  DeviceQueue* queue() const { return queue_; }
  StatusOr<DeviceQueue::Block> allocate(size_t bytes) const {
    if (queue_) return queue_->allocate(kMemoryKind, bytes);
    ISTHMUS_ASSIGN_OR_RETURN(void* data, backend_.allocate(device_, kMemoryKind, bytes));
    return DeviceQueue::Block{data, nullptr};
  }
  void release(void* data, size_t bytes, DeviceEvents after) const {
    if (queue_) return queue_->release(kMemoryKind, data, bytes, after);
    backend_.deallocate(device_, kMemoryKind, data, bytes);
  }
  StatusOr<DeviceEventRef> put(DevicePlace to, const void* from, size_t bytes,
                               DeviceEvents after) const {
    if (queue_) return queue_->copyFromHost(to.block, to.offset, from, bytes, after);
    ISTHMUS_RETURN_IF_ERROR(backend_.copyFromHost(device_, to.block, to.offset, from, bytes));
    return DeviceEventRef();
  }
  StatusOr<DeviceEventRef> fetch(void* to, DevicePlace from, size_t bytes,
                                 DeviceEvents after) const {
    if (queue_) return queue_->copyToHost(from.block, from.offset, to, bytes, after);
    ISTHMUS_RETURN_IF_ERROR(backend_.copyToHost(device_, from.block, from.offset, to, bytes));
    return DeviceEventRef();
  }

 private:
  Backend& backend_;
  DeviceQueue* queue_;
  int device_;
};

DevicePlace at(DevicePlace place, int64_t bytes) {
  return {place.block, place.offset + static_cast<size_t>(bytes)};
}

}  // namespace

// One run: each step after the one before.
class KernelExecutable::Run final : public StepRunner {
 public:
  Run(const KernelExecutable& executable, const RunRequest& request, void* scratch,
      ConstantsOnDevice constants, DeviceEvents after)
      : StepRunner(request, executable.hostFunctions()),
        executable_(executable),
        memory_(executable.backend_, request.deviceId),
        scratch_(scratch),
        constants_(std::move(constants)),
        last_(after.begin(), after.end()),
        before_(last_) {
    if (constants_.copied) last_.push_back(constants_.copied);
    if (trace::isOn()) profile_.emplace(executable.profiledEvents(), request.deviceId);
  }

  // Hands all over. If that fails, nothing of it is under way.
  StatusOr<DeviceEventRef> enqueue() {
    Status status = runSteps(executable_.program_.steps);
    // Nor must an error of something else wait for ever.
    if (profile_ || !status.ok()) {
      Status settled = isLate() ? status : settle();
      if (status.ok()) status = std::move(settled);
    }
    if (isLate()) return endOfAll(std::move(status));
    if (!status.ok()) {
      // The first error is this run's; that of what came before is its arguments'.
      if (constants_.copied) static_cast<void>(constants_.copied->await());
      static_cast<void>(awaitEach(events_));
      static_cast<void>(awaitEach(before_));
      return status;
    }
    if (profile_) {
      // However they end: their errors are told by the end of the run.
      static_cast<void>(awaitEach(last_));
      profile_->record();
    }
    // Results may be ready as they are, when what came before is.
    if (events_.empty() || constants_.copied || isTimed()) return endOfAll();
    if (events_.size() == 1) return std::move(events_[0].event);
    return DeviceEventRef(std::make_shared<RunEnd>(std::move(events_), kept()));
  }

 private:
  class Collectives;

  std::vector<std::shared_ptr<const void>> kept() {
    return {executable_.kernelTexts_, takeMemoryInUse()};
  }
  // Of the run and of all that it waits for, in an order in which they may end.
  DeviceEventRef endOfAll(Status failure = {}) {
    std::vector<StepEvent> all;
    if (constants_.copied) all.push_back({constants_.copied, kConstantsText});
    for (const DeviceEventRef& event : before_) all.push_back({event, kBeforeText});
    all.insert(all.end(), events_.begin(), events_.end());
    if (all.empty() && failure.ok()) return nullptr;
    return std::make_shared<RunEnd>(std::move(all), kept(), std::move(failure));
  }
  const DeviceKernels& kernels() const { return *executable_.kernels_; }
  DevicePlace placeOf(const Location& ofStep) const;
  // Notes an event of this run.
  Status note(const DeviceEventRef& event, std::string_view what);
  // Notes the event of a step that waits for `last_`, and that the next one waits for.
  Status follow(StatusOr<DeviceEventRef> event, std::string_view what);
  // Notes the event of a copy that the host waits for.
  Status followStaged(StatusOr<DeviceEventRef> event);
  Status move(DevicePlace to, DevicePlace from, int64_t bytes) {
    if (bytes == 0 || (to.block == from.block && to.offset == from.offset)) return {};
    return follow(kernels().copy(request().deviceId, to, from, static_cast<size_t>(bytes), last_),
                  kCopyText);
  }

  Status copy(const Location& to, const Location& from) override {
    return move(placeOf(to), placeOf(from), to.bytes);
  }
  Status fetch(void* to, const Location& from) override {
    return followStaged(memory_.fetch(to, placeOf(from), static_cast<size_t>(from.bytes), last_));
  }
  Status put(const Location& to, const void* from) override {
    return followStaged(memory_.put(placeOf(to), from, static_cast<size_t>(to.bytes), last_));
  }
  Status swap(const Location& a, const Location& b) override {
    DevicePlace kept{scratch_, executable_.swapOffset_};
    ISTHMUS_RETURN_IF_ERROR(move(kept, placeOf(a), a.bytes));
    ISTHMUS_RETURN_IF_ERROR(move(placeOf(a), placeOf(b), a.bytes));
    return move(placeOf(b), kept, a.bytes);
  }
  StatusOr<UnderWay> underWay() override {
    UnderWay work;
    auto isOver = [](const DeviceEventRef& event) { return [event] { return event->isReady(); }; };
    for (const DeviceEventRef& event : before_) work.before.push_back(isOver(event));
    if (constants_.copied) work.own.push_back(isOver(constants_.copied));
    for (const StepEvent& step : events_) work.own.push_back(isOver(step.event));
    return work;
  }
  Status finish() override {
    Status status = awaitEach(staged_);
    staged_.clear();
    return status;
  }
  // However that ends.
  Status awaitLast() {
    ISTHMUS_RETURN_IF_ERROR(settle());
    static_cast<void>(awaitEach(last_));
    return {};
  }
  Status launch(const KernelLaunch& launch) override {
    std::vector<DevicePlace> buffers;
    for (const Location& place : launch.buffers) buffers.push_back(placeOf(place));
    // Devices need not know the time: the host looks at its clock before and after.
    if (profile_) ISTHMUS_RETURN_IF_ERROR(awaitLast());
    const int64_t beginNs = profile_ ? trace::now() : 0;
    ISTHMUS_RETURN_IF_ERROR(
        follow(kernels().launch(request().deviceId, launch.kernel, buffers, last_),
               (*executable_.kernelTexts_)[static_cast<size_t>(launch.kernel)]));
    if (profile_) {
      ISTHMUS_RETURN_IF_ERROR(awaitLast());
      profile_->addCommand(launch.profileStep, launch.continuesOperation, beginNs, trace::now());
    }
    return {};
  }
  Status callLibrary(const LibraryCall&) override {
    return internalError("there is no library to call");
  }
  StatusOr<bool> callOnDevice(const HostCall& call) override;
  void onHostCall(const HostCall& step, int64_t beginNs, int64_t endNs) override {
    if (profile_) profile_->addHostCall(step.profileStep, beginNs, endNs);
  }

  const KernelExecutable& executable_;
  const DeviceBlocks memory_;
  void* scratch_;
  const ConstantsOnDevice constants_;
  std::vector<DeviceEventRef> last_;    // what the next step waits for
  std::vector<DeviceEventRef> before_;  // what the run waits for, besides its constants
  std::vector<StepEvent> events_;       // of its steps
  std::vector<DeviceEventRef> staged_;  // of those, copies that the host waits for
  std::optional<RunProfile> profile_;   // if one is recorded
};

DevicePlace KernelExecutable::Run::placeOf(const Location& ofStep) const {
  const Location place = swapped(ofStep);
  const DeviceProgram& program = executable_.program_;
  auto index = static_cast<size_t>(place.index);
  auto in = [](void* block, int64_t offset) {
    return DevicePlace{block, static_cast<size_t>(offset)};
  };
  switch (place.space) {
    case Location::Space::kNone:
      break;
    case Location::Space::kParameter:
      // Programs write to parameters only where donation lets them.
      return in(const_cast<void*>(request().parameters[index]), 0);
    case Location::Space::kResult:
      return in(request().results[index], 0);
    case Location::Space::kConstant:
      return in(constants_.block, program.constantOffsets[index]);
    case Location::Space::kStack:
      return in(scratch_, program.slotOffsets[index]);
    case Location::Space::kArena:
      return in(scratch_, place.offset);
  }
  return {};
}

Status KernelExecutable::Run::note(const DeviceEventRef& event, std::string_view what) {
  events_.push_back({event, what});
  if (events_.size() % kManyEvents != 0) return {};
  for (const StepEvent& one : events_) {
    if (one.isReady()) ISTHMUS_RETURN_IF_ERROR(one.await());
  }
  std::erase_if(events_, [&](const auto& one) { return one.event != event && one.isReady(); });
  return {};
}

Status KernelExecutable::Run::follow(StatusOr<DeviceEventRef> event, std::string_view what) {
  if (!event.ok()) return event.status();
  last_.clear();
  if (!*event) return {};
  last_.push_back(*event);
  return note(*event, what);
}

Status KernelExecutable::Run::followStaged(StatusOr<DeviceEventRef> event) {
  if (!event.ok()) return event.status();
  if (!*event) return {};
  staged_.push_back(*event);
  return note(*event, kCopyText);
}

// A collective of a run, operand by operand, among the places of its device.
class KernelExecutable::Run::Collectives final : public CollectiveOnDevice<DevicePlace> {
 public:
  Collectives(Run& run, const Collective& collective, const CollectivePart& part)
      : CollectiveOnDevice(collective, part), run_(run) {}
  ~Collectives() override {
    for (auto [data, bytes] : temporaries_) run_.memory_.release(data, bytes, run_.last_);
  }

  DeviceCollective of(int64_t elements) const {
    return {part().kind, collective().head.reduction, collective().head.type, elements,
            part().sources};
  }

 private:
  StatusOr<DevicePlace> temporary(int64_t bytes) override {
    ISTHMUS_ASSIGN_OR_RETURN(ProgramMemory::Block counted,
                             ProgramMemory::of(run_.executable_.backend_, run_.request().deviceId)
                                 .add(static_cast<size_t>(bytes),
                                      "a collective of " + run_.executable_.program_.info.name));
    counted_.push_back(std::move(counted));
    ISTHMUS_ASSIGN_OR_RETURN(DeviceQueue::Block block,
                             run_.memory_.allocate(static_cast<size_t>(bytes)));
    temporaries_.emplace_back(block.data, static_cast<size_t>(bytes));
    if (block.available) run_.last_.push_back(std::move(block.available));
    return DevicePlace{block.data, 0};
  }
  Status swapBlocks(DevicePlace from, DevicePlace to, int64_t a, int64_t b,
                    int64_t bytes) override {
    for (int64_t i = 0; i < a * b; ++i) {
      ISTHMUS_RETURN_IF_ERROR(
          run_.move(at(to, (i % b * a + i / b) * bytes), at(from, i * bytes), bytes));
    }
    return {};
  }
  Status meet(int64_t elements, DevicePlace input, DevicePlace output) override {
    const RunRequest& request = run_.request();
    const CollectiveCall call{request.launchId, collective().head.channel, request.deviceId,
                              part().devices, collective().description};
    return run_.follow(run_.executable_.collectives_->enqueue(call, *request.services, of(elements),
                                                              input, output, run_.last_),
                       kCollectiveText);
  }

  Run& run_;
  std::vector<std::pair<void*, size_t>> temporaries_;
  std::vector<ProgramMemory::Block> counted_;
};

StatusOr<bool> KernelExecutable::Run::callOnDevice(const HostCall& call) {
  const HostProgram& host = executable_.program_.host;
  const HostFunction& function = host.functions[static_cast<size_t>(call.function)];
  // Programs that call the user's code are not launched in the same order on all devices.
  bool mayMeet = executable_.collectives_ && memory_.queue() && !host.callsUserCode;
  if (!mayMeet || !isCollectiveFunction(function.function)) return false;
  const Collective collective(function.descriptor.data());
  ISTHMUS_ASSIGN_OR_RETURN(CollectivePart part,
                           collectivePartOf(function.function, collective, request()));
  Collectives collectives(*this, collective, part);
  for (const CollectiveOperand& operand : collective.operands) {
    if (!executable_.collectives_->supports(part.devices, collectives.of(operand.elements))) {
      return false;
    }
  }
  for (size_t i = 0; i < collective.operands.size(); ++i) {
    const CollectiveOperand& operand = collective.operands[i];
    if (operand.elements == 0) continue;
    ISTHMUS_RETURN_IF_ERROR(
        collectives.enqueue(operand, placeOf(call.inputs[i]), placeOf(call.outputs[i])));
  }
  return true;
}

KernelExecutable::KernelExecutable(Backend& backend, const DeviceCompiler& compiler,
                                   KernelProgram program)
    : backend_(backend),
      identity_(compiler.identity()),
      collectives_(compiler.collectives()),
      program_(std::move(program)) {
  swapOffset_ = llvm::alignTo(static_cast<uint64_t>(program_.scratchBytes), kBufferAlignment);
  scratchBytes_ = swapOffset_ + static_cast<size_t>(swappedBytes(program_.steps));
}

KernelExecutable::~KernelExecutable() {
  for (const auto& [device, constants] : constants_) {
    DeviceEvents after;
    if (constants.copied) after = std::span(&constants.copied, 1);
    DeviceBlocks(backend_, device).release(constants.block, program_.constants.size(), after);
  }
}

StatusOr<std::shared_ptr<const Executable>> KernelExecutable::load(Backend& backend,
                                                                   const DeviceCompiler& compiler,
                                                                   KernelProgram program) {
  std::shared_ptr<KernelExecutable> executable(
      new KernelExecutable(backend, compiler, std::move(program)));
  const KernelProgram& own = executable->program_;
  // Arguments may be copied to results where there are no kernels.
  const std::vector<DeviceKernel> kernels = deviceKernels(own);
  std::vector<std::string> texts;
  for (const DeviceKernel& kernel : kernels) {
    texts.push_back("kernel " + kernel.name + " (" + kernel.description + ")");
  }
  executable->kernelTexts_ = std::make_shared<const std::vector<std::string>>(std::move(texts));
  ISTHMUS_ASSIGN_OR_RETURN(executable->kernels_, compiler.load(own.code, kernels));
  ISTHMUS_RETURN_IF_ERROR(executable->loadHostFunctions(compiler.hostFunctions()));
  return std::shared_ptr<const Executable>(std::move(executable));
}

StatusOr<KernelExecutable::ConstantsOnDevice> KernelExecutable::constants(int device) const {
  const std::string& bytes = program_.constants;
  if (bytes.empty()) return ConstantsOnDevice();
  const DeviceBlocks memory(backend_, device);
  std::lock_guard lock(mutex_);
  auto found = constants_.find(device);
  if (found == constants_.end()) {
    ISTHMUS_ASSIGN_OR_RETURN(ProgramMemory::Block counted,
                             ProgramMemory::of(backend_, device)
                                 .add(bytes.size(), "constants of " + program_.info.name));
    ISTHMUS_ASSIGN_OR_RETURN(DeviceQueue::Block block, memory.allocate(bytes.size()));
    found = constants_.try_emplace(device).first;
    found->second.block = block.data;
    found->second.available = std::move(block.available);
    found->second.counted = std::move(counted);
  }
  Constants& own = found->second;
  if (own.copied && own.copied->isReady()) {
    own.isThere = own.copied->await().ok();
    own.copied = nullptr;
  }
  if (!own.isThere && !own.copied) {
    // Runs of before may read there still, but they have failed.
    DeviceEvents after;
    if (own.available) after = std::span(&own.available, 1);
    ISTHMUS_ASSIGN_OR_RETURN(own.copied,
                             memory.put({own.block, 0}, bytes.data(), bytes.size(), after));
    own.isThere = !own.copied;
  }
  return ConstantsOnDevice{own.block, own.copied};
}

Status KernelExecutable::run(const RunRequest& request) const {
  ISTHMUS_RETURN_IF_ERROR(checkCounts(request));
  ISTHMUS_ASSIGN_OR_RETURN(ConstantsOnDevice constants, this->constants(request.deviceId));
  ISTHMUS_ASSIGN_OR_RETURN(ProgramMemory::Block counted,
                           ProgramMemory::of(backend_, request.deviceId)
                               .add(scratchBytes_, "temporaries of " + program_.info.name));
  ISTHMUS_ASSIGN_OR_RETURN(void* scratch,
                           backend_.allocate(request.deviceId, kMemoryKind, scratchBytes_));
  StatusOr<DeviceEventRef> end = Run(*this, request, scratch, std::move(constants), {}).enqueue();
  Status status = !end.ok() ? end.status() : *end ? (*end)->await() : Status();
  backend_.deallocate(request.deviceId, kMemoryKind, scratch, scratchBytes_);
  return status;
}

StatusOr<DeviceEventRef> KernelExecutable::enqueue(const RunRequest& request,
                                                   DeviceEvents after) const {
  ISTHMUS_RETURN_IF_ERROR(checkCounts(request));
  ISTHMUS_ASSIGN_OR_RETURN(ConstantsOnDevice constants, this->constants(request.deviceId));
  return Run(*this, request, request.scratch, std::move(constants), after).enqueue();
}

StatusOr<std::string> KernelExecutable::serialize() const {
  return serializeKernels(program_, identity_);
}

}  // namespace isthmus

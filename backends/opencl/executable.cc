#include "backends/opencl/executable.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <ranges>
#include <set>
#include <variant>

#include "backends/opencl/memory_order.h"
#include "backends/opencl/queue.h"
#include "backends/opencl/serialization.h"
#include "backends/shared/devices/await_each.h"
#include "backends/shared/serialization/cache_key.h"
#include "backends/shared/staging/run_profile.h"
#include "backends/shared/staging/step_runner.h"
#include "isthmus/flags.h"
#include "isthmus/log.h"
#include "isthmus/trace.h"

namespace isthmus::opencl {
namespace {

// Groups lie along the first dimension: long enough for vectors, few enough work-items that all
// units have work.
GroupShape groupShape(const codegen::KernelInfo& kernel, const DeviceFacts& facts) {
  const codegen::Items& items = kernel.items;
  if (kernel.groupThreads > 1) {
    const size_t threads = kernel.groupThreads;
    return {{static_cast<size_t>(items[0] * items[1] * items[2]) * threads, 1, 1}, {threads, 1, 1}};
  }
  if (kernel.isVector) {
    return {{static_cast<size_t>(items[0]), static_cast<size_t>(items[1]),
             static_cast<size_t>(items[2])},
            {1, 1, 1}};
  }
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
class OpenclExecutable::Run final : public AddressStepRunner {
 public:
  Run(const OpenclExecutable& executable, const RunRequest& request, DeviceEvents after)
      : AddressStepRunner(request, executable.hostFunctions()),
        executable_(executable),
        image_(executable.image_),
        driver_(executable.driver_),
        device_(request.deviceId),
        before_(pendingEvents(after)),
        isAlone_(driver_.underWay()->fetch_add(1, std::memory_order_relaxed) == 0),
        order_([this](MemoryOrder::Command command) { return isOver(command); }) {
    commands_.kernels = executable.kernelNames_;
    if (trace::isOn()) {
      profile_.emplace(executable.profiledEvents(), device_);
      queue_ = Driver::Queue::kTimed;
      return;
    }
    isAwaited_ = executable.waitersCompute_ && isAlone_ && before_.empty() &&
                 (request.isAwaited || executable.isBrief_);
    // This thread waits at the end, or on the way.
    const bool isWaiter = executable.waitersCompute_ && isAlone_ && !executable.isCheap_;
    if (isAwaited_ || isWaiter) queue_ = Driver::Queue::kInOrder;
  }
  ~Run() { driver_.underWay()->fetch_sub(1, std::memory_order_relaxed); }

  StatusOr<DeviceEventRef> enqueue();

 private:
  // Commands that are over are forgotten when so many are known.
  static constexpr size_t kManyCommands = 256;
  // More are joined first, since several commands wait for them.
  static constexpr size_t kFewEvents = 4;

  void* ownAddressOf(const Location& place) const override {
    return isthmus::addressOf(
        place, image_,
        {request().parameters, request().results,
         executable_.constants_[static_cast<size_t>(request().deviceId)], request().scratch});
  }
  Status swap(const Location& a, const Location& b) override;
  StatusOr<UnderWay> underWay() override;
  Status finish() override;
  StatusOr<std::optional<std::vector<void*>>> lend(const HostCall& call) override;
  Status launch(const KernelLaunch& launch) override;
  Status callLibrary(const LibraryCall&) override {
    return internalError("OpenCL has no library to call");
  }
  Status keepPace() override;
  void onHostCall(const HostCall& step, int64_t beginNs, int64_t endNs) override {
    if (profile_) profile_->addHostCall(step.profileStep, beginNs, endNs);
  }

  // Nothing is enqueued that has not ended, and the host may do so little itself at once.
  bool mayHostMove(int64_t bytes) const {
    return commands_.list.empty() && before_.empty() &&
           driver_.mayHostCopy(static_cast<size_t>(bytes));
  }
  Status copyMemory(void* to, const void* from, int64_t bytes) override;
  Status stage(void* to, const void* from, int64_t bytes) override;
  bool isOver(MemoryOrder::Command command) const {
    if (command == nextCommand()) return false;  // the one that is being enqueued
    return command < firstCommand_ || commandOf(command).isOver();
  }
  const CommandEvent& commandOf(MemoryOrder::Command command) const {
    return commands_.list[static_cast<size_t>(command - firstCommand_)].event;
  }
  MemoryOrder::Command nextCommand() const {
    return firstCommand_ + static_cast<MemoryOrder::Command>(commands_.list.size());
  }
  // The events of commands; of all that came before the run, if there are none.
  std::vector<CommandEvent> eventsOf(const std::vector<MemoryOrder::Command>& commands);
  auto allEvents() const {
    return commands_.list | std::views::transform(&RunCommands::Command::event);
  }
  // Notes what has been enqueued as nextCommand(), after these.
  void note(RunCommands::Command command, const std::vector<MemoryOrder::Command>& after);
  void forgetOld();
  // Of the launches that are over, in their order.
  void noteTimes();
  Status awaitAll();
  // The end of all that was enqueued, with this error at last.
  StatusOr<DeviceEventRef> failedEnd(Status error);
  // Waits for the end of the run, whose times are known then.
  Status finishProfile();

  const OpenclExecutable& executable_;
  const ProgramImage& image_;
  Driver& driver_;
  int device_;
  Driver::Queue queue_ = Driver::Queue::kPrograms;
  std::optional<RunProfile> profile_;  // if one is recorded
  struct TimedLaunch {
    CommandEvent event;
    const KernelLaunch* launch;
  };
  std::deque<TimedLaunch> timed_;     // whose times are not known yet
  std::vector<CommandEvent> before_;  // what the run waits for
  const bool isAlone_;                // nothing else is under way
  // This thread does all of the run, and then returns: it has no others' work to do before, and
  // would wait anyway or is sooner done than another one is woken.
  bool isAwaited_ = false;
  MemoryOrder order_;
  RunCommands commands_;  // from number firstCommand_ on
  MemoryOrder::Command firstCommand_ = 0;
  MemoryOrder::Command handedOver_ = 0;  // to the device, those before
  std::set<MemoryOrder::Command> last_;  // those that no other waits for
  std::vector<CommandEvent> staged_;     // copies of staging memory that nobody has awaited
};

std::vector<CommandEvent> OpenclExecutable::Run::eventsOf(
    const std::vector<MemoryOrder::Command>& commands) {
  if (commands.empty()) return before_;
  std::vector<CommandEvent> events;
  for (MemoryOrder::Command command : commands) events.push_back(commandOf(command));
  return events;
}

void OpenclExecutable::Run::note(RunCommands::Command command,
                                 const std::vector<MemoryOrder::Command>& after) {
  for (MemoryOrder::Command before : after) last_.erase(before);
  last_.insert(nextCommand());
  commands_.list.push_back(std::move(command));
  if (commands_.list.size() >= kManyCommands && commands_.list.size() % kManyCommands == 0)
    forgetOld();
}

void OpenclExecutable::Run::noteTimes() {
  while (!timed_.empty() && timed_.front().event.isOver()) {
    const KernelLaunch& launch = *timed_.front().launch;
    if (std::optional<CommandEvent::Times> times = timed_.front().event.times()) {
      profile_->addCommand(launch.profileStep, launch.continuesOperation, times->beginNs,
                           times->endNs);
    }
    timed_.pop_front();
  }
}

// Only what went well: an error has to be found at the end.
void OpenclExecutable::Run::forgetOld() {
  noteTimes();
  auto isDone = [](const CommandEvent& event) { return event.outcome() == CL_SUCCESS; };
  while (!commands_.list.empty() && isDone(commands_.list.front().event)) {
    last_.erase(firstCommand_++);
    commands_.list.pop_front();
  }
}

Status OpenclExecutable::Run::launch(const KernelLaunch& launch) {
  std::vector<void*> buffers;
  std::vector<MemoryRange> reads;
  std::vector<MemoryRange> writes;
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    const Location& place = launch.buffers[i];
    buffers.push_back(addressOf(place));
    bool isRead = i < static_cast<size_t>(launch.inputs);
    if (place.space == Location::Space::kConstant) continue;  // nobody writes there
    (isRead ? reads : writes).push_back({buffers[i], place.bytes});
  }
  std::vector<MemoryOrder::Command> after = order_.add(nextCommand(), reads, writes);
  StatusOr<CommandEvent> event =
      executable_.launch(device_, launch.kernel, buffers, eventsOf(after), queue_);
  if (!event.ok()) {
    return event.status().withContext(image_.kernels[launch.kernel].description);
  }
  if (profile_) timed_.push_back({*event, &launch});
  note({*std::move(event), launch.kernel}, after);
  return {};
}

Status OpenclExecutable::Run::copyMemory(void* to, const void* from, int64_t bytes) {
  if (bytes == 0 || to == from) return {};
  if (mayHostMove(bytes)) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    return {};
  }
  MemoryRange read{from, bytes};
  MemoryRange write{to, bytes};
  std::vector<MemoryOrder::Command> after =
      order_.add(nextCommand(), std::span(&read, 1), std::span(&write, 1));
  ISTHMUS_ASSIGN_OR_RETURN(
      CommandEvent event,
      driver_.copy(device_, queue_, to, from, static_cast<size_t>(bytes), eventsOf(after)));
  note({std::move(event), RunCommands::kCopy}, after);
  return {};
}

Status OpenclExecutable::Run::stage(void* to, const void* from, int64_t bytes) {
  MemoryOrder::Command before = nextCommand();
  ISTHMUS_RETURN_IF_ERROR(copyMemory(to, from, bytes));
  if (nextCommand() != before) staged_.push_back(commandOf(before));
  return {};
}

Status OpenclExecutable::Run::keepPace() {
  constexpr size_t kMaxCommands = 16 * kManyCommands;
  MemoryOrder::Command next = nextCommand();
  if (next < handedOver_ + static_cast<MemoryOrder::Command>(kManyCommands) / 4) return {};
  handedOver_ = next;
  ISTHMUS_RETURN_IF_ERROR(driver_.flush(device_, queue_));
  if (commands_.list.size() < kMaxCommands) return {};
  ISTHMUS_RETURN_IF_ERROR(settle());
  ISTHMUS_RETURN_IF_ERROR(
      commands_.outcome(commands_.list[commands_.list.size() / 2].event.await()));
  forgetOld();
  return {};
}

StatusOr<StepRunner::UnderWay> OpenclExecutable::Run::underWay() {
  ISTHMUS_RETURN_IF_ERROR(driver_.flush(device_, queue_));
  UnderWay work;
  auto isOver = [](const CommandEvent& event) { return [event] { return event.isOver(); }; };
  for (const CommandEvent& event : before_) work.before.push_back(isOver(event));
  for (const CommandEvent& event : allEvents()) work.own.push_back(isOver(event));
  return work;
}

Status OpenclExecutable::Run::finish() {
  if (commands_.list.empty()) return {};
  Status status = driver_.flush(device_, queue_);
  Status awaited = commands_.outcome(awaitEach(staged_));
  staged_.clear();
  forgetOld();
  return status.ok() ? awaited : status;
}

StatusOr<std::optional<std::vector<void*>>> OpenclExecutable::Run::lend(const HostCall& call) {
  constexpr size_t kMaxOthers = 8;  // what the function has besides
  std::vector<void*> places;
  places.reserve(call.inputs.size() + call.outputs.size() + kMaxOthers);
  for (const auto* all : {&call.inputs, &call.outputs}) {
    for (const Location& place : *all) places.push_back(addressOf(place));
  }
  auto isAligned = [](void* place) {
    return place != nullptr && reinterpret_cast<uintptr_t>(place) % kBufferAlignment == 0;
  };
  if (!driver_.isHostAddressable() || !std::ranges::all_of(places, isAligned)) {
    return std::optional<std::vector<void*>>();
  }
  if (commands_.list.empty() && before_.empty()) return std::optional(std::move(places));
  // All, not only those that use the places: a device that is the host has no cores to go on with.
  Status status = awaitAll();
  Status before = awaitEach(before_);
  ISTHMUS_RETURN_IF_ERROR(status);
  ISTHMUS_RETURN_IF_ERROR(before);
  before_.clear();
  forgetOld();
  return std::optional(std::move(places));
}

Status OpenclExecutable::Run::swap(const Location& placeA, const Location& placeB) {
  void* a = addressOf(placeA);
  void* b = addressOf(placeB);
  const int64_t bytes = placeA.bytes;
  if (mayHostMove(bytes)) {
    std::swap_ranges(static_cast<char*>(a), static_cast<char*>(a) + bytes, static_cast<char*>(b));
    return {};
  }
  ISTHMUS_ASSIGN_OR_RETURN(ProgramMemory::Block counted,
                           ProgramMemory::of(linkedBackend(), device_)
                               .add(static_cast<size_t>(bytes), "a swap of " + image_.info.name));
  ISTHMUS_ASSIGN_OR_RETURN(void* kept, driver_.allocate(device_, static_cast<size_t>(bytes)));
  Status status = copyMemory(kept, a, bytes);
  if (status.ok()) status = copyMemory(a, b, bytes);
  if (status.ok()) status = copyMemory(b, kept, bytes);
  // The last copy comes after the others.
  if (status.ok()) {
    driver_.free(kept, {commands_.list.back().event});
  } else {
    const auto all = allEvents();
    driver_.free(kept, {all.begin(), all.end()});
  }
  return status;
}

// Even after an error: what was enqueued uses the buffers.
Status OpenclExecutable::Run::awaitAll() {
  Status status = driver_.flush(device_, queue_);
  Status awaited = commands_.outcome(awaitEach(allEvents()));
  return status.ok() ? awaited : status;
}

Status OpenclExecutable::Run::finishProfile() {
  Status status = awaitAll();
  // Results may be arguments, which no command has waited for.
  Status before = awaitEach(before_);
  noteTimes();
  profile_->record();
  return status.ok() ? before : status;
}

StatusOr<DeviceEventRef> OpenclExecutable::Run::failedEnd(Status error) {
  const auto own = allEvents();
  std::vector<CommandEvent> all(own.begin(), own.end());
  all.insert(all.end(), before_.begin(), before_.end());
  ISTHMUS_ASSIGN_OR_RETURN(CommandEvent end, driver_.join(device_, queue_, all));
  ISTHMUS_RETURN_IF_ERROR(driver_.flush(device_, queue_));
  return DeviceEventRef(std::make_shared<OpenclEvent>(driver_, std::move(end), std::move(commands_),
                                                      std::move(error), takeMemoryInUse()));
}

StatusOr<DeviceEventRef> OpenclExecutable::Run::enqueue() {
  Status status;
  if (before_.size() > kFewEvents) {
    ISTHMUS_ASSIGN_OR_RETURN(CommandEvent all, driver_.join(device_, queue_, before_));
    before_ = {std::move(all)};
  }
  status = runSteps(image_.steps);
  if (status.ok() && profile_) status = settle();
  if (status.ok() && profile_) {
    ISTHMUS_RETURN_IF_ERROR(finishProfile());
    return DeviceEventRef();
  }
  std::vector<CommandEvent> last;
  for (MemoryOrder::Command command : last_) last.push_back(commandOf(command));
  if (last.empty()) last = before_;
  if (status.ok() && last.empty()) return DeviceEventRef();
  StatusOr<CommandEvent> end = CommandEvent();
  if (status.ok()) end = last.size() == 1 ? last[0] : driver_.join(device_, queue_, last);
  if (status.ok() && !end.ok()) status = end.status();
  if (status.ok()) status = driver_.flush(device_, queue_);
  if (status.ok() && isAwaited_) {
    std::optional<Status> outcome = end->awaitAlone();
    // An error is told by the event.
    if (outcome && commands_.outcome(*outcome).ok()) return DeviceEventRef();
  }
  if (status.ok()) {
    return DeviceEventRef(
        std::make_shared<OpenclEvent>(driver_, *std::move(end), std::move(commands_)));
  }
  // Nor must an error of something else wait for ever.
  if (!isLate()) static_cast<void>(settle());
  if (isLate()) return failedEnd(std::move(status));
  Status finished = awaitAll();
  return finished.ok() ? status : finished;
}

StatusOr<std::shared_ptr<const Executable>> OpenclExecutable::load(Driver& driver,
                                                                   ProgramImage image) {
  std::shared_ptr<OpenclExecutable> executable(new OpenclExecutable(driver, std::move(image)));
  ISTHMUS_RETURN_IF_ERROR(executable->build());
  return std::shared_ptr<const Executable>(std::move(executable));
}

StatusOr<std::unique_ptr<Program>> OpenclExecutable::buildKernels() {
  if (!image_.binaries.empty()) {
    StatusOr<std::unique_ptr<Program>> program = driver_.buildBinaries(image_.binaries);
    image_.binaries.clear();
    if (program.ok()) return program;
    log(LogLevel::kWarning, "xpu: program ", image_.info.name,
        " is compiled again, since the driver refuses its binary: ", program.status().message());
  }
  return driver_.facts(0).takesSpirv ? driver_.buildSpirv(image_.spirv)
                                     : driver_.buildSource(image_.source);
}

Status OpenclExecutable::build() {
  ISTHMUS_RETURN_IF_ERROR(loadHostFunctions(&linkedHostFunctions()));
  if (!image_.kernels.empty()) {
    StatusOr<std::unique_ptr<Program>> program = buildKernels();
    if (!program.ok()) return program.status().withContext("program " + image_.info.name);
    program_ = std::move(*program);
  }
  for (int device = 0; device < driver_.numDevices(); ++device) {
    kernels_.push_back(std::make_unique<DeviceKernels>());
    kernels_.back()->kernels.resize(image_.kernels.size(), nullptr);
  }
  auto names = std::make_shared<std::vector<std::string>>();
  for (const codegen::KernelInfo& kernel : image_.kernels) {
    names->push_back("kernel " + kernel.name + " (" + kernel.description + ")");
  }
  kernelNames_ = std::move(names);
  isCheap_ = std::all_of(image_.steps.begin(), image_.steps.end(), [](const Step& step) {
    return std::holds_alternative<KernelLaunch>(step.what) ||
           std::holds_alternative<Move>(step.what);
  });
  // A long program fills its queue, and enqueueing it waits for its first commands.
  for (int device = 0; device < driver_.numDevices(); ++device) {
    if (image_.steps.size() > driver_.facts(device).maxPending / 2) isCheap_ = false;
  }
  // As on the CPU: what a caller that does not wait for it may lose. No caller must wait for a
  // device that is timed since it may hang.
  constexpr double kBriefNs = 15'000;
  waitersCompute_ = driver_.waitersCompute() && flagInt("ISTHMUS_DEVICE_TIMEOUT_SECONDS") == 0;
  isBrief_ = waitersCompute_ && isCheap_ && image_.estimatedNs < kBriefNs;
  constants_.resize(static_cast<size_t>(driver_.numDevices()), nullptr);
  for (int device = 0; device < driver_.numDevices() && !image_.constants.empty(); ++device) {
    ISTHMUS_ASSIGN_OR_RETURN(ProgramMemory::Block counted,
                             ProgramMemory::of(linkedBackend(), device)
                                 .add(image_.constants.size(), "constants of " + image_.info.name));
    counted_.push_back(std::move(counted));
    void*& own = constants_[static_cast<size_t>(device)];
    ISTHMUS_ASSIGN_OR_RETURN(own, driver_.allocate(device, image_.constants.size()));
    CommandEvent copied;
    Status status = copyInTime(
        "the copy of constants of " + image_.info.name, device, image_.constants,
        [&](const char* from) -> StatusOr<CommandEvent> {
          constexpr auto kQueue = Driver::Queue::kCopies;
          ISTHMUS_ASSIGN_OR_RETURN(
              copied, driver_.copy(device, kQueue, own, from, image_.constants.size(), {}));
          ISTHMUS_RETURN_IF_ERROR(driver_.flush(device, kQueue));
          return copied;
        });
    if (!status.ok()) {
      if (copied) driver_.free(std::exchange(own, nullptr), {copied});
      return status;
    }
  }
  return {};
}

OpenclExecutable::~OpenclExecutable() {
  for (const std::unique_ptr<DeviceKernels>& device : kernels_) {
    for (cl_kernel kernel : device->kernels) {
      if (kernel) driver_.library().ReleaseKernel(kernel);
    }
  }
  for (void* own : constants_) {
    if (own) driver_.free(own);
  }
}

StatusOr<CommandEvent> OpenclExecutable::launch(int device, int kernel,
                                                const std::vector<void*>& buffers,
                                                CommandEvents after, Driver::Queue queue) const {
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
  return driver_.launch(device, queue, object, groupShape(info, driver_.facts(device)), after);
}

StatusOr<std::string> OpenclExecutable::serialize() const {
  ISTHMUS_ASSIGN_OR_RETURN(std::string key, cacheKey());
  ProgramImage image = image_;
  if (program_) {
    ISTHMUS_ASSIGN_OR_RETURN(image.binaries, driver_.binariesOf(*program_));
  }
  return serializeImage(image, driver_.identity(), key);
}

StatusOr<DeviceEventRef> OpenclExecutable::enqueue(const RunRequest& request,
                                                   DeviceEvents after) const {
  ISTHMUS_RETURN_IF_ERROR(checkCounts(request));
  trace::Scope scope("run", image_.info.name);
  StatusOr<DeviceEventRef> end = Run(*this, request, after).enqueue();
  if (!end.ok()) return end.status().withContext("program " + image_.info.name);
  return end;
}

}  // namespace isthmus::opencl

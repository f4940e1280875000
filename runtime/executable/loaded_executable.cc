// Checks, donation, and the choice between running here and now and queueing.
#include "runtime/executable/loaded_executable.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "isthmus/float_mode.h"
#include "runtime/collectives/in_process.h"
#include "runtime/executable/launch.h"
#include "runtime/memory/host_layout.h"
#include "runtime/memory/program_limits.h"
#include "runtime/small_array.h"
#include "runtime/stable_hash.h"
#include "runtime/threads/thread_pool.h"

namespace isthmus {
namespace {

// What tells programs apart, in all processes that run it if there are several. The machines of a
// job may differ, and with them the code, so there it is what the program exchanges that counts.
uint64_t identify(const ProgramInfo& info, const DeviceAssignment& assignment, bool isOverProcesses,
                  const void* executable) {
  uint64_t id = stableHash(isOverProcesses ? info.exchanges : info.fingerprint);
  if (!isOverProcesses && info.fingerprint.empty()) id = reinterpret_cast<uintptr_t>(executable);
  id = combineHashes(id, static_cast<uint64_t>(assignment.numReplicas));
  for (int device : assignment.deviceIds) id = combineHashes(id, static_cast<uint64_t>(device));
  return id;
}

}  // namespace

LoadedExecutable::LoadedExecutable(Ref<Client> client, std::shared_ptr<const Executable> executable,
                                   DeviceAssignment assignment, bool isPortable)
    : client_(std::move(client)),
      executable_(std::move(executable)),
      info_(executable_->info()),
      assignment_(std::move(assignment)),
      isPortable_(isPortable),
      isCheap_(executable_->isCheap()),
      callsUserCode_(executable_->callsUserCode()),
      isAsynchronous_(client_->isAsynchronous()),
      isDriven_(!isAsynchronous_ && !client_->backend().isHostAddressable()),
      isObserved_((isAsynchronous_ ? executable_->waitersCompute() : !isCheap_) &&
                  !executable_->mayBlock() && (isPortable_ || assignment_.deviceIds.size() == 1)) {}

StatusOr<Ref<LoadedExecutable>> LoadedExecutable::create(
    Ref<Client> client, std::shared_ptr<const Executable> executable, DeviceAssignment assignment,
    bool isPortable) {
  auto loaded = Ref<LoadedExecutable>::adopt(new LoadedExecutable(
      std::move(client), std::move(executable), std::move(assignment), isPortable));
  ISTHMUS_RETURN_IF_ERROR(loaded->initialize().withContext("loading " + loaded->info_.name));
  return loaded;
}

Status LoadedExecutable::initialize() {
  auto descriptions = std::make_shared<std::vector<std::string>>();
  for (const BufferSpec& output : info_.outputs) {
    if (isAsynchronous_) {
      descriptions->push_back("result " + std::to_string(outputs_.size()) + " of " + info_.name +
                              (output.source.empty() ? "" : " at " + output.source));
    }
    outputs_.push_back({std::make_shared<const ArrayType>(output.type), output.memoryKind, -1});
  }
  outputDescriptions_ = std::move(descriptions);
  for (const ParameterSpec& parameter : info_.parameters) {
    auto index = static_cast<int>(parameters_.size());
    parameters_.push_back({parameter.type, parameter.donation, parameter.aliasedOutput});
    if (parameter.donation != DonationKind::kNone) donatesAny_ = true;
    if (parameter.donation != DonationKind::kMustAlias) continue;
    int output = parameter.aliasedOutput;
    if (output < 0 || static_cast<size_t>(output) >= outputs_.size()) {
      return internalError("parameter ", index, " aliases output ", output, " of ",
                           outputs_.size());
    }
    if (outputs_[output].aliasedParameter != -1) {
      return internalError("two parameters alias output ", output);
    }
    if (outputs_[output].type->sizeBytes() != parameter.type.sizeBytes()) {
      return internalError("parameter ", index, " of ", parameter.type.toString(),
                           " aliases output ", output, " of ", outputs_[output].type->toString());
    }
    outputs_[output].aliasedParameter = index;
  }

  if (isPortable_) {
    for (Device* device : client_->addressableDevices()) {
      portableAssignments_.push_back({1, 1, {device->id()}});
    }
    return {};
  }
  int64_t count = int64_t{assignment_.numReplicas} * assignment_.numPartitions;
  if (count < 1 || count != static_cast<int64_t>(assignment_.deviceIds.size())) {
    return invalidArgument("device assignment of ", assignment_.numReplicas, " replicas and ",
                           assignment_.numPartitions, " partitions has ",
                           assignment_.deviceIds.size(), " devices");
  }
  for (int64_t i = 0; i < count; ++i) {
    ISTHMUS_ASSIGN_OR_RETURN(Device * device, client_->lookupDevice(assignment_.deviceIds[i]));
    processes_.push_back(device->description().processIndex);
    if (!device->isAddressable()) continue;
    if (std::find(devices_.begin(), devices_.end(), device) != devices_.end()) {
      return invalidArgument("device assignment has device ", device->id(), " twice");
    }
    devices_.push_back(device);
    logicalIds_.push_back({static_cast<int>(i / assignment_.numPartitions),
                           static_cast<int>(i % assignment_.numPartitions)});
    assigned_.push_back({device, logicalIds_.back(), &assignment_});
  }
  if (devices_.empty()) return invalidArgument("device assignment has no device of this process");
  std::sort(processes_.begin(), processes_.end());
  processes_.erase(std::unique(processes_.begin(), processes_.end()), processes_.end());
  isOverProcesses_ = processes_.size() > 1 && !info_.exchanges.empty();
  uint64_t program = identify(info_, assignment_, isOverProcesses_, executable_.get());
  launchCounts_ = client_->launchIds().of(program, devices_.size(), isOverProcesses_);
  return {};
}

void LoadedExecutable::release() { deleted_.store(true, std::memory_order_release); }

// ---- Arguments
// ------------------------------------------------------------------------------------

Status LoadedExecutable::checkArguments(const AssignedDevice& assigned,
                                        const DeviceLaunch& launch) const {
  if (launch.arguments.size() != parameters_.size()) {
    return invalidArgument("execute ", info_.name, ": got ", launch.arguments.size(),
                           " arguments, the program has ", parameters_.size(), " parameters");
  }
  if (launch.results.size() != outputs_.size()) {
    return invalidArgument("execute ", info_.name, ": got room for ", launch.results.size(),
                           " results, the program has ", outputs_.size());
  }
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Buffer* argument = launch.arguments[i];
    if (argument == nullptr) {
      return invalidArgument("execute ", info_.name, ": argument ", i, " is null");
    }
    if (&argument->memory().device() != assigned.device) {
      return invalidArgument("execute ", info_.name, ": argument ", i, " is on device ",
                             argument->device().id(), ", expected device ", assigned.device->id());
    }
    const ArrayType& expected = parameters_[i].type;
    if (argument->type() != expected && expected.elementType != ElementType::kToken) {
      return invalidArgument("execute ", info_.name, ": argument ", i, " is ",
                             argument->type().toString(), ", expected ", expected.toString());
    }
  }
  return {};
}

bool LoadedExecutable::donates(size_t parameter, const ExecuteOptions& options) const {
  if (parameters_[parameter].donation == DonationKind::kNone) return false;
  return std::find(options.nonDonatable.begin(), options.nonDonatable.end(),
                   static_cast<int64_t>(parameter)) == options.nonDonatable.end();
}

Status LoadedExecutable::acquire(std::span<Buffer* const> arguments, const ExecuteOptions& options,
                                 std::span<bool> isDonated) const {
  size_t failed = arguments.size();
  // Donations first: a buffer that is also another argument then cannot be held any more.
  if (donatesAny_) {
    for (size_t i = 0; i < arguments.size() && failed == arguments.size(); ++i) {
      isDonated[i] = donates(i, options) && arguments[i]->donate();
      if (!isDonated[i] && donates(i, options)) failed = i;
    }
  }
  size_t held = 0;
  for (; failed == arguments.size() && held < arguments.size(); ++held) {
    if (isDonated[held]) continue;
    if (arguments[held]->hold()) {
      arguments[held]->noteUse();
    } else {
      failed = held;
    }
  }
  if (failed == arguments.size()) return {};
  if (held > 0) --held;  // the last one tried

  bool isClash = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    isClash |= isDonated[i] && i != failed && arguments[i] == arguments[failed];
    if (isDonated[i]) {
      arguments[i]->undoDonate();
    } else if (i < held) {
      arguments[i]->dropHold();
    }
  }
  if (isClash) {
    return invalidArgument("execute ", info_.name, ": argument ", failed,
                           " is the same buffer as another argument that is donated");
  }
  return invalidArgument("execute ", info_.name, ": argument ", failed,
                         " is a buffer that has been deleted or donated");
}

void LoadedExecutable::undoAcquire(std::span<Buffer* const> arguments,
                                   std::span<const bool> isDonated) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (isDonated[i]) {
      arguments[i]->undoDonate();
    } else {
      arguments[i]->dropHold();
    }
  }
}

// What launches have acquired, and give back unless somebody has taken it over.
class LoadedExecutable::Acquisition {
 public:
  Acquisition(std::span<const DeviceLaunch> launches, size_t parameters)
      : launches_(launches), parameters_(parameters), isDonated_(launches.size() * parameters) {}
  ~Acquisition() {
    for (; begin_ < end_; ++begin_) undoAcquire(launches_[begin_].arguments, isDonated(begin_));
  }
  Acquisition(const Acquisition&) = delete;
  Acquisition& operator=(const Acquisition&) = delete;

  // The arguments of all launches, or an error.
  Status acquire(const LoadedExecutable& executable, const ExecuteOptions& options) {
    for (; end_ < launches_.size(); ++end_) {
      ISTHMUS_RETURN_IF_ERROR(
          executable.acquire(launches_[end_].arguments, options, isDonated(end_)));
    }
    return {};
  }
  // Of launch `i`.
  std::span<bool> isDonated(size_t i) {
    return isDonated_.span().subspan(i * parameters_, parameters_);
  }
  // What the first launch, then the next one, has acquired is its own matter from now on.
  void handOver() { ++begin_; }

 private:
  std::span<const DeviceLaunch> launches_;
  size_t parameters_;
  SmallArray<bool, 32> isDonated_;
  size_t begin_ = 0, end_ = 0;
};

Memory& LoadedExecutable::outputMemory(const Device& device, const Output& output) const {
  Memory* memory = device.defaultMemory();
  if (memory->kind() == output.memoryKind) return *memory;
  Memory* asked = device.findMemory(output.memoryKind);
  return asked != nullptr ? *asked : *memory;
}

// ---- Launches
// -------------------------------------------------------------------------------------

bool LoadedExecutable::canRunInline(const AssignedDevice& assigned,
                                    const DeviceLaunch& launch) const {
  if (isAsynchronous_) return false;
  // A program that launches another one, through a callback, does so on the thread of its device.
  // The other must not wait for that thread, nor for one that waits for this program in a
  // collective. User code is in nobody's queue.
  bool isNested = TaskQueue::isQueueThread();
  // It runs here as on JAX's own CPU client: what a callback prints or records is there when the
  // call returns, and what it raises is raised by the call.
  if (!isNested && !callsUserCode_) {
    bool isAlone = assigned.device->queue().isIdle();
    if (!isAlone || !(isCheap_ || isAwaited(*assigned.device))) return false;
  }
  return hasArguments(launch);
}

bool LoadedExecutable::hasArguments(const DeviceLaunch& launch) {
  return std::ranges::all_of(
      launch.arguments, [](const Buffer* argument) { return argument->definition().isReady(); });
}

bool LoadedExecutable::isAwaitedThere(const AssignedDevice& assigned,
                                      const DeviceLaunch& launch) const {
  return isAsynchronous_ && isAwaited(*assigned.device) && assigned.device->queue().isIdle() &&
         !TaskQueue::isQueueThread() && hasArguments(launch);
}

bool LoadedExecutable::isAwaited(Device& device) const {
  // Another thread saves its caller nothing then, and takes some 50 us to wake. What runs for
  // longer gains little by being called here, and costs a caller whose habits change more. Where
  // waiters compute for a device, its threads may be woken for each step of a program.
  constexpr int64_t kLongestNs = 250'000, kLongestThereNs = 1'000'000;
  if (!isObserved_ || !device.callerHabit().waits()) return false;
  int64_t ns = runNs_.load(std::memory_order_relaxed);
  return ns != 0 && ns <= (isAsynchronous_ ? kLongestThereNs : kLongestNs);
}

Event LoadedExecutable::completion(const AssignedDevice& assigned, Event done) const {
  // What user code launches must not wait for the launch that the user code is part of.
  if (!callsUserCode_ || TaskQueue::isQueueThread()) return done;
  return assigned.device->inOrder(std::move(done));
}

RunRequest LoadedExecutable::requestOn(const AssignedDevice& assigned, RunServices& services,
                                       ffi::LaunchUserData* userData) {
  RunRequest request;
  request.replica = assigned.logicalId.replica;
  request.partition = assigned.logicalId.partition;
  request.deviceId = assigned.device->id();
  request.assignment = assigned.assignment;
  request.services = &services;
  request.userData = userData;
  return request;
}

Status LoadedExecutable::copyAliased(Storage& argument, Storage& result, const void*& parameter) {
  ISTHMUS_RETURN_IF_ERROR(
      result.memory().copyFrom(result.data(), argument.memory(), argument.data(), result.bytes()));
  parameter = result.data();
  return {};
}

// What a run of the device uses, which may be at it when nobody waits for it any more.
struct LoadedExecutable::TimedRun {
  TimedRun(const LoadedExecutable& program, const RunRequest& request)
      : executable(program.executable_),
        limits(*program.client_),
        services(*program.client_, request.services->numThreads()),
        assignment(request.assignment ? std::optional(*request.assignment) : std::nullopt),
        userData(const_cast<ffi::LaunchUserData*>(
            static_cast<const ffi::LaunchUserData*>(request.userData))),
        parameters(request.parameters.begin(), request.parameters.end()),
        results(request.results.begin(), request.results.end()),
        own(request) {
    own.parameters = parameters;
    own.results = results;
    own.services = &services;
    if (assignment) own.assignment = &*assignment;
  }
  Status run() const {
    ScopedFloatMode mode(FloatMode::kProgram);
    const ProgramMemory::LimitScope scope(&limits);
    return executable->run(own);
  }

  const std::shared_ptr<const Executable> executable;
  const ProgramLimits limits;
  LaunchServices services;
  const std::optional<DeviceAssignment> assignment;
  const Ref<ffi::LaunchUserData> userData;
  const std::vector<const void*> parameters;
  std::vector<void*> results;
  RunRequest own;
};

Status LoadedExecutable::runDriven(const RunRequest& request) const {
  ISTHMUS_ASSIGN_OR_RETURN(Device * found, client_->lookupDevice(request.deviceId));
  Device& device = *found;
  Status status;
  // Code of the user takes its own time.
  if (callsUserCode_ || !device.isTimed()) {
    const ProgramLimits limits(*client_);
    const ProgramMemory::LimitScope scope(&limits);
    status = executable_->run(request);
  } else {
    auto timed = std::make_shared<const TimedRun>(*this, request);
    status = device.inTime("program " + info_.name, [timed] { return timed->run(); });
  }
  return device.defaultMemory()->describeShortage(status);
}

Status LoadedExecutable::run(const RunRequest& request) const {
  ScopedFloatMode mode(FloatMode::kProgram);
  auto run = [&] { return isDriven_ ? runDriven(request) : executable_->run(request); };
  if (!isObserved_) return run();
  auto begin = std::chrono::steady_clock::now();
  Status status = run();
  noteRun(std::chrono::steady_clock::now() - begin);
  return status;
}

void LoadedExecutable::noteRun(std::chrono::nanoseconds took) const {
  const int64_t ns = std::max<int64_t>(took.count(), 1);
  // The machine's other work makes runs longer, never shorter.
  int64_t before = runNs_.load(std::memory_order_relaxed);
  runNs_.store(ns > before && before != 0 ? before + (ns - before) / 8 : ns,
               std::memory_order_relaxed);
}

bool LoadedExecutable::canRunInline(std::span<const DeviceLaunch> launches) const {
  // One after the other: what waits for another device would wait for ever, and more devices than
  // these are sooner done side by side.
  constexpr size_t kMaxDevices = 8;
  bool areApart = assigned_.size() == 1 || (info_.exchanges.empty() && !callsUserCode_);
  if (!areApart || assigned_.size() > kMaxDevices || isOverProcesses_) return false;
  for (size_t i = 0; i < assigned_.size(); ++i) {
    if (!canRunInline(assigned_[i], launches[i])) return false;
  }
  return true;
}

Status LoadedExecutable::launchInline(std::span<const AssignedDevice> assigned,
                                      std::span<const DeviceLaunch> launches,
                                      const ExecuteOptions& options) const {
  Acquisition acquired(launches, parameters_.size());
  ISTHMUS_RETURN_IF_ERROR(acquired.acquire(*this, options));
  for (size_t i = 0; i < assigned.size(); ++i) {
    acquired.handOver();
    ISTHMUS_RETURN_IF_ERROR(runInline(assigned[i], launches[i], options, acquired.isDonated(i)));
  }
  return {};
}

Status LoadedExecutable::runInline(const AssignedDevice& assigned, const DeviceLaunch& launch,
                                   const ExecuteOptions& options,
                                   std::span<const bool> isDonated) const {
  const uint32_t number = beginLaunch(*assigned.device);
  std::optional<SmallArray<Ref<Storage>, 16>> storages;  // null if there was no memory for it
  bool isPoisoned = false;
  auto storageOfArgument = [&](size_t i) -> StatusOr<Storage*> {
    Buffer& argument = *launch.arguments[i];
    const Status& defined = argument.definition().status();
    isPoisoned = !defined.ok();
    if (isPoisoned) return defined;
    return argument.storage();
  };
  auto storageOfResult = [&](size_t i) -> StatusOr<Storage*> {
    const Output& output = outputs_[i];
    const int aliased = output.aliasedParameter;
    if (aliased >= 0 && isDonated[aliased] && launch.arguments[aliased]->isExclusive()) {
      ISTHMUS_ASSIGN_OR_RETURN(Storage * storage, launch.arguments[aliased]->storage());
      (*storages)[i] = Ref<Storage>(storage);
      return storage;
    }
    ISTHMUS_ASSIGN_OR_RETURN(
        (*storages)[i],
        Storage::allocate(outputMemory(*assigned.device, output), output.type->sizeBytes()));
    return (*storages)[i].get();
  };
  Status status = caught([&]() -> Status {
    storages.emplace(outputs_.size());
    LaunchServices services(*client_, computeThreads());
    return bindAndRun(requestOn(assigned, services, options.userData), storageOfArgument,
                      storageOfResult);
  });
  for (Buffer* argument : launch.arguments) argument->dropHold();
  // Who is told at once need not find out from the results that their program's user code failed: a
  // framework would hand them on to its next launch, as tokens of ordered effects.
  if (!status.ok() && callsUserCode_ && !isPoisoned) return status;
  Event done = Event::of(std::move(status));
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Ref<Storage> storage;
    if (storages) storage = std::move((*storages)[i]);
    launch.results[i] = makeRef<Buffer>(outputMemory(*assigned.device, outputs_[i]),
                                        outputs_[i].type, std::move(storage), done);
    launch.results[i]->setLaunch(number);
  }
  endLaunch(*assigned.device);
  if (launch.complete != nullptr) *launch.complete = completion(assigned, std::move(done));
  return {};
}

// What the caller has yet to do before all arguments are there.
Event LoadedExecutable::callersPartOf(std::span<const DeviceLaunch> launches) {
  std::vector<Event> pending;
  for (const DeviceLaunch& launch : launches) {
    for (const Buffer* argument : launch.arguments) {
      if (!argument->definition().isReady()) pending.push_back(argument->definition());
    }
  }
  return callersPart(pending);
}

Status LoadedExecutable::launchQueued(std::span<const AssignedDevice> assigned,
                                      std::span<const DeviceLaunch> launches,
                                      const ExecuteOptions& options, const LaunchInfo& info) {
  Event callersPart = callersPartOf(launches);
  bool waitsForCaller = !callersPart.isReady();
  if (waitsForCaller) {
    Status admitted = client_->admitForCaller(assigned.size(), callersPart);
    if (!admitted.ok()) return admitted.withContext("execute " + info_.name);
  }
  std::vector<std::unique_ptr<Launch>> queued;
  for (size_t i = 0; i < assigned.size(); ++i) {
    auto launch = std::make_unique<Launch>(Ref<LoadedExecutable>(this), assigned[i], options, info,
                                           Promise::after(callersPart));
    launch->isDonated_ = std::make_unique<bool[]>(parameters_.size());
    queued.push_back(std::move(launch));
  }
  Acquisition acquired(launches, parameters_.size());
  ISTHMUS_RETURN_IF_ERROR(acquired.acquire(*this, options));
  for (size_t i = 0; i < assigned.size(); ++i) {
    Launch& launch = *queued[i];
    std::ranges::copy(acquired.isDonated(i), launch.isDonated_.get());
    for (Buffer* argument : launches[i].arguments) launch.arguments_.emplace_back(argument);
    if (isAsynchronous_) launch.work_ = makeRef<DeviceWork>(outputDescriptions_);
    launch.isAwaited_ = info.participants == 1 && isAwaitedThere(assigned[i], launches[i]);
    Event done = launch.done_.event(), defined = launch.defined_.event();
    const uint32_t number = beginLaunch(*assigned[i].device);
    for (size_t o = 0; o < outputs_.size(); ++o) {
      auto result = makeRef<Buffer>(outputMemory(*assigned[i].device, outputs_[o]),
                                    outputs_[o].type, nullptr, defined);
      int aliased = outputs_[o].aliasedParameter;
      if (aliased >= 0 && launch.isDonated_[aliased]) {
        result->setAliasSource(launch.arguments_[aliased]);
      }
      if (isAsynchronous_) result->setWork(launch.work_, static_cast<int>(o));
      result->setLaunch(number);
      result->beginWriting();
      launch.results_.push_back(result);
      launches[i].results[o] = std::move(result);
    }
    if (launches[i].complete != nullptr) {
      *launches[i].complete = completion(assigned[i], std::move(done));
    }
  }
  std::vector<Event> done;
  for (auto& launch : queued) done.push_back(launch->done_.event());
  if (info.participants > 1 || isOverProcesses_) {
    client_->collectives().prepareLaunch(info.id, info.participants);
  }
  for (size_t i = 0; i < assigned.size(); ++i) acquired.handOver();
  Gang::start(std::move(queued));
  if (waitsForCaller) return {};
  for (size_t i = 0; i < assigned.size(); ++i) {
    (void)assigned[i].device->throttle(std::move(done[i]));
    endLaunch(*assigned[i].device);
  }
  return {};
}

Status LoadedExecutable::execute(std::span<const DeviceLaunch> launches,
                                 const ExecuteOptions& options) {
  if (isDeleted()) return invalidArgument("execute ", info_.name, ": the executable was deleted");
  if (isPortable_) {
    return invalidArgument("execute ", info_.name,
                           ": a portable executable needs a device to run on");
  }
  if (launches.size() != assigned_.size()) {
    return invalidArgument("execute ", info_.name, ": got arguments for ", launches.size(),
                           " devices, the program runs on ", assigned_.size());
  }
  for (size_t i = 0; i < launches.size(); ++i) {
    ISTHMUS_RETURN_IF_ERROR(checkArguments(assigned_[i], launches[i]));
  }
  if (canRunInline(launches)) return launchInline(assigned_, launches, options);
  // Within one process the number need not be found by others.
  int64_t id = isOverProcesses_ ? launchCounts_->nextOnAll() : client_->nextLaunchId();
  return launchQueued(assigned_, launches, options,
                      {id, static_cast<int>(launches.size()), introduce()});
}

std::shared_ptr<Introduction> LoadedExecutable::introduce() {
  if (!isOverProcesses_ || !launchCounts_->isFirst()) return nullptr;
  Job& job = *client_->job();
  return std::make_shared<Introduction>(
      job, Job::Introduction{processes_, job.nextOrder(processes_), info_.name, info_.exchanges});
}

Status LoadedExecutable::executeOn(Device& device, const DeviceLaunch& launch,
                                   const ExecuteOptions& options) {
  if (isDeleted()) return invalidArgument("execute ", info_.name, ": the executable was deleted");
  AssignedDevice assigned{&device, {}, nullptr};
  size_t index = 0;
  if (isPortable_) {
    std::span<Device* const> devices = client_->addressableDevices();
    auto found = std::find(devices.begin(), devices.end(), &device);
    if (found == devices.end()) {
      return invalidArgument("execute ", info_.name, ": device ", device.id(),
                             " is not an addressable device of this client");
    }
    assigned.assignment = &portableAssignments_[static_cast<size_t>(found - devices.begin())];
  } else {
    auto found = std::find(devices_.begin(), devices_.end(), &device);
    if (found == devices_.end()) {
      return invalidArgument("execute ", info_.name, ": device ", device.id(),
                             " is not in the program's device assignment");
    }
    index = static_cast<size_t>(found - devices_.begin());
    assigned = assigned_[index];
  }
  ISTHMUS_RETURN_IF_ERROR(checkArguments(assigned, launch));
  auto participants = isPortable_ ? 1 : static_cast<int>(assigned_.size());
  if (participants == 1 && !isOverProcesses_ && canRunInline(assigned, launch)) {
    return launchInline({&assigned, 1}, {&launch, 1}, options);
  }
  // The n-th call for one device meets the n-th calls for the others. Processes need not do their
  // launches by the same entry, so the caller's number counts in one process only.
  int64_t id = isPortable_ ? client_->nextLaunchId()
                           : launchCounts_->next(index, isOverProcesses_ ? 0 : options.launchId);
  return launchQueued({&assigned, 1}, {&launch, 1}, options, {id, participants, introduce()});
}

}  // namespace isthmus

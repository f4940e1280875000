// A launch on an asynchronous device: everything that it waits for as events, everything that it
// uses kept until its end.
#include "isthmus/float_mode.h"
#include "runtime/executable/launch.h"
#include "runtime/memory/program_limits.h"

namespace isthmus {

namespace {

// Of a launch that ends now. Where nobody waits for it in the device, a thread or two have been
// woken since.
std::chrono::nanoseconds tookOf(const LaunchInFlight& flight) {
  constexpr std::chrono::microseconds kWakeUps{100};
  std::chrono::nanoseconds took = std::chrono::steady_clock::now() - flight.begin;
  return flight.event ? took - kWakeUps : took;
}

}  // namespace

LaunchInFlight::LaunchInFlight(Ref<LoadedExecutable> executable, int maxThreads)
    : executable(std::move(executable)), services(this->executable->client(), maxThreads) {}

Status Launch::prepareResults(LaunchInFlight& flight, std::vector<DeviceEventRef>& after) {
  for (size_t i = 0; i < results_.size(); ++i) {
    int aliased = executable_->outputs_[i].aliasedParameter;
    ISTHMUS_ASSIGN_OR_RETURN(Storage * storage, results_[i]->storage());
    flight.results[i] = storage->data();
    storage->addUsesTo(after);
    if (aliased < 0 || flight.parameters[aliased] == flight.results[i]) continue;
    // The argument stays somebody else's.
    ISTHMUS_ASSIGN_OR_RETURN(Storage * source, arguments_[aliased]->storage());
    ISTHMUS_ASSIGN_OR_RETURN(DeviceEventRef copied, storage->memory().queue()->copyFromDevice(
                                                        storage->data(), device().id(),
                                                        source->data(), storage->bytes(), after));
    source->addUse(copied);
    storage->addUse(copied);
    addDependency(after, copied);
    flight.parameters[aliased] = flight.results[i];
  }
  return {};
}

Status Launch::enqueueProgram() {
  ISTHMUS_RETURN_IF_ERROR(device().givenUp());
  auto flight = std::make_unique<LaunchInFlight>(executable_, maxThreads());
  std::vector<DeviceEventRef> after;
  flight->parameters.resize(arguments_.size());
  for (size_t i = 0; i < arguments_.size(); ++i) {
    Buffer& argument = *arguments_[i];
    // Asked before it is waited for: one that fails in between would be told as the program's
    // error.
    const bool isPending = !argument.definition().isReady();
    ISTHMUS_RETURN_IF_ERROR(argument.addDefinitionTo(after));
    if (isPending) flight->definitions.push_back(argument.definition());
    ISTHMUS_ASSIGN_OR_RETURN(Storage * storage, argument.storage());
    flight->parameters[i] = storage->data();
  }
  flight->results.resize(results_.size());
  ISTHMUS_RETURN_IF_ERROR(prepareResults(*flight, after));
  Ref<Storage> scratch;
  if (size_t bytes = executable_->executable_->scratchBytes(); bytes > 0) {
    StatusOr<Ref<Storage>> made = Storage::allocate(
        *device().defaultMemory(), bytes, {nullptr, "temporaries of " + executable_->info().name});
    if (!made.ok()) {
      return made.status().withContext("program " + executable_->info().name + ": temporaries");
    }
    scratch = *std::move(made);
    scratch->addUsesTo(after);
  }
  if (info_.introduction != nullptr) ISTHMUS_RETURN_IF_ERROR(info_.introduction->wait());
  flight->userData = userData_;
  flight->request = makeRequest(flight->services);
  flight->request.scratch = scratch ? scratch->data() : nullptr;
  flight->request.parameters = flight->parameters;
  flight->request.results = flight->results;
  flight->request.isAwaited = isAwaited_;
  flight->begin = std::chrono::steady_clock::now();
  {
    ScopedFloatMode mode(FloatMode::kProgram);
    const ProgramLimits limits(executable_->client());
    const ProgramMemory::LimitScope scope(&limits);
    StatusOr<DeviceEventRef> event = executable_->executable_->enqueue(flight->request, after);
    // Of memory that the backend has itself: arenas, constants, libraries.
    if (!event.ok()) return device().defaultMemory()->describeShortage(event.status());
    flight->event = *std::move(event);
  }
  // From here on the memory may go any time: it waits for the program.
  for (BufferRef& argument : arguments_) (*argument->storage())->addUse(flight->event);
  for (BufferRef& result : results_) (*result->storage())->addUse(flight->event);
  if (scratch) scratch->addUse(flight->event);
  inFlight_ = std::move(flight);
  return {};
}

void Launch::endWithDevice() {
  Device& device = this->device();
  std::shared_ptr<LaunchInFlight> flight = std::move(inFlight_);
  device.whenDone(Device::Lane::kLaunches, flight->event, "program " + executable_->info().name,
                  [flight, info = info_, done = done_, device = device.id()](Status end) {
                    LoadedExecutable& executable = *flight->executable;
                    bool isNamed = end.code() == StatusCode::kDeadlineExceeded;
                    if (!isNamed) end = end.withContext("program " + executable.info().name);
                    if (executable.isObserved_ && end.ok()) executable.noteRun(tookOf(*flight));
                    notifyEnd(executable, info, end, device);
                    whenAll(flight->definitions).onReady([flight, done, end](const Status& before) {
                      done.set(before.ok() ? end : before);
                    });
                  });
  work_->hand(flight->event);
}

}  // namespace isthmus

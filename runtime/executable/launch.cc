// Waiting for arguments, running on the device's thread, and defining the results.
#include "runtime/executable/launch.h"

#include <algorithm>

#include "isthmus/trace.h"
#include "runtime/collectives/in_process.h"
#include "runtime/memory/host_allocator.h"
#include "runtime/memory/host_layout.h"
#include "runtime/threads/host_threads.h"
#include "runtime/threads/thread_pool.h"

namespace isthmus {

int LaunchServices::numThreads() const { return std::min(maxThreads_, computeThreads()); }

void LaunchServices::parallelFor(int64_t tiles, int64_t grain, TileFunction function,
                                 void* context) {
  isthmus::parallelFor(tiles, grain, function, context, maxThreads_);
}

void* LaunchServices::allocateScratch(size_t bytes) { return hostAllocate(bytes); }

void LaunchServices::freeScratch(void* data, size_t bytes) { hostDeallocate(data, bytes); }

Collectives& LaunchServices::collectives() { return client_.collectives(); }

Launch::Launch(Ref<LoadedExecutable> executable, const LoadedExecutable::AssignedDevice& assigned,
               const ExecuteOptions& options, const LoadedExecutable::LaunchInfo& info,
               Promise done)
    : executable_(std::move(executable)),
      assigned_(assigned),
      info_(info),
      userData_(options.userData),
      done_(std::move(done)),
      defined_(done_) {
  if (executable_->callsUserCode_ && !executable_->isAsynchronous_ && info_.participants > 1) {
    defined_ = Promise::after(done_.event());
  }
  pending_.launchId = options.launchId;
}

void Launch::run() {
  Status status = device().removePending(pending_);
  if (status.ok()) status = argumentError_;
  bool mayEndBefore = !(defined_ == done_);
  if (mayEndBefore) {
    executable_->client().collectives().onAbort(
        info_.id, device().id(), [defined = defined_](const Status& error) { defined.set(error); });
  }
  if (status.ok()) status = runGuarded();
  bool isInFlight = work_ && status.ok();
  if (!isInFlight) notifyEnd(*executable_, info_, status, device().id());
  // Before the results happen, so that memory is free when somebody sees that they have.
  for (BufferRef& argument : arguments_) argument->dropHold();
  for (BufferRef& result : results_) result->endWriting();
  arguments_.clear();
  results_.clear();
  if (isInFlight) return endWithDevice();
  if (work_) work_->fail(status);
  if (mayEndBefore) defined_.set(status);
  done_.set(std::move(status));
}

void Launch::notifyEnd(LoadedExecutable& executable, const LoadedExecutable::LaunchInfo& info,
                       const Status& status, int deviceId) {
  if (info.participants > 1 || executable.isOverProcesses()) {
    InProcessCollectives& collectives = executable.client().collectives();
    if (!status.ok()) collectives.abortLaunch(info.id, status);
    collectives.leaveLaunch(info.id, info.participants, deviceId);
  }
  if (executable.isOverProcesses() && !status.ok()) {
    // The other processes would wait for this one.
    (void)executable.client().job()->fail(status.withContext("program " + executable.info().name));
  }
}

Status Launch::runGuarded() {
  return executable_->caught([&] { return work_ ? enqueueProgram() : runProgram(); });
}

Status Launch::runProgram() {
  if (info_.introduction != nullptr) ISTHMUS_RETURN_IF_ERROR(info_.introduction->wait());
  LaunchServices services(executable_->client(), maxThreads());
  return executable_->bindAndRun(
      makeRequest(services), [this](size_t i) { return arguments_[i]->storage(); },
      [this](size_t i) { return results_[i]->storage(); });
}

int Launch::maxThreads() const { return std::max(1, computeThreads() / info_.participants); }

RunRequest Launch::makeRequest(RunServices& services) const {
  RunRequest request = LoadedExecutable::requestOn(assigned_, services, userData_.get());
  request.launchId = info_.id;
  return request;
}

void Gang::start(std::vector<std::unique_ptr<Launch>> launches) {
  auto* gang = new Gang;
  gang->launches_ = std::move(launches);
  LoadedExecutable& executable = *gang->launches_[0]->executable_;
  if (executable.isOverProcesses() && !executable.callsUserCode_) {
    std::lock_guard lock(executable.client().gangMutex());
    executable.client().gangsInOrder().push_back(gang);
  }
  for (auto& launch : gang->launches_) {
    launch->device().addPending(launch->pending_);
    for (BufferRef& argument : launch->arguments_) {
      if (argument->usable().isReady()) continue;
      gang->missing_.fetch_add(1, std::memory_order_relaxed);
      argument->usable().onReady([gang](const Status&) { gang->arrive(); });
    }
  }
  gang->arrive();
}

void Gang::arrive() {
  if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // An error of one part's argument is one of all: the others would wait for that part in vain.
  Status error;
  for (auto& launch : launches_) {
    for (BufferRef& argument : launch->arguments_) {
      if (error.ok()) error = argument->usable().status();
    }
  }
  if (!error.ok()) {
    for (auto& launch : launches_) launch->argumentError_ = error;
  }
  // A launch that runs and finishes at once must not take the client with it.
  Ref<LoadedExecutable> keep = launches_[0]->executable_;
  if (keep->callsUserCode_) {
    startOnHostThreads();
    delete this;
    return;
  }
  if (launches_.size() == 1 && !keep->isOverProcesses()) {
    // Handing over at once saves a thread's wake-up; on the device, order follows from events. A
    // device that is profiled may wait for the program.
    bool isOwn = keep->isCheap_ || launches_[0]->isAwaited_;
    if (launches_[0]->work_ && isOwn && !trace::isOn()) {
      launches_[0]->run();
    } else {
      enqueue();
    }
    delete this;
    return;
  }
  // Parts that run here, one after the other, would wait for each other for ever.
  auto hasThread = [](const auto& launch) { return launch->device().queue().startThread(); };
  if (!std::all_of(launches_.begin(), launches_.end(), hasThread)) {
    failFrom(0);
    if (!keep->isOverProcesses()) {
      delete this;
      return;
    }
    launches_.clear();  // its turn comes all the same
  }
  Client& client = keep->client();
  std::lock_guard lock(client.gangMutex());
  if (!keep->isOverProcesses()) {
    enqueue();
    delete this;
    return;
  }
  isReady_ = true;
  std::deque<Gang*>& gangs = client.gangsInOrder();
  while (!gangs.empty() && gangs.front()->isReady_) {
    std::unique_ptr<Gang> gang(gangs.front());
    gangs.pop_front();
    gang->enqueue();
  }
}

void Gang::enqueue() {
  for (auto& launch : launches_) {
    Device& device = launch->device();
    device.queue().push(std::move(launch));
  }
}

void Gang::startOnHostThreads() {
  for (size_t i = 0; i < launches_.size(); ++i) {
    std::unique_ptr<Task> task = std::move(launches_[i]);
    if (runOnHostThread(task)) continue;
    if (launches_.size() == 1) {
      task->run();
      return;
    }
    launches_[i].reset(static_cast<Launch*>(task.release()));
    return failFrom(i);
  }
}

void Gang::failFrom(size_t index) {
  for (; index < launches_.size(); ++index) {
    launches_[index]->argumentError_ =
        resourceExhausted("no thread can be started for the devices of a launch");
    launches_[index]->run();
  }
}

}  // namespace isthmus

// Waiting for arguments, running on the device's thread, and defining the results.
#include "runtime/launch.h"

#include "runtime/collectives/in_process.h"
#include "runtime/host_allocator.h"
#include "runtime/host_layout.h"
#include "runtime/host_threads.h"
#include "runtime/thread_pool.h"

namespace isthmus {

int LaunchServices::numThreads() const { return std::min(maxThreads_, computeThreads()); }

void LaunchServices::parallelFor(int64_t tiles, int64_t grain, TileFunction function,
                                 void* context) {
  isthmus::parallelFor(tiles, grain, function, context, maxThreads_);
}

void* LaunchServices::allocateScratch(size_t bytes) { return hostAllocate(bytes); }

void LaunchServices::freeScratch(void* data, size_t bytes) { hostDeallocate(data, bytes); }

Collectives& LaunchServices::collectives() { return client_.collectives(); }

Launch::Launch(Ref<LoadedExecutable> executable, const LoadedExecutable::Place& place,
               const ExecuteOptions& options, int64_t runId, int participants)
    : executable_(std::move(executable)),
      place_(place),
      runId_(runId),
      participants_(participants),
      userData_(options.userData) {
  pending_.launchId = options.launchId;
}

void Launch::run() {
  Status status = device().removePending(pending_);
  if (status.ok()) status = argumentError_;
  if (status.ok()) status = runProgram();
  if (participants_ > 1) {
    InProcessCollectives& collectives = executable_->client().collectives();
    if (!status.ok()) collectives.abortLaunch(runId_, status);
    collectives.leaveLaunch(runId_, participants_);
  }
  // Before the results happen, so that memory is free when somebody sees that they have.
  for (BufferRef& argument : arguments_) argument->dropHold();
  for (BufferRef& result : results_) result->endWriting();
  arguments_.clear();
  results_.clear();
  done_.set(std::move(status));
}

Status Launch::runProgram() {
  std::vector<const void*> parameters(arguments_.size());
  for (size_t i = 0; i < arguments_.size(); ++i) {
    ISTHMUS_ASSIGN_OR_RETURN(Storage * storage, arguments_[i]->storage());
    parameters[i] = storage->data();
  }
  std::vector<void*> results(results_.size());
  for (size_t i = 0; i < results_.size(); ++i) {
    int aliased = executable_->outputs_[i].aliasedParameter;
    ISTHMUS_ASSIGN_OR_RETURN(Storage * storage, results_[i]->storage());
    results[i] = storage->data();
    if (aliased >= 0 && parameters[aliased] != results[i]) {
      ISTHMUS_ASSIGN_OR_RETURN(Storage * source, arguments_[aliased]->storage());
      ISTHMUS_RETURN_IF_ERROR(storage->memory().copyFrom(results[i], source->memory(),
                                                         source->data(), storage->bytes()));
      parameters[aliased] = results[i];
    }
  }
  LaunchServices services(executable_->client(), std::max(1, computeThreads() / participants_));
  RunRequest request;
  request.replica = place_.logicalId.replica;
  request.partition = place_.logicalId.partition;
  request.deviceId = device().id();
  request.launchId = runId_;
  request.parameters = parameters;
  request.results = results;
  request.assignment = place_.assignment;
  request.services = &services;
  request.userData = userData_.get();
  return executable_->executable_->run(request);
}

void Gang::start(std::vector<std::unique_ptr<Launch>> launches) {
  auto* gang = new Gang;
  gang->launches_ = std::move(launches);
  for (auto& launch : gang->launches_) {
    launch->device().addPending(launch->pending_);
    for (BufferRef& argument : launch->arguments_) {
      if (argument->definition().isReady()) continue;
      gang->missing_.fetch_add(1, std::memory_order_relaxed);
      argument->definition().onReady([gang](const Status&) { gang->arrive(); });
    }
  }
  gang->arrive();
}

void Gang::arrive() {
  if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  std::unique_ptr<Gang> self(this);
  // An error of one part's argument is one of all: the others would wait for that part in vain.
  Status error;
  for (auto& launch : launches_) {
    for (BufferRef& argument : launch->arguments_) {
      if (error.ok()) error = argument->definition().status();
    }
  }
  if (!error.ok()) {
    for (auto& launch : launches_) launch->argumentError_ = error;
  }
  // A launch that runs and finishes at once must not take the client with it.
  Ref<LoadedExecutable> keep = launches_[0]->executable_;
  if (keep->callsUserCode_) {
    for (auto& launch : launches_) runOnHostThread(std::move(launch));
    return;
  }
  if (launches_.size() == 1) {
    Device& device = launches_[0]->device();
    device.queue().push(std::move(launches_[0]));
    return;
  }
  std::lock_guard lock(keep->client().gangMutex());
  for (auto& launch : launches_) {
    Device& device = launch->device();
    device.queue().push(std::move(launch));
  }
}

}  // namespace isthmus

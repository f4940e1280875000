#include "backends/cuda/driver/nccl.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "base/shared_library.h"

namespace isthmus::cuda {
namespace {

constexpr int kSuccess = 0;
constexpr int kInProgress = 7;
// Launches of a group that are remembered: more than can be under way.
constexpr size_t kRememberedLaunches = 256;
constexpr auto kPollInterval = std::chrono::milliseconds(50);
// A call that does not return by then waits for other devices.
constexpr auto kCallPatience = std::chrono::seconds(1);

using Communicator = void*;

double nowSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

// X(member, symbol, parameters)
#define ISTHMUS_NCCL_FUNCTIONS(X)                                                               \
  X(CommInitAll, "ncclCommInitAll", (Communicator*, int, const int*))                           \
  X(CommAbort, "ncclCommAbort", (Communicator))                                                 \
  X(CommGetAsyncError, "ncclCommGetAsyncError", (Communicator, int*))                           \
  X(GroupStart, "ncclGroupStart", ())                                                           \
  X(GroupEnd, "ncclGroupEnd", ())                                                               \
  X(AllReduce, "ncclAllReduce", (const void*, void*, size_t, int, int, Communicator, CUstream)) \
  X(ReduceScatter, "ncclReduceScatter",                                                         \
    (const void*, void*, size_t, int, int, Communicator, CUstream))                             \
  X(AllGather, "ncclAllGather", (const void*, void*, size_t, int, Communicator, CUstream))      \
  X(Send, "ncclSend", (const void*, size_t, int, int, Communicator, CUstream))                  \
  X(Recv, "ncclRecv", (void*, size_t, int, int, Communicator, CUstream))

struct NcclFunctions {
#define ISTHMUS_NCCL_MEMBER(name, symbol, parameters) int(*name) parameters = nullptr;
  ISTHMUS_NCCL_FUNCTIONS(ISTHMUS_NCCL_MEMBER)
#undef ISTHMUS_NCCL_MEMBER
  const char* (*GetErrorString)(int) = nullptr;
};

Status NcclGroup::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

Status NcclRun::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

Nccl::Nccl(std::unique_ptr<NcclFunctions> functions, Driver& driver, double timeoutSeconds)
    : functions_(std::move(functions)), driver_(driver), timeoutSeconds_(timeoutSeconds) {}

StatusOr<std::unique_ptr<Nccl>> Nccl::load(const std::string& path, Driver& driver,
                                           double timeoutSeconds) {
  ISTHMUS_ASSIGN_OR_RETURN(SharedLibrary library, SharedLibrary::open("NCCL", path));
  auto functions = std::make_unique<NcclFunctions>();
#define ISTHMUS_NCCL_FIND(name, symbol, parameters) \
  ISTHMUS_RETURN_IF_ERROR(library.find(symbol, functions->name));
  ISTHMUS_NCCL_FUNCTIONS(ISTHMUS_NCCL_FIND)
#undef ISTHMUS_NCCL_FIND
  ISTHMUS_RETURN_IF_ERROR(library.find("ncclGetErrorString", functions->GetErrorString));
  return std::unique_ptr<Nccl>(new Nccl(std::move(functions), driver, timeoutSeconds));
}

Nccl::~Nccl() {
  {
    std::lock_guard lock(mutex_);
    isEnding_ = true;
  }
  changed_.notify_all();
  if (watcher_.joinable()) watcher_.join();
  for (auto& [devices, slot] : slots_) {
    if (slot->current) fail(slot->current, internalError("NCCL is no longer needed"));
  }
}

Status Nccl::check(int code, const char* call) const {
  if (code == kSuccess) return {};
  const char* text = functions_->GetErrorString(code);
  return internalError(call, " failed: ", text ? text : "unknown error", " (", code, ")");
}

bool Nccl::canMeet(std::span<const int64_t> devices) const {
  std::set<int> gpus;
  for (int64_t device : devices) {
    if (device < 0 || device >= driver_.numDevices()) return false;
    gpus.insert(driver_.ordinal(static_cast<int>(device)));
  }
  return devices.size() > 1 && gpus.size() == devices.size();
}

StatusOr<std::shared_ptr<NcclGroup>> Nccl::group(const std::vector<int64_t>& devices,
                                                 int64_t launchId) {
  std::shared_ptr<Slot> slot;
  {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Slot>& known = slots_[devices];
    if (!known) known = std::make_shared<Slot>();
    slot = known;
  }
  // Only those who wait for this very group wait while it is made: others' collectives may have to
  // go on for that.
  std::lock_guard lock(slot->mutex);
  if (slot->current && !slot->current->failure().ok()) slot->failed = std::move(slot->current);
  if (slot->failed) {
    std::lock_guard groupLock(slot->failed->mutex_);
    const std::vector<int64_t>& launches = slot->failed->launches_;
    if (std::find(launches.begin(), launches.end(), launchId) != launches.end()) {
      return slot->failed->failure_;
    }
  }
  if (!slot->current) {
    auto made = std::make_shared<NcclGroup>(devices);
    made->communicators_.resize(devices.size(), nullptr);
    std::vector<int> ordinals;
    for (int64_t device : devices) ordinals.push_back(driver_.ordinal(static_cast<int>(device)));
    ISTHMUS_RETURN_IF_ERROR(
        check(functions_->CommInitAll(made->communicators_.data(),
                                      static_cast<int>(ordinals.size()), ordinals.data()),
              "ncclCommInitAll"));
    slot->current = std::move(made);
  }
  NcclGroup& group = *slot->current;
  std::lock_guard groupLock(group.mutex_);
  if (std::find(group.launches_.begin(), group.launches_.end(), launchId) ==
      group.launches_.end()) {
    if (group.launches_.size() >= kRememberedLaunches) {
      group.launches_.erase(group.launches_.begin());
    }
    group.launches_.push_back(launchId);
  }
  return slot->current;
}

void Nccl::fail(const std::shared_ptr<NcclGroup>& group, const Status& status) {
  {
    std::lock_guard lock(group->mutex_);
    if (!group->failure_.ok()) return;
    group->failure_ = status;
  }
  {
    // Before anything ends, which would look like success.
    std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [&](const std::shared_ptr<Waiting>& waiting) {
      if (waiting->part.group != group) return false;
      StatusOr<bool> isDone =
          waiting->end ? driver_.isDone(waiting->part.device, waiting->end) : StatusOr<bool>(false);
      if (isDone.ok() && *isDone) return true;
      std::lock_guard runLock(waiting->part.run->mutex_);
      if (waiting->part.run->failure_.ok()) waiting->part.run->failure_ = status;
      return true;
    });
  }
  std::unique_lock lock(group->mutex_);
  // No call begins any more. One that is under way returns soon, or waits for other devices, which
  // only this ends.
  group->idle_.wait_for(lock, kCallPatience, [&] {
    return std::ranges::all_of(group->calling_, [](int calls) { return calls == 0; });
  });
  lock.unlock();
  for (Communicator communicator : group->communicators_) functions_->CommAbort(communicator);
}

Status Nccl::call(const NcclPart& part, const std::function<Status(void*, CUstream)>& enqueue) {
  NcclGroup& group = *part.group;
  const auto rank = static_cast<size_t>(part.rank);
  ISTHMUS_ASSIGN_OR_RETURN(ContextScope scope, driver_.enter(part.device));
  {
    std::lock_guard lock(group.mutex_);
    if (!group.failure_.ok()) return group.failure_;
    ++group.calling_[rank];
  }
  Status status = enqueue(group.communicators_[rank], driver_.stream(part.device, part.queue));
  {
    std::lock_guard lock(group.mutex_);
    --group.calling_[rank];
  }
  group.idle_.notify_all();
  return status;
}

Status Nccl::run(const NcclPart& part, const std::function<Status(void*, CUstream)>& enqueue) {
  auto waiting = std::make_shared<Waiting>();
  waiting->part = part;
  ISTHMUS_ASSIGN_OR_RETURN(waiting->begin, driver_.record(part.device, part.queue));
  {
    std::lock_guard lock(mutex_);
    if (!watcher_.joinable()) watcher_ = std::thread([this] { watch(); });
    waiting_.push_back(waiting);
  }
  changed_.notify_all();
  Status status = call(part, enqueue);
  StatusOr<DeviceEvent> end =
      status.ok() ? driver_.record(part.device, part.queue) : StatusOr<DeviceEvent>(status);
  {
    std::lock_guard lock(mutex_);
    if (end.ok()) {
      waiting->end = std::move(*end);
    } else {
      waiting_.remove(waiting);
    }
  }
  if (end.ok()) return {};
  fail(part.group, end.status().withContext(part.description));
  return part.group->failure();
}

Status Nccl::inGroup(const std::function<Status()>& calls) {
  ISTHMUS_RETURN_IF_ERROR(check(functions_->GroupStart(), "ncclGroupStart"));
  Status status = calls();
  // Even after an error: every start has an end.
  Status ended = check(functions_->GroupEnd(), "ncclGroupEnd");
  return status.ok() ? ended : status;
}

Status Nccl::look(Waiting& waiting, bool& isOver) {
  const NcclPart& part = waiting.part;
  // On a device that is lost nothing can be asked, and nobody comes any more.
  if (!waiting.hasBegun) {
    ISTHMUS_ASSIGN_OR_RETURN(waiting.hasBegun, driver_.isDone(part.device, waiting.begin));
    waiting.begunSeconds = nowSeconds();
  }
  if (waiting.end) {
    ISTHMUS_ASSIGN_OR_RETURN(isOver, driver_.isDone(part.device, waiting.end));
    if (isOver) return {};
  }
  if (part.abortedBy) ISTHMUS_RETURN_IF_ERROR(part.abortedBy());
  if (waiting.hasBegun && timeoutSeconds_ > 0 &&
      nowSeconds() - waiting.begunSeconds > timeoutSeconds_) {
    return Status(StatusCode::kDeadlineExceeded,
                  part.description + ": device " + std::to_string(part.device) +
                      " has waited longer than ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS for the other " +
                      std::to_string(part.group->ranks() - 1) + " devices of its group");
  }
  int found = kSuccess;
  {
    // An aborted communicator may not be asked any more.
    std::lock_guard lock(part.group->mutex_);
    if (!part.group->failure_.ok()) {
      isOver = true;
      return {};
    }
    ISTHMUS_RETURN_IF_ERROR(
        check(functions_->CommGetAsyncError(
                  part.group->communicators_[static_cast<size_t>(part.rank)], &found),
              "ncclCommGetAsyncError"));
  }
  return found == kInProgress ? Status() : check(found, part.description.c_str());
}

void Nccl::watch() {
  std::unique_lock lock(mutex_);
  while (!isEnding_) {
    if (waiting_.empty()) {
      changed_.wait(lock, [&] { return isEnding_ || !waiting_.empty(); });
      continue;
    }
    std::vector<std::pair<std::shared_ptr<NcclGroup>, Status>> failures;
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      bool isOver = false;
      Status status = look(**it, isOver);
      if (!status.ok()) failures.emplace_back((*it)->part.group, status);
      it = isOver ? waiting_.erase(it) : std::next(it);
    }
    lock.unlock();
    for (auto& [group, status] : failures) fail(group, status);
    failures.clear();
    lock.lock();
    changed_.wait_for(lock, kPollInterval, [&] { return isEnding_; });
  }
}

Status Nccl::allReduce(const NcclPart& part, NcclType type, NcclReduction reduction,
                       size_t elements, const void* input, void* output) {
  return run(part, [&](Communicator communicator, CUstream stream) {
    return check(functions_->AllReduce(input, output, elements, static_cast<int>(type),
                                       static_cast<int>(reduction), communicator, stream),
                 "ncclAllReduce");
  });
}

Status Nccl::reduceScatter(const NcclPart& part, NcclType type, NcclReduction reduction,
                           size_t elements, const void* input, void* output) {
  return run(part, [&](Communicator communicator, CUstream stream) {
    return check(functions_->ReduceScatter(input, output, elements, static_cast<int>(type),
                                           static_cast<int>(reduction), communicator, stream),
                 "ncclReduceScatter");
  });
}

Status Nccl::allGather(const NcclPart& part, size_t bytes, const void* input, void* output) {
  return run(part, [&](Communicator communicator, CUstream stream) {
    return check(functions_->AllGather(input, output, bytes, static_cast<int>(NcclType::kU8),
                                       communicator, stream),
                 "ncclAllGather");
  });
}

Status Nccl::allToAll(const NcclPart& part, size_t bytes, const void* input, void* output) {
  constexpr int kBytes = static_cast<int>(NcclType::kU8);
  return run(part, [&](Communicator communicator, CUstream stream) {
    return inGroup([&]() -> Status {
      for (size_t peer = 0; peer < part.group->ranks(); ++peer) {
        ISTHMUS_RETURN_IF_ERROR(
            check(functions_->Send(static_cast<const char*>(input) + peer * bytes, bytes, kBytes,
                                   static_cast<int>(peer), communicator, stream),
                  "ncclSend"));
        ISTHMUS_RETURN_IF_ERROR(
            check(functions_->Recv(static_cast<char*>(output) + peer * bytes, bytes, kBytes,
                                   static_cast<int>(peer), communicator, stream),
                  "ncclRecv"));
      }
      return {};
    });
  });
}

Status Nccl::permute(const NcclPart& part, std::span<const int64_t> sources, size_t bytes,
                     const void* input, void* output) {
  constexpr int kBytes = static_cast<int>(NcclType::kU8);
  const auto own = static_cast<size_t>(part.rank);
  if (sources[own] < 0) {
    ISTHMUS_RETURN_IF_ERROR(driver_.clear(part.device, part.queue, output, bytes));
  }
  return run(part, [&](Communicator communicator, CUstream stream) {
    return inGroup([&]() -> Status {
      for (size_t peer = 0; peer < part.group->ranks(); ++peer) {
        if (sources[peer] != static_cast<int64_t>(own)) continue;
        ISTHMUS_RETURN_IF_ERROR(check(
            functions_->Send(input, bytes, kBytes, static_cast<int>(peer), communicator, stream),
            "ncclSend"));
      }
      if (sources[own] < 0) return {};
      return check(functions_->Recv(output, bytes, kBytes, static_cast<int>(sources[own]),
                                    communicator, stream),
                   "ncclRecv");
    });
  });
}

}  // namespace isthmus::cuda

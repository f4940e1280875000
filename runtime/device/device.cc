// Devices: lookup of memories, sums of statistics, and launches that can still be poisoned.
#include "runtime/device/device.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "base/described_event.h"
#include "base/device_timeout.h"
#include "isthmus/flags.h"
#include "isthmus/log.h"
#include "runtime/client.h"
#include "runtime/threads/fork.h"
#include "runtime/threads/host_threads.h"

namespace isthmus {
namespace {

// Work of devices that were given up, which has not ended.
std::atomic<int64_t> givenUpAndRunning{0};

// Drivers wait at exit for what runs, for ever, or take apart what it uses; and nobody can stop it.
void leaveWithoutDrivers(int status, void* process) {
  constexpr auto kPatience = std::chrono::seconds(1);
  // Not in the child of a fork, in which nothing of it runs.
  if (getpid() != static_cast<pid_t>(reinterpret_cast<intptr_t>(process))) return;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (givenUpAndRunning > 0) {
    if (std::chrono::steady_clock::now() >= deadline) {
      log(LogLevel::kWarning,
          "the process ends while a device that was given up still works; its "
          "driver is not told");
      std::fflush(nullptr);
      _exit(status);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Called before what was registered earlier, such as by drivers when they were loaded.
void leaveWithoutDriversAtExit() {
  static const int registered =
      on_exit(leaveWithoutDrivers, reinterpret_cast<void*>(static_cast<intptr_t>(getpid())));
  static_cast<void>(registered);
}

}  // namespace

Device::Device(Client& client, DeviceDescription description, bool isAddressable)
    : client_(client),
      description_(std::move(description)),
      isAddressable_(isAddressable),
      queue_("isthmus-dev" + std::to_string(description_.id)),
      lanes_{TaskQueue("isthmus-end" + std::to_string(description_.id)),
             TaskQueue("isthmus-h2d" + std::to_string(description_.id)),
             TaskQueue("isthmus-d2h" + std::to_string(description_.id))},
      givenUpWork_("isthmus-late" + std::to_string(description_.id)),
      inFlight_(
          static_cast<size_t>(std::clamp<int64_t>(flagInt("ISTHMUS_MAX_IN_FLIGHT"), 0, 1 << 20))) {}

Memory* Device::findMemory(std::string_view kind) const {
  for (Memory* memory : memories_) {
    if (memory->kind() == kind) return memory;
  }
  return nullptr;
}

MemoryStats Device::memoryStats() const {
  MemoryStats sum;
  for (const Memory* memory : memories_) {
    MemoryStats stats = memory->stats();
    sum.bytesInUse += stats.bytesInUse;
    sum.peakBytesInUse += stats.peakBytesInUse;
    sum.allocations += stats.allocations;
    sum.largestAllocation = std::max(sum.largestAllocation, stats.largestAllocation);
    // The memories of a device share what there is.
    sum.bytesLimit = std::max(sum.bytesLimit, stats.bytesLimit);
    sum.bytesReservable = std::max(sum.bytesReservable, stats.bytesReservable);
  }
  return sum;
}

void Device::clearMemoryStats() {
  for (Memory* memory : memories_) memory->clearStats();
}

Status Device::givenUp() const {
  if (!isGivenUp_.load(std::memory_order_acquire)) return {};
  return Status(StatusCode::kUnavailable,
                "device " + std::to_string(id()) + " was given up after something took too long");
}

bool Device::mayGiveUp() { return hasDeviceTimeout(); }

bool Device::areReadyBy(DeviceEvents events, std::chrono::steady_clock::time_point deadline) const {
  return std::all_of(events.begin(), events.end(), [&](const DeviceEventRef& event) {
    bool isReady = false;
    waitUntil(deadline, [&] { return (isReady = event->isReady()) || !givenUp().ok(); });
    return isReady;
  });
}

// On a lane's thread, which begins to wait when the work before has ended: the time is the work's
// own, as far as a device does one thing at a time.
Status Device::awaitInTime(const DeviceEventRef& event, const std::string& what,
                           DeviceEvents after) {
  const std::chrono::seconds limit = deviceTimeout();
  if (limit.count() <= 0) return event->await();
  // Each of the programs before is watched for itself, unless it is another device's.
  constexpr size_t kMany = 1024;
  const auto programs = static_cast<int64_t>(inFlight_.empty() ? kMany : inFlight_.size());
  static_cast<void>(areReadyBy(after, std::chrono::steady_clock::now() + programs * limit));
  if (areReadyBy(std::span(&event, 1), std::chrono::steady_clock::now() + limit)) {
    return event->await();
  }
  ISTHMUS_RETURN_IF_ERROR(givenUp());
  return giveUp(what, underWay(*event), limit);
}

Status Device::giveUp(const std::string& what, const std::string& at, std::chrono::seconds limit) {
  isGivenUp_.store(true, std::memory_order_release);
  log(LogLevel::kError, "device ", id(), " has worked on ", what, at.empty() ? "" : " (" + at + ")",
      " for more than ", limit.count(), " s and is given up");
  const Status error = timeoutError(limit, what, id());
  return at.empty() ? error
                    : error.withMessage(std::string(error.message()) + "; under way is " + at);
}

bool Device::isTimed() const {
  if (!mayGiveUp()) return false;
  Backend& backend = client_.backend();
  return backend.queue(id()) == nullptr && !backend.isHostAddressable();
}

namespace {

// A call of a synchronous device, which may never return.
class TimedCall final : public Task {
 public:
  // The caller's view of it.
  struct Outcome {
    enum State { kRunning, kLate, kOver };
    std::atomic<State> state{kRunning};
    Promise done;
  };

  TimedCall(Client& client, std::function<Status()> work, std::shared_ptr<Outcome> outcome)
      : client_(&client), work_(std::move(work)), outcome_(std::move(outcome)) {}
  void run() override {
    Status status;
    try {
      status = work_();
    } catch (const std::exception& error) {
      status = internalError("a device failed: ", error.what());
    }
    work_ = nullptr;
    if (outcome_->state.exchange(Outcome::kOver) == Outcome::kLate) --givenUpAndRunning;
    outcome_->done.set(std::move(status));
  }

 private:
  const Ref<Client> client_;
  std::function<Status()> work_;
  const std::shared_ptr<Outcome> outcome_;
};

}  // namespace

Status Device::inTime(std::string what, std::function<Status()> work) {
  if (!isTimed()) return work();
  ISTHMUS_RETURN_IF_ERROR(givenUp());
  using Outcome = TimedCall::Outcome;
  auto outcome = std::make_shared<Outcome>();
  std::unique_ptr<Task> call = std::make_unique<TimedCall>(client_, std::move(work), outcome);
  if (!runOnHostThread(call)) {
    return resourceExhausted("no thread can be started for ", what, ", which is timed");
  }
  const Event done = outcome->done.event();
  const std::chrono::seconds limit = deviceTimeout();
  if (done.awaitUntil(std::chrono::steady_clock::now() + limit)) return done.await();
  leaveWithoutDriversAtExit();
  ++givenUpAndRunning;
  if (outcome->state.exchange(Outcome::kLate) == Outcome::kOver) {
    --givenUpAndRunning;
    return done.await();
  }
  ISTHMUS_RETURN_IF_ERROR(givenUp());
  return giveUp(what, "", limit);
}

void Device::whenDone(Lane lane, DeviceEventRef event, std::string what,
                      std::function<void(Status)> then, std::vector<DeviceEventRef> after) {
  if (event == nullptr || event->isReady()) {
    then(event == nullptr ? Status() : event->await());
    return;
  }
  if (!mayGiveUp()) after.clear();
  lanes_[static_cast<size_t>(lane)].push([this, event = std::move(event), what = std::move(what),
                                          then = std::move(then), after = std::move(after)]() {
    then(awaitInTime(event, what, after));
    // The device was given up, but may go on.
    if (!event->isReady()) keepUntilReady(event, then);
  });
}

void Device::keepUntilReady(DeviceEventRef event, std::function<void(Status)> then) {
  leaveWithoutDriversAtExit();
  ++givenUpAndRunning;
  auto keep = [event = std::move(event), then = std::move(then)] {
    static_cast<void>(event->await());
    --givenUpAndRunning;
  };
  auto kept = std::make_unique<decltype(keep)>(std::move(keep));
  // Without a thread nobody would see the event, and the lanes must not wait for it: for good.
  if (!givenUpWork_.startThread()) return static_cast<void>(kept.release());
  givenUpWork_.push([kept = std::move(kept)] { (*kept)(); });
}

bool Device::throttle(Event done, std::chrono::milliseconds patience) {
  InFlight oldest{std::move(done)};
  {
    std::lock_guard lock(inFlightMutex_);
    if (inFlight_.empty()) return true;
    std::swap(oldest, inFlight_[oldest_]);
    oldest_ = (oldest_ + 1) % inFlight_.size();
    bool isReady = oldest.done.isReady();
    // Launches run in the order in which they become able to: one that has ended may stand between
    // others that have not, and says nothing of them.
    if (isReady && !oldest.isOld) isStuck_ = false;
    if (isReady || isStuck_) return true;
  }
  if (TaskQueue::isQueueThread()) return true;
  if (oldest.done.awaitUntil(std::chrono::steady_clock::now() + patience)) return true;
  log(LogLevel::kInfo, "device ", id(), " has more than ", inFlight_.size(),
      " launches in flight and has finished none for a while");
  std::lock_guard lock(inFlightMutex_);
  isStuck_ = true;
  for (InFlight& launch : inFlight_) launch.isOld = launch.done.isReady();
  return false;
}

Event Device::inOrder(Event done) {
  std::lock_guard lock(userCodeMutex_);
  // In a child of a fork, what ran on the parent's threads does not end.
  if (std::exchange(userCodeGeneration_, forkGeneration()) != forkGeneration()) userCode_ = Event();
  if (!userCode_.isReady()) {
    Event both[] = {std::exchange(userCode_, Event()), done};
    Promise promise = Promise::after(callersPart(both));
    both[0].onReady([promise, done = std::move(done)](const Status&) {
      done.onReady([promise](const Status& status) { promise.set(status); });
    });
    done = promise.event();
  }
  userCode_ = done;
  return done;
}

bool Device::poisonExecution(int64_t launchId, const Status& error) {
  std::lock_guard lock(pendingMutex_);
  bool isFound = false;
  for (PendingLaunch* launch = firstPending_; launch != nullptr; launch = launch->next) {
    if (launch->launchId != launchId) continue;
    launch->poison = error;
    isFound = true;
  }
  return isFound;
}

void Device::addPending(PendingLaunch& launch) {
  std::lock_guard lock(pendingMutex_);
  launch.previous = nullptr;
  launch.next = firstPending_;
  if (firstPending_ != nullptr) firstPending_->previous = &launch;
  firstPending_ = &launch;
}

Status Device::removePending(PendingLaunch& launch) {
  std::lock_guard lock(pendingMutex_);
  (launch.previous != nullptr ? launch.previous->next : firstPending_) = launch.next;
  if (launch.next != nullptr) launch.next->previous = launch.previous;
  return launch.poison;
}

}  // namespace isthmus

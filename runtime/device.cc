// Devices: lookup of memories, sums of statistics, and launches that can still be poisoned.
#include "runtime/device.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "isthmus/flags.h"
#include "isthmus/log.h"
#include "runtime/client.h"

namespace isthmus {

Device::Device(Client& client, DeviceDescription description, bool isAddressable)
    : client_(client),
      description_(std::move(description)),
      isAddressable_(isAddressable),
      queue_("isthmus-dev" + std::to_string(description_.id)),
      lanes_{TaskQueue("isthmus-end" + std::to_string(description_.id)),
             TaskQueue("isthmus-h2d" + std::to_string(description_.id)),
             TaskQueue("isthmus-d2h" + std::to_string(description_.id))},
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
  }
  return sum;
}

void Device::clearMemoryStats() {
  for (Memory* memory : memories_) memory->clearStats();
}

void Device::whenDone(Lane lane, DeviceEventRef event, std::function<void(Status)> then) {
  if (event == nullptr || event->isReady()) {
    then(event == nullptr ? Status() : event->await());
    return;
  }
  lanes_[static_cast<size_t>(lane)].push(
      [event = std::move(event), then = std::move(then)]() { then(event->await()); });
}

void Device::throttle(Event done) {
  constexpr auto kPatience = std::chrono::seconds(5);
  {
    std::lock_guard lock(inFlightMutex_);
    if (inFlight_.empty()) return;
    std::swap(done, inFlight_[oldest_]);
    oldest_ = (oldest_ + 1) % inFlight_.size();
    if (done.isReady()) isStuck_ = false;
    if (done.isReady() || isStuck_) return;
  }
  if (TaskQueue::isQueueThread()) return;
  if (!done.awaitUntil(std::chrono::steady_clock::now() + kPatience)) {
    log(LogLevel::kInfo, "device ", id(), " has more than ", inFlight_.size(),
        " launches in flight and has finished none for a while");
    std::lock_guard lock(inFlightMutex_);
    isStuck_ = true;
  }
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

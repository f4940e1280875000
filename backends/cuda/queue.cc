#include "backends/cuda/queue.h"

#include <algorithm>

namespace isthmus::cuda {
namespace {

bool isDeviceKind(std::string_view memoryKind) { return memoryKind == "device"; }

}  // namespace

bool CudaEvent::isReady() const {
  if (hasHappened_.load(std::memory_order_acquire)) return true;
  StatusOr<bool> isDone = driver_.isDone(device_, event_);
  if (isDone.ok() && *isDone) hasHappened_.store(true, std::memory_order_release);
  return !isDone.ok() || *isDone;
}

bool CudaEvent::hasHappened() const { return isReady() && hasHappened_.load(); }

Status CudaEvent::await() const {
  if (!hasHappened_.load(std::memory_order_acquire)) {
    Status status = driver_.await(device_, event_);
    if (!status.ok()) return driver_.setLost(device_, status);
    hasHappened_.store(true, std::memory_order_release);
  }
  return run_ ? run_->failure() : Status();
}

Status waitFor(Driver& driver, int device, Queue queue, DeviceEvents after) {
  for (const DeviceEventRef& event : after) {
    // Of this backend, as all that it is given.
    const auto& own = static_cast<const CudaEvent&>(*event);
    ISTHMUS_RETURN_IF_ERROR(driver.wait(device, queue, own.event()));
  }
  return {};
}

StatusOr<DeviceEventRef> recordEvent(Driver& driver, int device, Queue queue,
                                     std::shared_ptr<const NcclRun> run) {
  ISTHMUS_ASSIGN_OR_RETURN(cuda::DeviceEvent event, driver.record(device, queue));
  return DeviceEventRef(
      std::make_shared<CudaEvent>(driver, device, std::move(event), std::move(run)));
}

StatusOr<DeviceQueue::Block> CudaQueue::allocate(std::string_view memoryKind, size_t bytes) {
  freeLeaving();
  Block block;
  if (!isDeviceKind(memoryKind)) {
    ISTHMUS_ASSIGN_OR_RETURN(block.data, driver_.allocateHost(bytes));
    return block;
  }
  ISTHMUS_ASSIGN_OR_RETURN(block.data, driver_.allocate(device_, Queue::kAllocate, bytes));
  StatusOr<DeviceEventRef> available = recordEvent(driver_, device_, Queue::kAllocate);
  if (!available.ok()) {
    driver_.free(device_, Queue::kAllocate, block.data);
    return available.status();
  }
  block.available = std::move(*available);
  return block;
}

void CudaQueue::release(std::string_view memoryKind, void* data, size_t, DeviceEvents after) {
  if (isDeviceKind(memoryKind)) {
    // On a device that is lost nothing can be waited for, nor freed.
    if (waitFor(driver_, device_, Queue::kRelease, after).ok()) {
      driver_.free(device_, Queue::kRelease, data);
    }
    return;
  }
  {
    std::lock_guard lock(mutex_);
    leaving_.push_back({data, {after.begin(), after.end()}});
  }
  freeLeaving();
}

void CudaQueue::freeLeaving() {
  std::lock_guard lock(mutex_);
  for (auto it = leaving_.begin(); it != leaving_.end();) {
    bool isOver = std::all_of(it->after.begin(), it->after.end(),
                              [](const DeviceEventRef& event) { return event->isReady(); });
    if (isOver) driver_.freeHost(it->data);
    it = isOver ? leaving_.erase(it) : std::next(it);
  }
}

StatusOr<DeviceEventRef> CudaQueue::copy(Queue queue, void* to, const void* from, size_t bytes,
                                         DeviceEvents after) {
  ISTHMUS_RETURN_IF_ERROR(waitFor(driver_, device_, queue, after));
  ISTHMUS_RETURN_IF_ERROR(driver_.copy(device_, queue, to, from, bytes));
  return recordEvent(driver_, device_, queue);
}

StatusOr<DeviceEventRef> CudaQueue::copyFromHost(void* device, size_t offset, const void* host,
                                                 size_t bytes, DeviceEvents after) {
  return copy(Queue::kTransfer, static_cast<char*>(device) + offset, host, bytes, after);
}

StatusOr<DeviceEventRef> CudaQueue::copyToHost(const void* device, size_t offset, void* host,
                                               size_t bytes, DeviceEvents after) {
  return copy(Queue::kDownload, host, static_cast<const char*>(device) + offset, bytes, after);
}

StatusOr<DeviceEventRef> CudaQueue::copyFromDevice(void* to, int, const void* from, size_t bytes,
                                                   DeviceEvents after) {
  return copy(Queue::kTransfer, to, from, bytes, after);
}

}  // namespace isthmus::cuda

#include "backends/cuda/queue.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace isthmus::cuda {
namespace {

bool isDeviceKind(std::string_view memoryKind) { return memoryKind == "device"; }

// Of this backend, as all that it is given.
const CudaEvent& ownOf(const DeviceEventRef& event) {
  return static_cast<const CudaEvent&>(*event);
}

}  // namespace

void HostCopies::carryOut(void* part) {
  const Part& one = *static_cast<const Part*>(part);
  std::lock_guard lock(one.owner->mutex_);
  if (!one.owner->isCancelled_) std::memcpy(one.to, one.from, one.bytes);
}

void HostCopies::cancel() {
  std::lock_guard lock(mutex_);
  isCancelled_ = true;
}

void HostCopies::abandon(std::unique_ptr<HostCopies> copies) {
  struct Abandoned {
    std::mutex mutex;
    std::vector<std::unique_ptr<HostCopies>> all;
  };
  static Abandoned& abandoned = *new Abandoned;
  copies->cancel();
  std::lock_guard lock(abandoned.mutex);
  abandoned.all.push_back(std::move(copies));
}

CudaEvent::~CudaEvent() {
  // Nobody has waited: the copy still uses the block.
  if (end_.block.data() && !isOver() && driver_.await(device_, event_).ok()) hasHappened_ = true;
  if (end_.parts && !hasHappened_) HostCopies::abandon(std::move(end_.parts));
}

Status CudaEvent::failed(Status status) const {
  if (end_.parts) end_.parts->cancel();
  return status;
}

void CudaEvent::finish() const {
  if (!isCopy_) return;
  std::call_once(finishOnce_, [this] {
    if (end_.host) std::memcpy(end_.host, end_.block.data(), end_.bytes);
    end_.block = {};
  });
}

bool CudaEvent::isOver() const {
  if (hasHappened_.load(std::memory_order_acquire)) return true;
  StatusOr<bool> isDone = driver_.isDone(device_, event_);
  if (!isDone.ok()) static_cast<void>(failed(isDone.status()));
  if (isDone.ok() && *isDone) hasHappened_.store(true, std::memory_order_release);
  return !isDone.ok() || *isDone;
}

bool CudaEvent::hasHappened() const { return isOver() && hasHappened_.load(); }

bool CudaEvent::isReady() const {
  if (!isOver()) return false;
  if (hasHappened_.load()) finish();
  return true;
}

Status CudaEvent::await() const {
  if (!hasHappened_.load(std::memory_order_acquire)) {
    Status status = driver_.await(device_, event_);
    if (!status.ok()) return failed(std::move(status));
    hasHappened_.store(true, std::memory_order_release);
  }
  finish();
  if (run_.collectives) ISTHMUS_RETURN_IF_ERROR(run_.collectives->failure());
  return run_.failure;
}

Status waitFor(Driver& driver, int device, Queue queue, DeviceEvents after) {
  for (const DeviceEventRef& event : after) {
    ISTHMUS_RETURN_IF_ERROR(driver.wait(device, queue, ownOf(event).event()));
  }
  return {};
}

StatusOr<DeviceEventRef> recordEvent(Driver& driver, int device, Queue queue, RunOutcome run) {
  ISTHMUS_ASSIGN_OR_RETURN(cuda::DeviceEvent event, driver.record(device, queue));
  return DeviceEventRef(
      std::make_shared<CudaEvent>(driver, device, std::move(event), std::move(run)));
}

CudaQueue::CudaQueue(Driver& driver, PinnedPool& pinned, int device)
    : driver_(driver), pinned_(pinned), device_(device) {
  driver_.onExhausted(device, [this] { freePending(std::numeric_limits<size_t>::max()); });
}

StatusOr<DeviceQueue::Block> CudaQueue::allocate(std::string_view memoryKind, size_t bytes) {
  freePending();
  Block block;
  if (!isDeviceKind(memoryKind)) {
    ISTHMUS_ASSIGN_OR_RETURN(block.data, driver_.allocateHost(bytes));
    return block;
  }
  block.data = driver_.takeKept(device_, bytes);
  if (block.data) return block;
  ISTHMUS_ASSIGN_OR_RETURN(block.data, driver_.allocate(device_, Queue::kAllocate, bytes));
  StatusOr<DeviceEventRef> available = recordEvent(driver_, device_, Queue::kAllocate);
  if (!available.ok()) {
    driver_.free(device_, Queue::kAllocate, block.data);
    return available.status();
  }
  block.available = std::move(*available);
  return block;
}

void CudaQueue::release(std::string_view memoryKind, void* data, size_t bytes, DeviceEvents after) {
  {
    std::lock_guard lock(mutex_);
    // In front: what was used last long ago is the likeliest to be free now.
    pendingFrees_.push_front({data, bytes, isDeviceKind(memoryKind), {after.begin(), after.end()}});
  }
  freePending();
}

void CudaQueue::freePending() { freePending(kMaxWaiting); }

void CudaQueue::freePending(size_t maxWaiting) {
  std::lock_guard lock(mutex_);
  size_t waiting = 0;
  for (size_t left = pendingFrees_.size(); left > 0 && waiting < maxWaiting; --left) {
    auto it = pendingFrees_.begin();
    bool isOver = std::all_of(it->after.begin(), it->after.end(),
                              [](const DeviceEventRef& event) { return ownOf(event).isOver(); });
    if (!isOver) {
      pendingFrees_.splice(pendingFrees_.end(), pendingFrees_, it);
      ++waiting;
      continue;
    }
    if (it->isDevices) {
      driver_.keep(device_, it->data, it->bytes);
    } else {
      driver_.freeHost(it->data);
    }
    pendingFrees_.erase(it);
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
  void* to = static_cast<char*>(device) + offset;
  StatusOr<PinnedPool::Block> block = pinned_.take(std::max<size_t>(bytes, 1));
  if (!block.ok()) return copyByPieces(Queue::kTransfer, to, host, bytes, after);
  if (bytes > 0) std::memcpy(block->data(), host, bytes);
  ISTHMUS_RETURN_IF_ERROR(waitFor(driver_, device_, Queue::kTransfer, after));
  ISTHMUS_RETURN_IF_ERROR(driver_.copy(device_, Queue::kTransfer, to, block->data(), bytes));
  return recordCopy(Queue::kTransfer, {std::move(*block)});
}

StatusOr<DeviceEventRef> CudaQueue::copyToHost(const void* device, size_t offset, void* host,
                                               size_t bytes, DeviceEvents after) {
  const void* from = static_cast<const char*>(device) + offset;
  StatusOr<PinnedPool::Block> block = pinned_.take(std::max<size_t>(bytes, 1));
  if (!block.ok()) return copyByPieces(Queue::kDownload, host, from, bytes, after);
  ISTHMUS_RETURN_IF_ERROR(waitFor(driver_, device_, Queue::kDownload, after));
  ISTHMUS_RETURN_IF_ERROR(driver_.copy(device_, Queue::kDownload, block->data(), from, bytes));
  return recordCopy(Queue::kDownload, {std::move(*block), host, bytes});
}

// The driver copies what is not page-locked while the caller waits. So that nobody does, each piece
// goes by one block, to or from which a thread of the driver copies it in the stream's order.
StatusOr<DeviceEventRef> CudaQueue::copyByPieces(Queue queue, void* to, const void* from,
                                                 size_t bytes, DeviceEvents after) {
  const size_t pieceBytes = pinned_.sizes().pieceBytes;
  StatusOr<PinnedPool::Block> block = pinned_.take(std::min(bytes, pieceBytes));
  // Right all the same, but the caller waits.
  if (!block.ok()) return copy(queue, to, from, bytes, after);
  const bool isDownload = queue == Queue::kDownload;
  void* const pinned = block->data();
  CopyEnd end{std::move(*block)};
  end.parts = std::make_unique<HostCopies>();
  for (size_t done = 0; done < bytes; done += pieceBytes) {
    const size_t now = std::min(pieceBytes, bytes - done);
    if (isDownload) {
      end.parts->add(static_cast<char*>(to) + done, pinned, now);
    } else {
      end.parts->add(pinned, static_cast<const char*>(from) + done, now);
    }
  }
  auto enqueue = [&]() -> Status {
    ISTHMUS_RETURN_IF_ERROR(waitFor(driver_, device_, queue, after));
    for (size_t done = 0; done < bytes; done += pieceBytes) {
      const size_t part = done / pieceBytes, now = std::min(pieceBytes, bytes - done);
      if (isDownload) {
        const void* source = static_cast<const char*>(from) + done;
        ISTHMUS_RETURN_IF_ERROR(driver_.copy(device_, queue, pinned, source, now));
        ISTHMUS_RETURN_IF_ERROR(end.parts->enqueue(driver_, device_, queue, part));
      } else {
        void* target = static_cast<char*>(to) + done;
        ISTHMUS_RETURN_IF_ERROR(end.parts->enqueue(driver_, device_, queue, part));
        ISTHMUS_RETURN_IF_ERROR(driver_.copy(device_, queue, target, pinned, now));
      }
    }
    return {};
  };
  if (Status status = enqueue(); !status.ok()) {
    settle(queue, std::move(end));
    return status;
  }
  return recordCopy(queue, std::move(end));
}

// What was enqueued uses the block, and the host's parts.
void CudaQueue::settle(Queue queue, CopyEnd end) {
  const Status status = driver_.synchronize(device_, queue);
  if (!status.ok() && end.parts) HostCopies::abandon(std::move(end.parts));
}

StatusOr<DeviceEventRef> CudaQueue::recordCopy(Queue queue, CopyEnd end) {
  StatusOr<cuda::DeviceEvent> event = driver_.record(device_, queue);
  if (!event.ok()) {
    settle(queue, std::move(end));
    return event.status();
  }
  return DeviceEventRef(
      std::make_shared<CudaEvent>(driver_, device_, std::move(*event), std::move(end)));
}

StatusOr<DeviceEventRef> CudaQueue::copyFromDevice(void* to, int, const void* from, size_t bytes,
                                                   DeviceEvents after) {
  return copy(Queue::kTransfer, to, from, bytes, after);
}

}  // namespace isthmus::cuda

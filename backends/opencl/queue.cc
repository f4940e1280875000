#include "backends/opencl/queue.h"

#include <cstring>

#include "base/client_options.h"

namespace isthmus::opencl {

std::string RunCommands::nameOf(const Command& command) const {
  return command.kernel == kCopy ? "a copy" : (*kernels)[static_cast<size_t>(command.kernel)];
}

Status RunCommands::outcome(const Status& end) const {
  for (const Command& command : list) {
    cl_int code = command.event.outcome().value_or(CL_SUCCESS);
    if (code == CL_SUCCESS || code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) continue;
    return check(code, command.kernel == kCopy ? "it" : "a kernel").withContext(nameOf(command));
  }
  return end;
}

bool OpenclEvent::isReady() const {
  if (isOver_.load(std::memory_order_relaxed)) return true;
  if (!end_.isOver()) return false;
  noteEnd();
  return true;
}

Status OpenclEvent::await() const {
  {
    std::lock_guard lock(mutex_);
    if (isKnown_) return status_;
  }
  Status end = end_.await();
  std::lock_guard lock(mutex_);
  if (isKnown_) return status_;
  isKnown_ = true;
  status_ = commands_.outcome(end);
  if (status_.ok()) status_ = failure_;
  commands_ = {};
  noteEnd();
  return status_;
}

std::string OpenclEvent::underWay() const {
  std::lock_guard lock(mutex_);
  for (const RunCommands::Command& command : commands_.list) {
    if (!command.event.isOver()) return commands_.nameOf(command);
  }
  return commands_.kernels && !isKnown_ ? "a copy" : "";
}

std::vector<CommandEvent> pendingEvents(DeviceEvents after) {
  std::vector<CommandEvent> pending;
  for (const DeviceEventRef& event : after) {
    // Of this backend, as all that it is given.
    if (!event->isReady()) pending.push_back(static_cast<const OpenclEvent&>(*event).end());
  }
  return pending;
}

StatusOr<DeviceQueue::Block> OpenclQueue::allocate(std::string_view memoryKind, size_t bytes) {
  ISTHMUS_RETURN_IF_ERROR(checkMemoryKind(memoryKind));
  Block block;
  ISTHMUS_ASSIGN_OR_RETURN(block.data, driver_.allocate(device_, bytes));
  return block;
}

void OpenclQueue::release(std::string_view, void* data, size_t, DeviceEvents after) {
  driver_.free(data, pendingEvents(after));
}

StatusOr<DeviceEventRef> OpenclQueue::copy(void* to, const void* from, size_t bytes,
                                           DeviceEvents after) {
  std::vector<CommandEvent> pending = pendingEvents(after);
  bool isNothing = bytes == 0 || to == from;
  if (isNothing && pending.empty()) return DeviceEventRef();
  if (pending.empty() && driver_.mayHostCopy(bytes)) {
    std::memcpy(to, from, bytes);
    return DeviceEventRef();
  }
  constexpr auto kQueue = Driver::Queue::kCopies;
  ISTHMUS_ASSIGN_OR_RETURN(CommandEvent end,
                           isNothing ? driver_.join(device_, kQueue, pending)
                                     : driver_.copy(device_, kQueue, to, from, bytes, pending));
  auto event = std::make_shared<OpenclEvent>(driver_, std::move(end));
  Status flushed = driver_.flush(device_, kQueue);
  if (flushed.ok()) return DeviceEventRef(std::move(event));
  // It is on the queue all the same.
  (void)event->await();
  return flushed;
}

StatusOr<DeviceEventRef> OpenclQueue::copyFromHost(void* device, size_t offset, const void* host,
                                                   size_t bytes, DeviceEvents after) {
  return copy(static_cast<char*>(device) + offset, host, bytes, after);
}

StatusOr<DeviceEventRef> OpenclQueue::copyToHost(const void* device, size_t offset, void* host,
                                                 size_t bytes, DeviceEvents after) {
  return copy(host, static_cast<const char*>(device) + offset, bytes, after);
}

StatusOr<DeviceEventRef> OpenclQueue::copyFromDevice(void* to, int, const void* from, size_t bytes,
                                                     DeviceEvents after) {
  return copy(to, from, bytes, after);
}

}  // namespace isthmus::opencl

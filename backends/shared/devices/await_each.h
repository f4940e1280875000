// What the host waits for: several events of a device, or one that may never come.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/device_timeout.h"
#include "isthmus/status.h"

namespace isthmus {

namespace internal {

// Of an event with `Status await() const` and isOver(), or of a pointer to a DeviceEvent.
template <typename Event>
Status await(const Event& event) {
  if constexpr (requires { event->await(); }) {
    return event->await();
  } else {
    return event.await();
  }
}

template <typename Event>
bool isOver(const Event& event) {
  if constexpr (requires { event->isReady(); }) {
    return event->isReady();
  } else {
    return event.isOver();
  }
}

}  // namespace internal

// Blocks until each of `events` is over, even after one that has failed, for what is enqueued uses
// memory that the caller may free then. Returns the first error. Events have `Status await()
// const`, or point to what has.
template <typename Events>
Status awaitEach(const Events& events) {
  Status first;
  for (const auto& event : events) {
    Status status = internal::await(event);
    if (first.ok()) first = std::move(status);
  }
  return first;
}

// Copies `bytes` of the host to `device`, and waits for the end of the copy; where work is timed,
// no longer than that. `enqueue(from)` enqueues the copy from the address `from` and returns its
// end, a StatusOr of an event as those of awaitEach, with isOver() (DeviceEvent: isReady()). A
// device that is late may still read what it copies, which then stays for good.
template <typename Enqueue>
Status copyInTime(const std::string& what, int device, const std::string& bytes,
                  const Enqueue& enqueue) {
  std::unique_ptr<const std::string> own;
  if (hasDeviceTimeout()) own = std::make_unique<const std::string>(bytes);
  ISTHMUS_ASSIGN_OR_RETURN(const auto end, enqueue(own ? own->data() : bytes.data()));
  const auto deadline = std::chrono::steady_clock::now() + deviceTimeout();
  if (own && !waitUntil(deadline, [&] { return internal::isOver(end); })) {
    static_cast<void>(own.release());
    return timeoutError(deviceTimeout(), what, device);
  }
  return internal::await(end);
}

}  // namespace isthmus

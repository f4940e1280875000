#pragma once

// What the host waits for may be several events of a device.

#include <utility>

#include "isthmus/status.h"

namespace isthmus {

// Blocks until each of `events` is over, even after one that has failed, for what is enqueued uses
// memory that the caller may free then. Returns the first error. Events have `Status await()
// const`, or point to what has.
template <typename Events>
Status awaitEach(const Events& events) {
  Status first;
  for (const auto& event : events) {
    Status status;
    if constexpr (requires { event->await(); }) {
      status = event->await();
    } else {
      status = event.await();
    }
    if (first.ok()) first = std::move(status);
  }
  return first;
}

}  // namespace isthmus

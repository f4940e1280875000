#pragma once

// What the host waits for may be several events of a device, or one that never comes.

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "isthmus/flags.h"
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

// Blocks until `isOver()`, but no longer than that. Whether it is.
template <typename IsOver>
bool isOverIn(std::chrono::seconds limit, const IsOver& isOver) {
  constexpr auto kLongestSleep = std::chrono::milliseconds(5);
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::chrono::nanoseconds sleep = std::chrono::microseconds(1);
  while (!isOver()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(sleep);
    sleep = std::min<std::chrono::nanoseconds>(2 * sleep, kLongestSleep);
  }
  return true;
}

// The error of what isOverIn() says no to.
inline Status notOverIn(std::chrono::seconds limit, const std::string& what, int device) {
  return Status(StatusCode::kDeadlineExceeded,
                what + " has not ended on device " + std::to_string(device) + " after " +
                    std::to_string(limit.count()) + " s (ISTHMUS_DEVICE_TIMEOUT_SECONDS)");
}

// What a device is to copy where that may take too long: a copy, which may stay for good.
inline std::unique_ptr<std::string> ownIfTimed(const std::string& bytes) {
  if (flagInt("ISTHMUS_DEVICE_TIMEOUT_SECONDS") <= 0) return nullptr;
  return std::make_unique<std::string>(bytes);
}

// Where work is timed, waits in time for a copy that `isOver()` tells the end of; else returns at
// once. Where it is late, `memory` of the host stays for good, since the device may use it later.
template <typename IsOver>
Status awaitCopyInTime(const std::string& what, int device, std::unique_ptr<std::string>& memory,
                       const IsOver& isOver) {
  const std::chrono::seconds limit(flagInt("ISTHMUS_DEVICE_TIMEOUT_SECONDS"));
  if (limit.count() <= 0 || isOverIn(limit, isOver)) return {};
  static_cast<void>(memory.release());
  return notOverIn(limit, what, device);
}

}  // namespace isthmus

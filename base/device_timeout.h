// How long a device may take for one program or copy: ISTHMUS_DEVICE_TIMEOUT_SECONDS, and the wait
// and the error that come of it.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "isthmus/flags.h"
#include "isthmus/status.h"

namespace isthmus {

// 0: as long as it likes.
inline std::chrono::seconds deviceTimeout() {
  return std::chrono::seconds(flagInt("ISTHMUS_DEVICE_TIMEOUT_SECONDS"));
}
inline bool hasDeviceTimeout() { return deviceTimeout().count() > 0; }

// Blocks until `isOver()`, which is asked again and again, or the deadline. Whether it is.
template <typename IsOver>
bool waitUntil(std::chrono::steady_clock::time_point deadline, const IsOver& isOver) {
  constexpr auto kLongestSleep = std::chrono::milliseconds(5);
  std::chrono::nanoseconds sleep = std::chrono::microseconds(1);
  while (!isOver()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(sleep);
    sleep = std::min<std::chrono::nanoseconds>(2 * sleep, kLongestSleep);
  }
  return true;
}

// The error of `what`, which has taken longer than `limit`; `where` adds a device or what is known
// of it: " on device 0".
inline Status timeoutError(std::chrono::seconds limit, const std::string& what,
                           const std::string& where = "") {
  return Status(StatusCode::kDeadlineExceeded, what + " has not ended" + where + " after " +
                                                   std::to_string(limit.count()) +
                                                   " s (ISTHMUS_DEVICE_TIMEOUT_SECONDS)");
}
inline Status timeoutError(std::chrono::seconds limit, const std::string& what, int device) {
  return timeoutError(limit, what, " on device " + std::to_string(device));
}

}  // namespace isthmus

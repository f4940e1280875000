// Work on an asynchronous device that defines buffers: first it is handed to the device's queue,
// then it is done.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/device_queue.h"
#include "runtime/event.h"
#include "runtime/ref.h"

namespace isthmus {

// Shared by the buffers that one launch or copy defines, and by those that share their memory.
class DeviceWork final : public RefCounted<DeviceWork> {
 public:
  // `outputs` say what they are, for errors: one for each buffer, or one for all.
  explicit DeviceWork(std::shared_ptr<const std::vector<std::string>> outputs)
      : outputs_(std::move(outputs)) {}
  explicit DeviceWork(std::string output)
      : outputs_(std::make_shared<const std::vector<std::string>>(1, std::move(output))) {}

  const std::string& describeOutput(int output) const {
    return (*outputs_)[static_cast<size_t>(output)];
  }

  // Happens when the work is on its queue, or with the error that keeps it from getting there.
  const Event& handed() const { return handed_; }
  // When others may wait for it on their devices; null if it is done. Only after `handed`.
  const DeviceEventRef& event() const { return event_; }

  // One of these is called, once.
  void hand(DeviceEventRef event) {
    event_ = std::move(event);
    promise_.set();
  }
  void fail(Status error) { promise_.set(std::move(error)); }

 private:
  const std::shared_ptr<const std::vector<std::string>> outputs_;
  Promise promise_;
  const Event handed_ = promise_.event();
  DeviceEventRef event_;
};

// Adds an event that somebody has to wait for, unless it is null or there already.
inline void addDependency(std::vector<DeviceEventRef>& after, const DeviceEventRef& event) {
  if (event == nullptr) return;
  for (const DeviceEventRef& known : after) {
    if (known == event) return;
  }
  after.push_back(event);
}

}  // namespace isthmus

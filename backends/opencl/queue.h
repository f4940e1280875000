// A device as the runtime sees it: its memory, its copies, and the ends of what runs on it.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/opencl/driver/driver.h"
#include "base/described_event.h"
#include "isthmus/device_queue.h"

namespace isthmus::opencl {

// The commands of one run of a program, in their order.
struct RunCommands {
  static constexpr int kCopy = -1;
  struct Command {
    CommandEvent event;
    int kernel;  // or kCopy
  };
  std::shared_ptr<const std::vector<std::string>> kernels;  // what each is, for errors
  std::deque<Command> list;

  // Of a run whose end had the status `end`: the error of the first command that failed by itself;
  // else `end`. All are asked, since drivers differ in whether what waits for a failed command
  // fails too.
  Status outcome(const Status& end) const;
  std::string nameOf(const Command& command) const;
};

// The end of a copy or of a program. Counted in Driver::underWay until somebody sees it.
class OpenclEvent final : public DescribedEvent {
 public:
  // An error is that of the command that failed, else `failure` if that is none. `memory` is the
  // host's, which the commands may use.
  OpenclEvent(const Driver& driver, CommandEvent end, RunCommands commands = {},
              Status failure = {}, std::shared_ptr<const void> memory = nullptr)
      : underWay_(driver.underWay()),
        end_(std::move(end)),
        failure_(std::move(failure)),
        memory_(std::move(memory)),
        commands_(std::move(commands)) {
    underWay_->fetch_add(1, std::memory_order_relaxed);
  }
  ~OpenclEvent() override { noteEnd(); }

  bool isReady() const override;
  Status await() const override;
  std::string underWay() const override;
  const CommandEvent& end() const { return end_; }

 private:
  void noteEnd() const {
    if (!isOver_.exchange(true, std::memory_order_relaxed)) {
      underWay_->fetch_sub(1, std::memory_order_relaxed);
    }
  }

  const std::shared_ptr<std::atomic<int>> underWay_;
  const CommandEvent end_;
  const Status failure_;
  const std::shared_ptr<const void> memory_;
  mutable std::atomic<bool> isOver_{false};
  mutable std::mutex mutex_;
  // Then the outcome is in `status_`, and the commands are forgotten.
  mutable bool isKnown_ = false;
  mutable Status status_;
  mutable RunCommands commands_;
};

// What is still to be waited for, of events of this backend.
std::vector<CommandEvent> pendingEvents(DeviceEvents after);

class OpenclQueue final : public DeviceQueue {
 public:
  // The driver outlives it.
  OpenclQueue(Driver& driver, int device) : driver_(driver), device_(device) {}

  StatusOr<Block> allocate(std::string_view memoryKind, size_t bytes) override;
  void release(std::string_view memoryKind, void* data, size_t bytes, DeviceEvents after) override;
  StatusOr<DeviceEventRef> copyFromHost(void* device, size_t offset, const void* host, size_t bytes,
                                        DeviceEvents after) override;
  StatusOr<DeviceEventRef> copyToHost(const void* device, size_t offset, void* host, size_t bytes,
                                      DeviceEvents after) override;
  StatusOr<DeviceEventRef> copyFromDevice(void* to, int fromDeviceId, const void* from,
                                          size_t bytes, DeviceEvents after) override;

 private:
  StatusOr<DeviceEventRef> copy(void* to, const void* from, size_t bytes, DeviceEvents after);

  Driver& driver_;
  int device_;
};

}  // namespace isthmus::opencl

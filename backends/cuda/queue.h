// A device as the runtime sees it: events and a queue over the driver's streams.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/cuda/driver/driver.h"
#include "backends/cuda/driver/memory/pinned_pool.h"
#include "backends/cuda/driver/nccl.h"
#include "base/described_event.h"
#include "isthmus/device_optional.h"
#include "isthmus/device_queue.h"

namespace isthmus::cuda {

// Parts of a copy that a thread of the driver carries out in the order of a stream.
class HostCopies {
 public:
  void add(void* to, const void* from, size_t bytes) { parts_.push_back({this, to, from, bytes}); }
  // Enqueues one, once all have been added.
  Status enqueue(Driver& driver, int device, Queue queue, size_t part) {
    return driver.callHost(device, queue, carryOut, &parts_[part]);
  }
  // After an error, of which the driver tells before all that it does has ended: what the parts are
  // copied from and to is not used any more. The driver may still call for one.
  static void abandon(std::unique_ptr<HostCopies> copies);
  void cancel();

 private:
  struct Part {
    HostCopies* owner;
    void* to;
    const void* from;
    size_t bytes;
  };
  static void carryOut(void* part);

  std::vector<Part> parts_;
  std::mutex mutex_;
  bool isCancelled_ = false;
};

// What the host does when a copy by page-locked memory has ended on the device.
struct CopyEnd {
  PinnedPool::Block block;
  void* host = nullptr;  // where its bytes go; null: nowhere
  size_t bytes = 0;
  std::unique_ptr<HostCopies> parts = nullptr;  // null: the device does all
};

// How what ends with an event has gone, where the device does not say.
struct RunOutcome {
  std::shared_ptr<const NcclRun> collectives;  // which may have failed; null: there are none
  Status failure;                              // of the host's part, if the others went well
  std::shared_ptr<const WorkText> what = nullptr;
  std::shared_ptr<const void> memory = nullptr;  // of the host, which it may use
};

// A point in a stream, and what follows it on the host.
class CudaEvent final : public DescribedEvent {
 public:
  // The driver outlives all events.
  CudaEvent(Driver& driver, int device, cuda::DeviceEvent event)
      : driver_(driver), device_(device), event_(std::move(event)) {}
  // The end of a run.
  CudaEvent(Driver& driver, int device, cuda::DeviceEvent event, RunOutcome run)
      : driver_(driver), device_(device), event_(std::move(event)), run_(std::move(run)) {}
  CudaEvent(Driver& driver, int device, cuda::DeviceEvent event, CopyEnd end)
      : driver_(driver),
        device_(device),
        event_(std::move(event)),
        isCopy_(true),
        end_(std::move(end)) {}
  ~CudaEvent() override;

  // Both carry out the end of a copy, unless another thread does, for which they wait.
  bool isReady() const override;
  Status await() const override;
  std::string underWay() const override { return run_.what ? run_.what->name : ""; }
  // Whether the device's part is over, and whether it is without an error.
  bool isOver() const;
  bool hasHappened() const;
  const cuda::DeviceEvent& event() const { return event_; }

 private:
  void finish() const;
  // The host has no part any more in what has failed.
  Status failed(Status status) const;

  Driver& driver_;
  int device_;
  cuda::DeviceEvent event_;
  RunOutcome run_;
  const bool isCopy_ = false;  // by page-locked memory, whose end is `end_`
  mutable CopyEnd end_;        // as it was until finishOnce_
  mutable std::once_flag finishOnce_;
  mutable std::atomic<bool> hasHappened_{false};
};

// What is enqueued on `queue` afterwards waits for all of them.
Status waitFor(Driver& driver, int device, Queue queue, DeviceEvents after);
StatusOr<DeviceEventRef> recordEvent(Driver& driver, int device, Queue queue, RunOutcome run = {});

class CudaQueue final : public DeviceQueue, private ExternalStreams {
 public:
  // Both outlive it.
  CudaQueue(Driver& driver, PinnedPool& pinned, int device);

  StatusOr<Block> allocate(std::string_view memoryKind, size_t bytes) override;
  void release(std::string_view memoryKind, void* data, size_t bytes, DeviceEvents after) override;
  StatusOr<DeviceEventRef> copyFromHost(void* device, size_t offset, const void* host, size_t bytes,
                                        DeviceEvents after) override;
  StatusOr<DeviceEventRef> copyToHost(const void* device, size_t offset, void* host, size_t bytes,
                                      DeviceEvents after) override;
  StatusOr<DeviceEventRef> copyFromDevice(void* to, int fromDeviceId, const void* from,
                                          size_t bytes, DeviceEvents after) override;
  ExternalStreams* externalStreams() override { return this; }

  // Frees released memory whose events have happened; the driver keeps some for allocations.
  void freePending();

 private:
  // The default stream: all libraries know it, and nothing of ours is on it.
  intptr_t stream() override { return kDefaultStream; }
  Status await(intptr_t stream) override {
    return driver_.synchronizeExternal(device_, reinterpret_cast<CUstream>(stream));
  }

  static constexpr intptr_t kDefaultStream = 1;  // CU_STREAM_LEGACY, and DLPack's number of it
  // Blocks that still wait, of those that a call looks at.
  static constexpr size_t kMaxWaiting = 8;

  // Memory that waits for events before it goes. On a stream it would hold back what was released
  // later, and the memory of a long program all other.
  struct PendingFree {
    void* data;
    size_t bytes;
    bool isDevices;
    std::vector<DeviceEventRef> after;
  };
  StatusOr<DeviceEventRef> copy(Queue queue, void* to, const void* from, size_t bytes,
                                DeviceEvents after);
  // The same by less page-locked memory than there are bytes, without waiting as well.
  StatusOr<DeviceEventRef> copyByPieces(Queue queue, void* to, const void* from, size_t bytes,
                                        DeviceEvents after);
  StatusOr<DeviceEventRef> recordCopy(Queue queue, CopyEnd end);
  // Waits for a copy that has no event.
  void settle(Queue queue, CopyEnd end);
  void freePending(size_t maxWaiting);

  Driver& driver_;
  PinnedPool& pinned_;
  int device_;
  std::mutex mutex_;
  std::list<PendingFree> pendingFrees_;  // those looked at last come last
};

}  // namespace isthmus::cuda

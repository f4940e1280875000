// A device as the runtime sees it: events and a queue over the driver's streams.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/cuda/driver/driver.h"
#include "backends/cuda/driver/nccl.h"
#include "isthmus/device_queue.h"

namespace isthmus::cuda {

// A point in a stream.
class CudaEvent final : public isthmus::DeviceEvent {
 public:
  // The driver outlives all events.
  // With `run`, the end of a run with collectives, which may have failed.
  CudaEvent(Driver& driver, int device, cuda::DeviceEvent event,
            std::shared_ptr<const NcclRun> run = nullptr)
      : driver_(driver), device_(device), event_(std::move(event)), run_(std::move(run)) {}

  bool isReady() const override;
  Status await() const override;
  // Without an error.
  bool hasHappened() const;
  const cuda::DeviceEvent& event() const { return event_; }

 private:
  Driver& driver_;
  int device_;
  cuda::DeviceEvent event_;
  std::shared_ptr<const NcclRun> run_;
  mutable std::atomic<bool> hasHappened_{false};
};

// What is enqueued on `queue` afterwards waits for all of them.
Status waitFor(Driver& driver, int device, Queue queue, DeviceEvents after);
StatusOr<DeviceEventRef> recordEvent(Driver& driver, int device, Queue queue,
                                     std::shared_ptr<const NcclRun> run = nullptr);

class CudaQueue final : public DeviceQueue {
 public:
  CudaQueue(Driver& driver, int device) : driver_(driver), device_(device) {}

  StatusOr<Block> allocate(std::string_view memoryKind, size_t bytes) override;
  void release(std::string_view memoryKind, void* data, size_t bytes, DeviceEvents after) override;
  StatusOr<DeviceEventRef> copyFromHost(void* device, size_t offset, const void* host, size_t bytes,
                                        DeviceEvents after) override;
  StatusOr<DeviceEventRef> copyToHost(const void* device, size_t offset, void* host, size_t bytes,
                                      DeviceEvents after) override;
  StatusOr<DeviceEventRef> copyFromDevice(void* to, int fromDeviceId, const void* from,
                                          size_t bytes, DeviceEvents after) override;
  // The default stream: all libraries know it, and nothing of ours is on it.
  StatusOr<intptr_t> externalStream() override { return kDefaultStream; }
  Status awaitExternal(intptr_t stream) override {
    return driver_.synchronizeExternal(device_, reinterpret_cast<CUstream>(stream));
  }

 private:
  static constexpr intptr_t kDefaultStream = 1;  // CU_STREAM_LEGACY, and DLPack's number of it
  // Memory of the host that waits for events before it goes.
  struct Leaving {
    void* data;
    std::vector<DeviceEventRef> after;
  };
  StatusOr<DeviceEventRef> copy(Queue queue, void* to, const void* from, size_t bytes,
                                DeviceEvents after);
  void freeLeaving();

  Driver& driver_;
  int device_;
  std::mutex mutex_;
  std::list<Leaving> leaving_;
};

}  // namespace isthmus::cuda

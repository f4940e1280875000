// A simulated device: one thread that computes and one that copies, each taking its work in any
// order that dependencies allow.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backends/simulated/address_space.h"
#include "isthmus/device_queue.h"
#include "isthmus/status.h"

namespace isthmus::simulated {

struct DeviceOptions {
  size_t memoryBytes = size_t{4} << 30;
  std::chrono::microseconds latency{0};  // before each piece of work
  uint32_t seed = 1;                     // of the order; 0: as it was handed over
};

// What goes wrong, once each.
enum class Fault {
  kOutOfMemory,  // of the next allocation
  kKernel,       // the next launch that matches fails
  kCopy,         // the next copy fails
  kLostDevice,   // the device is lost when the next launch that matches starts
  kHang,         // the next launch that matches never ends, until the device is lost
  kHangingCopy,  // likewise the next copy
  kRefusal,      // the next launch that matches, or copy, is not taken
};

class Engine;
class Device;
class WorkEvent;

// The devices of one backend, which wait for each other's work.
struct Machine {
  std::mutex mutex;
  std::condition_variable changed;  // some work ended, or came
  std::vector<Device*> devices;     // by id; guarded by the mutex
};

class Device final : public DeviceQueue {
 public:
  // The next one of `machine`.
  static StatusOr<std::unique_ptr<Device>> create(DeviceOptions options, Machine& machine);
  // Ends its threads; what they have not begun fails with kCancelled.
  ~Device() override;

  StatusOr<Block> allocate(std::string_view memoryKind, size_t bytes) override;
  void release(std::string_view memoryKind, void* data, size_t bytes, DeviceEvents after) override;
  StatusOr<DeviceEventRef> copyFromHost(void* device, size_t offset, const void* host, size_t bytes,
                                        DeviceEvents after) override;
  StatusOr<DeviceEventRef> copyToHost(const void* device, size_t offset, void* host, size_t bytes,
                                      DeviceEvents after) override;
  StatusOr<DeviceEventRef> copyFromDevice(void* to, int fromDeviceId, const void* from,
                                          size_t bytes, DeviceEvents after) override;

  // A launch: `work` runs on the computing thread, or not at all if something that it waits for
  // fails. One that is ordered starts after all launches before it, and before all after it. Its
  // end is that of what was promised `with` it, too.
  StatusOr<DeviceEventRef> launch(std::string kernel, bool isOrdered, std::function<Status()> work,
                                  DeviceEvents after, DeviceEvents with = {});
  // An event of work that somebody is yet to launch, or to fail; of any device of the machine.
  DeviceEventRef promise();
  void fail(const DeviceEventRef& promised, const Status& status);

  const AddressSpace& memory() const { return *memory_; }

  // `kernel` is a part of the name of the launches that match; empty: all. So many that match come
  // before the one that it happens to.
  void inject(Fault fault, std::string kernel = "", int before = 0);
  // Forgets what has not happened; whether there was anything.
  bool clearFaults();
  // Fails everything that is not done, and all that comes.
  void lose();

 private:
  friend class Engine;
  struct Injected {
    Fault fault;
    std::string kernel;
    int before;
  };

  Device(DeviceOptions options, Machine& machine, std::unique_ptr<AddressSpace> memory);
  bool takeFault(Fault fault, std::string_view kernel = "");
  // No `copy`: an event that happens after all of these, however they end.
  StatusOr<DeviceEventRef> enqueueCopy(std::function<Status()> copy, DeviceEvents after);

  int id_ = -1;  // among the machine's
  const DeviceOptions options_;
  Machine& machine_;
  std::unique_ptr<AddressSpace> memory_;
  std::vector<Injected> faults_;                    // guarded by the machine's mutex
  Status lost_;                                     // not OK once it is; guarded likewise
  std::vector<std::weak_ptr<WorkEvent>> promised_;  // guarded likewise
  std::unique_ptr<Engine> compute_;
  std::unique_ptr<Engine> copies_;
};

}  // namespace isthmus::simulated

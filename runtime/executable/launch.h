// A launch that could not run at once: waits for its arguments, then for its device's queue.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include "isthmus/run_services.h"
#include "runtime/device/device.h"
#include "runtime/device/device_work.h"
#include "runtime/executable/loaded_executable.h"
#include "runtime/threads/task_queue.h"

namespace isthmus {

// What a running program sees of the runtime. `maxThreads` is its share of the pool.
class LaunchServices final : public RunServices {
 public:
  LaunchServices(Client& client, int maxThreads) : client_(client), maxThreads_(maxThreads) {}

  int numThreads() const override;
  void parallelFor(int64_t tiles, int64_t grain, TileFunction function, void* context) override;
  void* allocateScratch(size_t bytes) override;
  void freeScratch(void* data, size_t bytes) override;
  Collectives& collectives() override;

 private:
  Client& client_;
  int maxThreads_;
};

// What a program uses while it is on an asynchronous device.
struct LaunchInFlight {
  LaunchInFlight(Ref<LoadedExecutable> executable, int maxThreads);

  Ref<LoadedExecutable> executable;
  Ref<ffi::LaunchUserData> userData;
  std::vector<const void*> parameters;
  std::vector<void*> results;
  LaunchServices services;
  RunRequest request;
  std::vector<Event> definitions;  // of arguments: an error of theirs is the program's
  std::chrono::steady_clock::time_point begin;
  DeviceEventRef event;
};

// One device's part. The arguments are held (or donated) already, and the results exist.
class Launch final : public Task {
 public:
  Launch(Ref<LoadedExecutable> executable, const LoadedExecutable::AssignedDevice& assigned,
         const ExecuteOptions& options, const LoadedExecutable::LaunchInfo& info, Promise done);

  Device& device() const { return *assigned_.device; }
  // Drops the holds and makes the results happen; on the device's thread.
  void run() override;

 private:
  friend class LoadedExecutable;
  friend class Gang;

  Status runGuarded();
  Status runProgram();
  // The same on an asynchronous device: returns when the program has been handed over.
  Status enqueueProgram();
  // Adds to `after` what the results' memory must wait for, and gives the arguments' contents to
  // results that must have them and got other memory.
  Status prepareResults(LaunchInFlight& flight, std::vector<DeviceEventRef>& after);
  // Ends the launch when the device has.
  void endWithDevice();
  RunRequest makeRequest(RunServices& services) const;
  int maxThreads() const;
  // What others are told when the program has ended.
  static void notifyEnd(LoadedExecutable& executable, const LoadedExecutable::LaunchInfo& info,
                        const Status& status, int deviceId);

  Ref<LoadedExecutable> executable_;
  LoadedExecutable::AssignedDevice assigned_;
  LoadedExecutable::LaunchInfo info_;
  Ref<ffi::LaunchUserData> userData_;
  Device::PendingLaunch pending_;
  std::vector<BufferRef> arguments_;
  std::unique_ptr<bool[]> isDonated_;
  std::vector<BufferRef> results_;
  Promise done_;
  // What the results wait for: the same but where user code may keep a device while others meet,
  // who should not have to wait to be told that they do so in vain.
  Promise defined_;
  Status argumentError_;
  Ref<DeviceWork> work_;    // of the results; null on synchronous devices
  bool isAwaited_ = false;  // by its caller, who enqueues it
  std::unique_ptr<LaunchInFlight> inFlight_;
};

// The parts of one launch, which go to their queues together once all arguments of all parts are
// there. Two launches thus come in the same order on all devices that they share, and a device
// never waits for an argument while it has other work: collectives cannot lock each other up.
// Launches over several processes go to the queues in the order in which they were issued, since
// processes know nothing else of each other's order.
class Gang {
 public:
  // Deletes itself when it has started.
  static void start(std::vector<std::unique_ptr<Launch>> launches);

 private:
  void arrive();
  // Puts the parts on the queues of their devices.
  void enqueue();
  // User code gets threads of its own.
  void startOnHostThreads();
  // Ends the parts from `index` on without running their program, for want of threads.
  void failFrom(size_t index);

  bool isReady_ = false;  // guarded by the client's gangMutex
  std::vector<std::unique_ptr<Launch>> launches_;
  std::atomic<int64_t> missing_{1};
};

}  // namespace isthmus

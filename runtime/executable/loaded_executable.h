// A program on the devices of its assignment, ready to be launched.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "isthmus/backend.h"
#include "isthmus/out_of_memory.h"
#include "isthmus/status.h"
#include "runtime/buffer/buffer.h"
#include "runtime/client.h"
#include "runtime/event.h"
#include "runtime/ffi/user_data.h"
#include "runtime/small_array.h"

namespace isthmus {

struct ExecuteOptions {
  // Equal for the calls that make up one launch of a program over several devices, when each device
  // gets a call of its own (`executeOn`).
  int64_t launchId = 0;
  // Parameters that must not be donated even though the program says so.
  std::span<const int64_t> nonDonatable;
  // For FFI handlers; the launch shares it. May be null.
  ffi::LaunchUserData* userData = nullptr;
};

// One device's part of a launch.
struct DeviceLaunch {
  std::span<Buffer* const> arguments;
  std::span<BufferRef> results;  // numOutputs() of them, filled on success only
  Event* complete = nullptr;     // if not null: happens when the device has done everything
};

// A program's first launch over several processes, which compare what they are about to run.
class Introduction {
 public:
  Introduction(Job& job, Job::Introduction program) : job_(job), program_(std::move(program)) {}
  // Called by each part of the launch; blocks until the comparison is done.
  Status wait() {
    std::lock_guard lock(mutex_);
    if (!isDone_) status_ = job_.introduce(program_);
    isDone_ = true;
    return status_;
  }

 private:
  Job& job_;
  const Job::Introduction program_;
  std::mutex mutex_;
  bool isDone_ = false;
  Status status_;
};

struct LogicalId {
  int replica = 0;
  int partition = 0;
};

class LoadedExecutable final : public RefCounted<LoadedExecutable> {
 public:
  // Checks that the assignment fits the program and the client's devices. A portable executable has
  // an empty one.
  static StatusOr<Ref<LoadedExecutable>> create(Ref<Client> client,
                                                std::shared_ptr<const Executable> executable,
                                                DeviceAssignment assignment, bool isPortable);

  Client& client() const { return *client_; }
  const std::shared_ptr<const Executable>& executable() const { return executable_; }
  const ProgramInfo& info() const { return info_; }
  size_t numOutputs() const { return info_.outputs.size(); }
  const std::string& fingerprint() const { return info_.fingerprint; }

  // Empty for a portable executable, which runs on any one device.
  const DeviceAssignment& deviceAssignment() const { return assignment_; }
  bool isPortable() const { return isPortable_; }
  // In the order of `execute`'s arguments; empty for a portable executable.
  std::span<Device* const> addressableDevices() const { return devices_; }
  std::span<const LogicalId> addressableLogicalIds() const { return logicalIds_; }

  // Launches on all addressable devices: one entry of `launches` each. Returns when the launch is
  // queued (or done, if that is quicker); failures of the program come through the results' events.
  // An error here means that nothing was launched, donated or written.
  Status execute(std::span<const DeviceLaunch> launches, const ExecuteOptions& options);
  // Launches on one device: one of the addressable ones, or any for a portable executable.
  Status executeOn(Device& device, const DeviceLaunch& launch, const ExecuteOptions& options);

  // Drops the code; later launches are errors.
  void release();
  bool isDeleted() const { return deleted_.load(std::memory_order_acquire); }

 private:
  friend class Gang;
  friend class Launch;

  struct Parameter {
    ArrayType type;
    DonationKind donation;
    int aliasedOutput;
  };
  struct Output {
    std::shared_ptr<const ArrayType> type;
    std::string memoryKind;
    int aliasedParameter = -1;  // a kMustAlias one
  };
  // A device that the program runs on, and who it is among those of the assignment.
  struct AssignedDevice {
    Device* device;
    LogicalId logicalId;
    const DeviceAssignment* assignment;
  };
  // One launch: what is equal for all of its parts in this process.
  struct LaunchInfo {
    int64_t id;
    int participants;
    std::shared_ptr<Introduction> introduction;  // of the first over several processes
  };

  LoadedExecutable(Ref<Client> client, std::shared_ptr<const Executable> executable,
                   DeviceAssignment assignment, bool isPortable);
  Status initialize();

  Status checkArguments(const AssignedDevice& assigned, const DeviceLaunch& launch) const;
  bool donates(size_t parameter, const ExecuteOptions& options) const;
  // Takes holds on the arguments, and donates those to be donated; all or none.
  Status acquire(std::span<Buffer* const> arguments, const ExecuteOptions& options,
                 std::span<bool> isDonated) const;
  static void undoAcquire(std::span<Buffer* const> arguments, std::span<const bool> isDonated);
  class Acquisition;
  Memory& outputMemory(const Device& device, const Output& output) const;
  // What a launch of which `done` is the end tells of that.
  Event completion(const AssignedDevice& assigned, Event done) const;
  // What a run is told besides its buffers and its launch.
  static RunRequest requestOn(const AssignedDevice& assigned, RunServices& services,
                              ffi::LaunchUserData* userData);
  // Gives the contents of an argument that was not donated to the result that aliases it: the
  // program then finds them there.
  static Status copyAliased(Storage& argument, Storage& result, const void*& parameter);
  // Runs the program on this thread until it has ended.
  Status run(const RunRequest& request) const;
  // A run of a program that is observed has taken so long.
  void noteRun(std::chrono::nanoseconds took) const;
  // The same over the memory of argument i, `argument(i)`, and of result i, `result(i)`: each a
  // StatusOr<Storage*>, asked in their order. `request` has everything else.
  template <typename Argument, typename Result>
  Status bindAndRun(RunRequest request, Argument&& argument, Result&& result) const;
  // Nobody above may catch what a backend throws: it is an error of the launch, whose results must
  // happen in any case.
  template <typename F>
  Status caught(F&& work) const {
    try {
      return work();
    } catch (const std::bad_alloc&) {
      return outOfHostMemory();
    } catch (const std::exception& error) {
      return internalError("execute ", info_.name, ": ", error.what());
    }
  }
  // On the calling thread, for one device after the other.
  Status launchInline(std::span<const AssignedDevice> assigned,
                      std::span<const DeviceLaunch> launches, const ExecuteOptions& options) const;
  // An error only if it is to be the call's; others are the results'.
  Status runInline(const AssignedDevice& assigned, const DeviceLaunch& launch,
                   const ExecuteOptions& options, std::span<const bool> isDonated) const;
  static Event callersPartOf(std::span<const DeviceLaunch> launches);
  Status launchQueued(std::span<const AssignedDevice> assigned,
                      std::span<const DeviceLaunch> launches, const ExecuteOptions& options,
                      const LaunchInfo& info);
  // Whether it communicates with devices of other processes.
  bool isOverProcesses() const { return isOverProcesses_; }
  std::shared_ptr<Introduction> introduce();
  bool canRunInline(const AssignedDevice& assigned, const DeviceLaunch& launch) const;
  // Whether its caller hands it to an asynchronous device and waits for it there.
  bool isAwaitedThere(const AssignedDevice& assigned, const DeviceLaunch& launch) const;
  static bool hasArguments(const DeviceLaunch& launch);
  // Whether whoever launches it will wait for it, and not for long.
  bool isAwaited(Device& device) const;
  // Of results; 0 where nobody's habits matter.
  uint32_t beginLaunch(Device& device) const {
    return isObserved_ ? device.callerHabit().beginLaunch() : 0;
  }
  void endLaunch(Device& device) const {
    if (isObserved_) device.callerHabit().endLaunch();
  }
  bool canRunInline(std::span<const DeviceLaunch> launches) const;
  struct TimedRun;
  // On a device with memory of its own.
  Status runDriven(const RunRequest& request) const;

  Ref<Client> client_;
  std::shared_ptr<const Executable> executable_;
  const ProgramInfo& info_;
  DeviceAssignment assignment_;
  bool isPortable_;
  bool isCheap_;
  bool callsUserCode_;
  bool isAsynchronous_;
  // Whether its device has memory of its own but no queue.
  bool isDriven_;
  // Whether it may run on its caller's thread, if that would wait for it anyway.
  bool isObserved_;
  mutable std::atomic<int64_t> runNs_{0};  // of late, if it is observed; 0: has not run yet
  bool donatesAny_ = false;
  std::vector<Parameter> parameters_;
  std::vector<Output> outputs_;
  std::shared_ptr<const std::vector<std::string>> outputDescriptions_;  // if asynchronous
  std::vector<Device*> devices_;
  std::vector<LogicalId> logicalIds_;
  std::vector<AssignedDevice> assigned_;               // the addressable ones
  std::vector<DeviceAssignment> portableAssignments_;  // one per device of the client
  bool isOverProcesses_ = false;
  std::vector<int> processes_;                  // of the assignment, ascending
  std::shared_ptr<LaunchCounts> launchCounts_;  // of the program; null if portable
  std::atomic<bool> deleted_{false};
};

template <typename Argument, typename Result>
Status LoadedExecutable::bindAndRun(RunRequest request, Argument&& argument,
                                    Result&& result) const {
  SmallArray<const void*, 32> parameters(parameters_.size());
  SmallArray<void*, 16> results(outputs_.size());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    ISTHMUS_ASSIGN_OR_RETURN(Storage * storage, argument(i));
    parameters[i] = storage->data();
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    ISTHMUS_ASSIGN_OR_RETURN(Storage * storage, result(i));
    results[i] = storage->data();
    const int aliased = outputs_[i].aliasedParameter;
    if (aliased < 0 || parameters[aliased] == results[i]) continue;
    ISTHMUS_ASSIGN_OR_RETURN(Storage * source, argument(aliased));
    ISTHMUS_RETURN_IF_ERROR(copyAliased(*source, *storage, parameters[aliased]));
  }
  request.parameters = parameters.span();
  request.results = results.span();
  return run(request);
}

}  // namespace isthmus

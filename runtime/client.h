// A client: the devices and memories of a backend, and everything that makes buffers and programs.
//
// Counted by reference: buffers, executables and events in flight keep it alive, so handles may be
// destroyed in any order.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isthmus/backend.h"
#include "isthmus/status.h"
#include "runtime/bootstrap/job.h"
#include "runtime/buffer/buffer.h"
#include "runtime/device/device.h"
#include "runtime/device/topology.h"
#include "runtime/event.h"
#include "runtime/executable/launch_ids.h"
#include "runtime/memory/memory.h"
#include "runtime/ref.h"
#include "runtime/threads/fork_mutex.h"

namespace isthmus {

class Gang;
class InProcessCollectives;
class LoadedExecutable;

// What the caller promises about host memory. The values are those of PJRT_HostBufferSemantics.
enum class HostBufferSemantics : int32_t {
  kImmutableOnlyDuringCall = 0,
  kImmutableUntilTransferCompletes = 1,
  kImmutableZeroCopy = 2,
  kMutableZeroCopy = 3,
};

// An array in host memory that becomes a buffer.
struct HostArray {
  const void* data = nullptr;  // element 0
  ArrayType type;
  std::optional<std::span<const int64_t>> byteStrides = std::nullopt;  // none: dense row-major
  HostBufferSemantics semantics = HostBufferSemantics::kImmutableOnlyDuringCall;
};

class Client final : public RefCounted<Client> {
 public:
  // Options "platform_name", "num_devices" (ISTHMUS_NUM_DEVICES overrides it), "memory_fraction" (a
  // number; else ISTHMUS_MEMORY_PERCENT) and "memory_limit_bytes" (else ISTHMUS_MEMORY_LIMIT_BYTES)
  // are read here; "num_devices" and all others are passed on to the backend, which must outlive
  // the client. One of several processes blocks until the others have come too.
  static StatusOr<Ref<Client>> create(Backend& backend, AttributeMap options = {},
                                      const JobOptions& job = {});
  ~Client();

  Backend& backend() const { return backend_; }
  // Whether its devices have queues.
  bool isAsynchronous() const { return memories_[0]->queue() != nullptr; }
  const std::string& platformName() const { return topology_.platformName; }
  const std::string& platformVersion() const { return topology_.platformVersion; }
  int processIndex() const { return job_ == nullptr ? 0 : job_->processIndex(); }
  const Topology& topology() const { return topology_; }

  // Of all processes, by id.
  std::span<Device* const> devices() const { return devices_; }
  std::span<Device* const> addressableDevices() const { return addressableDevices_; }
  std::span<Memory* const> memories() const { return memories_; }
  // kInvalidArgument "No matching device found for device_id N".
  StatusOr<Device*> lookupDevice(int id) const;
  StatusOr<Device*> lookupAddressableDevice(int localHardwareId) const;
  // The first devices of this process if they are enough, else the first of all; where there are
  // too few, it wraps around.
  DeviceAssignment defaultDeviceAssignment(int numReplicas, int numPartitions) const;

  // ---- Buffers ----

  struct FromHost {
    BufferRef buffer;
    Event hostMemoryDone;  // the caller may free or change the host memory
  };
  // Aliases the host memory when the semantics allow it, it is dense in the type's layout and
  // aligned to its elements; else copies it before returning. Asynchronous devices copy it later if
  // the semantics allow that.
  StatusOr<FromHost> bufferFromHost(Memory& memory, const HostArray& array);
  // A buffer over memory that somebody else owns, aligned to 16 bytes; `onDelete` is called once,
  // when it is no longer read. It is never written, not even when it is donated.
  StatusOr<BufferRef> viewOfMemory(Memory& memory, ArrayType type, void* data,
                                   std::function<void()> onDelete);
  // Memory whose contents are whatever was there.
  StatusOr<BufferRef> uninitialized(Memory& memory, ArrayType type);
  // A buffer that poisons what uses it.
  StatusOr<BufferRef> errorBuffer(Memory& memory, ArrayType type, Status error);

  // ---- Programs ----

  StatusOr<Ref<LoadedExecutable>> compile(const CompileRequest& request);
  // Makes an executable runnable on the devices of its assignment. `options`, if given, replace
  // those it was compiled with as far as the device assignment goes.
  StatusOr<Ref<LoadedExecutable>> load(std::shared_ptr<const Executable> executable,
                                       const CompileOptions* options = nullptr);
  StatusOr<Ref<LoadedExecutable>> deserialize(std::string_view bytes,
                                              const CompileOptions* options = nullptr);

  // What the layer above derives from this client: set once, before the client is shared, and
  // destroyed with it.
  void setAttachment(std::shared_ptr<void> attachment) { attachment_ = std::move(attachment); }
  void* attachment() const { return attachment_.get(); }

  // ---- For the runtime ----

  InProcessCollectives& collectives() { return *collectives_; }
  // Copies and other work that must not run on the caller's thread.
  TaskQueue& transferQueue() { return transferQueue_; }
  // Held while a launch is put on several queues, so that all see launches in one order.
  ForkMutex& gangMutex() { return gangMutex_; }
  // Launches over several processes that are not on their queues yet, as they were issued. Guarded
  // by gangMutex.
  std::deque<Gang*>& gangsInOrder() { return gangsInOrder_; }
  int64_t nextLaunchId() { return nextLaunchId_.fetch_add(1, std::memory_order_relaxed); }
  LaunchIds& launchIds() { return launchIds_; }
  // Called before launches are queued whose arguments wait for `callersPart`: kResourceExhausted if
  // too many do already. Where there are many, blocks for a moment each time, so that who forgot to
  // stop does not fill the memory at once; the caller may be who makes `callersPart` happen.
  Status admitForCaller(size_t launches, const Event& callersPart);
  // Null in a job of one process.
  Job* job() { return job_.get(); }

 private:
  Client(Backend& backend, Topology topology, std::unique_ptr<Job> job,
         const MemoryShare& memoryShare);

  Backend& backend_;
  Topology topology_;
  std::unique_ptr<Job> job_;
  std::vector<std::unique_ptr<Device>> ownedDevices_;
  std::vector<std::unique_ptr<Memory>> ownedMemories_;
  std::vector<Device*> devices_;
  std::vector<Device*> addressableDevices_;
  std::vector<Memory*> memories_;
  std::unique_ptr<InProcessCollectives> collectives_;
  TaskQueue transferQueue_;
  ForkMutex gangMutex_{ForkMutex::Rank::kOuter};
  std::deque<Gang*> gangsInOrder_;
  LaunchIds launchIds_;
  std::atomic<int64_t> nextLaunchId_{int64_t{1} << 62};
  // How many launches wait for the caller; theirs, who may outlive the client.
  const std::shared_ptr<std::atomic<size_t>> waitingForCaller_ =
      std::make_shared<std::atomic<size_t>>(0);
  std::shared_ptr<void> attachment_;
};

}  // namespace isthmus

// What a hardware vendor implements: one Backend, and the Executables that it compiles to.
//
// Everything above this header (the C API, buffers, events, asynchronous execution, donation,
// sharding, caches) is inherited. All methods may be called from any thread at any time unless a
// comment says otherwise. Errors are returned, never thrown.
//
// Backends are of one of two kinds. A synchronous one computes and copies on the thread that asks
// it to (`run`, synchronous_memory.h); the runtime gives it threads. An asynchronous one has a
// DeviceQueue per device (device_queue.h) and hands work to it (`enqueue`). The CPU is of the first
// kind, and so is a new device's first day: `backends/skeleton`.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/device_description.h"
#include "isthmus/device_queue.h"
#include "isthmus/program_info.h"
#include "isthmus/run_request.h"
#include "isthmus/status.h"
#include "isthmus/synchronous_memory.h"
#include "isthmus/types.h"

namespace isthmus {

// A compiled program: immutable, shared by all the devices that run it.
class Executable {
 public:
  virtual ~Executable() = default;
  virtual const ProgramInfo& info() const = 0;  // constant, and asked all the time

  // Of a synchronous backend: runs the program on the calling thread (helped by the services' pool)
  // and returns when the results are written. Called concurrently for several devices and several
  // launches.
  virtual Status run(const RunRequest& request) const {
    return internalError("this backend's programs are enqueued, not run");
  }

  // Of an asynchronous backend: hands the whole program to the device's queue. `after`: what it
  // waits for. The event happens when the results are written and nothing of the request is used
  // any more; if the call fails, that must be so when it returns. May block where the host must
  // read what the device computes (a loop's predicate) or has a part in the program.
  virtual StatusOr<DeviceEventRef> enqueue(const RunRequest& request, DeviceEvents after) const {
    return internalError("this backend's programs are run, not enqueued");
  }
  // Device memory that `enqueue` gets for temporaries, the runtime's to allocate and release.
  virtual size_t scratchBytes() const { return 0; }

  // True if a run (or the handing over) takes so little time that giving it to another thread costs
  // more, also for several devices in turn. An enqueueing that blocks is never cheap, unless only
  // while traces are recorded, nor is a run that meets other devices.
  virtual bool isCheap() const { return false; }
  // True if a run may wait for another device or for user code. One that never does is run by a
  // caller who would wait for its end anyway, if it is short.
  virtual bool mayBlock() const { return true; }
  // Whether threads that wait for what was enqueued compute it: see RunRequest::isAwaited.
  virtual bool waitersCompute() const { return false; }
  // True if a run calls code of the user, which may block, or launch and await other programs. It
  // runs on its caller's thread, or a thread of its own, and holds up no other of its device.
  virtual bool callsUserCode() const { return false; }

  // Bytes that Backend::deserialize turns back into this executable.
  virtual StatusOr<std::string> serialize() const {
    return unimplemented("this backend's executables cannot be serialized");
  }
};

// Where an operation of a program is computed.
enum class Support { kUnknown, kNo, kByHost, kOnDevice };

// A platform: what a plugin links. One lives as long as its client; any thread may call it.
class Backend : public SynchronousMemory {
 public:
  virtual ~Backend() = default;

  // What clients see: "cpu", "xpu". `options` may override it.
  virtual std::string platformName() const = 0;
  // The same only where executables are: JAX's compilation cache knows a platform by name and this.
  virtual std::string platformVersion() const = 0;

  // Of a client; called once, when it is made. Unknown or malformed options are kInvalidArgument.
  virtual StatusOr<std::vector<DeviceDescription>> describeDevices(const AttributeMap& options) = 0;

  // The queue of a device of this process; null for a synchronous backend, always or never. If
  // there are queues, no function of SynchronousMemory is called but isHostAddressable.
  virtual DeviceQueue* queue(int deviceId) { return nullptr; }

  // "bytes_limit": what all memories of the device have together; the host's if it is not said.
  virtual AttributeMap memoryStats(int deviceId) const { return {}; }

  // May take long, on many threads. kInvalidArgument: what is wrong with the program, by operation
  // and source line; kUnimplemented: what is lacking, with types as well.
  virtual StatusOr<std::shared_ptr<const Executable>> compile(const CompileRequest& request) = 0;
  // Of an operation by its name ("stablehlo.sort"), in at least one type: for listings; `compile`
  // has the last word.
  virtual Support supports(std::string_view op) const { return Support::kUnknown; }
  // The program, from `info.code`, in plain StableHLO after what is done above code generation.
  virtual StatusOr<std::string> optimizedProgram(const ProgramInfo& info) {
    return unimplemented("this backend does not show optimized programs");
  }
  // Any bytes may come, and are hostile: kInvalidArgument if `serialize` has not written them, or
  // they are damaged; kFailedPrecondition if another build has, or for another device.
  virtual StatusOr<std::shared_ptr<const Executable>> deserialize(std::string_view bytes) {
    return unimplemented("this backend cannot load serialized executables");
  }
};

// Each plugin links exactly one backend, which defines this. Owned by the process, never destroyed.
Backend& linkedBackend();

}  // namespace isthmus

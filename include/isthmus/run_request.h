// What a program is given when it runs, as plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "isthmus/program_info.h"

namespace isthmus {

class RunServices;  // run_services.h

// Of results, and of all memory that a device gives out.
inline constexpr size_t kBufferAlignment = 64;

namespace ffi {

// What the framework hands to the FFI handlers of one launch; not changed while it runs. From any
// thread; owns nothing.
class UserData {
 public:
  // Its pointer to data of this type, by the number that the type was registered with. Nothing if
  // it has none.
  virtual std::optional<void*> find(int64_t typeId) const = 0;

 protected:
  ~UserData() = default;
};

}  // namespace ffi

// One launch of an executable on one device.
struct RunRequest {
  int replica = 0;
  int partition = 0;
  int deviceId = 0;
  int64_t launchId = 0;  // equal on all devices of one launch
  // Addresses of the parameters and of the results, in ProgramInfo's order. All are of the right
  // size, and ready (to an enqueued program: after its events). Results are aligned to
  // kBufferAlignment; parameters only to their elements (a complex one to its parts), since they
  // may be memory of the host program: read them with unaligned vector loads. A kMustAlias
  // parameter and its output have the same address; otherwise results overlap nothing. They, and
  // all that is referred to here, stay valid until the run returns, or the event of the enqueued
  // work is ready.
  std::span<const void* const> parameters;
  std::span<void* const> results;
  const DeviceAssignment* assignment = nullptr;
  RunServices* services = nullptr;  // threads, collectives, temporary memory; never null
  void* scratch = nullptr;          // Executable::scratchBytes() of the device; enqueue only
  const ffi::UserData* userData = nullptr;  // may be null
  // The caller, who enqueues it, would wait for its end anyway, which is near: `enqueue` may do so.
  // Only of executables whose waiters compute, and that never block.
  bool isAwaited = false;
};

}  // namespace isthmus

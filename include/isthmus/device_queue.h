// The asynchronous half of a device: work is handed over in advance; events say when it is done.
//
// A backend whose devices run beside the host gives out one DeviceQueue per device
// (Backend::queue), and its executables implement `enqueue`. The runtime then hands over copies and
// launches as soon as the work that they depend on has been handed over, not when it is done.
//
// Order: work happens after the events that it is given, and else in any order; a device may as
// well keep the order of calls. But a program that meets others (ProgramInfo::exchanges) may hold
// its device until they run on theirs, so launches of such programs start after all launches that
// were handed over before and before all that come later, and copies never wait in line behind
// launches: they need a stream of their own.
//
// Threads: all functions may be called from any thread at any time. None waits for the device, but
// `await…`, and `enqueue` of a program whose host part reads what the device computes.
//
// Errors: a returned one means that nothing was handed over. What fails later fails its event: the
// error names the kernel and, where it is known, the source line. The runtime passes errors on to
// all that depends on them, so a device need not look at how the events it waits for ended: work
// after failed work is done (on whatever memory holds), or skipped with the same error. A lost
// device fails all its events, and all later calls, with kUnavailable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "isthmus/status.h"

namespace isthmus {

// The end of one piece of work on a device.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;
  // True once the work is done or has failed. Asked again and again while there is a watchdog.
  virtual bool isReady() const = 0;
  // Blocks until then. OK, or the error.
  virtual Status await() const = 0;
};

// Shared by all who wait for it; null is work that is done. An event may outlive its queue's work,
// but no client.
using DeviceEventRef = std::shared_ptr<const DeviceEvent>;
// Work waits for all of them; they may be of other devices of the same backend. None is null.
using DeviceEvents = std::span<const DeviceEventRef>;

// A place in a block, which may be a handle, aligned to its elements; null for an empty array.
struct DevicePlace {
  void* block = nullptr;
  size_t offset = 0;
};

class ExternalStreams;  // device_optional.h

// One device. Owned by the backend; lives as long as the process.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;

  struct Block {
    void* data = nullptr;
    DeviceEventRef available;  // the first work on the memory waits for it; null: at once
  };
  // Memory of the device, aligned to kBufferAlignment; 0 bytes are legal and give a unique address.
  // An address or a handle: the runtime never computes with it, and gives copies an offset beside
  // it. May reuse memory whose release still waits for events, if `available` says when that is
  // over. kResourceExhausted when there is none.
  virtual StatusOr<Block> allocate(std::string_view memoryKind, size_t bytes) = 0;
  // Gives memory back once the events in `after` have happened (in any way). Nothing is enqueued on
  // it later.
  virtual void release(std::string_view memoryKind, void* data, size_t bytes,
                       DeviceEvents after) = 0;

  // Host memory stays valid, and unchanged or unread, until the event is ready; it is ordinary
  // memory of any alignment. Offsets are into the block. Copies of `bytes` bytes (may be 0):
  virtual StatusOr<DeviceEventRef> copyFromHost(void* device, size_t offset, const void* host,
                                                size_t bytes, DeviceEvents after) = 0;
  virtual StatusOr<DeviceEventRef> copyToHost(const void* device, size_t offset, void* host,
                                              size_t bytes, DeviceEvents after) = 0;
  // From the beginning of a block of `fromDeviceId` (which may be this device) to that of one here.
  virtual StatusOr<DeviceEventRef> copyFromDevice(void* to, int fromDeviceId, const void* from,
                                                  size_t bytes, DeviceEvents after) = 0;

  // For arrays shared with other libraries of the platform; null if there is no such thing.
  virtual ExternalStreams* externalStreams() { return nullptr; }
};

}  // namespace isthmus

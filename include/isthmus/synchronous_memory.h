// The memory of devices that are used synchronously: all is done when a function returns.
#pragma once

#include <cstddef>
#include <string_view>

#include "isthmus/status.h"

namespace isthmus {

// Part of a Backend, for one without queues; any thread calls it at any time.
class SynchronousMemory {
 public:
  // Memory of `bytes` bytes (0 is legal and gives a unique pointer), aligned to kBufferAlignment.
  // kResourceExhausted when there is none.
  virtual StatusOr<void*> allocate(int deviceId, std::string_view memoryKind, size_t bytes) {
    return unimplemented("this backend allocates by its queues");
  }
  // Gives back what `allocate` returned for so many bytes, of which nothing is used any more.
  virtual void deallocate(int deviceId, std::string_view memoryKind, void* data, size_t bytes) {}

  // Whether the host can read and write device memory through its address (IsOnCpu). False of an
  // asynchronous backend.
  virtual bool isHostAddressable() const { return true; }

  // `device`, `to` and `from` are what `allocate` returned: addresses or handles, never computed
  // with. Called only if memory is not host-addressable. Copies of `bytes` bytes, done when they
  // return:
  virtual Status copyFromHost(int deviceId, void* device, size_t offset, const void* host,
                              size_t bytes) {
    return unimplemented("this backend has no copy from the host");
  }
  virtual Status copyToHost(int deviceId, const void* device, size_t offset, void* host,
                            size_t bytes) {
    return unimplemented("this backend has no copy to the host");
  }
  // Both from their beginning; the devices may be the same.
  virtual Status copyBetween(int toDeviceId, void* to, int fromDeviceId, const void* from,
                             size_t bytes) {
    return unimplemented("this backend has no copy between device memories");
  }

 protected:
  ~SynchronousMemory() = default;
};

}  // namespace isthmus

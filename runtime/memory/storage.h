// A block of memory that buffers share, and the way in which it is given back.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "isthmus/device_queue.h"
#include "isthmus/status.h"
#include "runtime/memory/memory.h"
#include "runtime/ref.h"

namespace isthmus {

// Freed when the last reference goes. Whoever has one keeps the client alive.
class Storage : public RefCounted<Storage> {
 public:
  // `origin` is for errors, and copied.
  static StatusOr<Ref<Storage>> allocate(Memory& memory, size_t bytes,
                                         const BlockOrigin& origin = {});
  // Memory of somebody else, never written unless `writable`. `onRelease`, if any, is called once,
  // on any thread, when nobody here reads it any more.
  static Ref<Storage> foreign(Memory& memory, void* data, size_t bytes, bool writable,
                              std::function<void()> onRelease);

  ~Storage();

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Memory& memory() const { return memory_; }
  // False for memory that the caller promised would not change, and that we thus must not change.
  bool isWritable() const { return writable_; }

  // ---- On asynchronous devices: the work in flight that reads or writes the memory ----

  // It goes back to the device when all of that is done.
  void addUse(const DeviceEventRef& event);
  // Adds to `after` what must be done before the memory is overwritten.
  void addUsesTo(std::vector<DeviceEventRef>& after) const;

 private:
  struct Uses {
    std::mutex mutex;
    std::vector<DeviceEventRef> events;
  };

  Storage(Memory& memory, void* data, size_t bytes, bool owned, bool writable);
  void releaseAfterUses();

  Memory& memory_;
  void* data_;
  size_t bytes_;
  bool owned_;
  bool writable_;
  std::function<void()> onRelease_;
  std::unique_ptr<Uses> uses_;  // null on synchronous devices
};

}  // namespace isthmus

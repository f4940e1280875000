// Buffers that are filled from the host piece by piece, after they have been handed out.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "isthmus/status.h"
#include "runtime/buffer/buffer.h"
#include "runtime/client.h"
#include "runtime/event.h"

namespace isthmus {

// Made for a fixed list of buffers in one memory. All methods are safe from any thread. Buffers
// that were never completed get an error when the manager is destroyed.
class HostToDeviceTransfers {
 public:
  static StatusOr<std::unique_ptr<HostToDeviceTransfers>> create(Memory& memory,
                                                                 std::vector<ArrayType> types);
  ~HostToDeviceTransfers();

  Device& device() const { return memory_.device(); }
  size_t bufferCount() const { return entries_.size(); }
  StatusOr<size_t> bufferSize(int index) const;
  // Each buffer can be taken once, before or after its data has come.
  StatusOr<BufferRef> retrieve(int index);

  // Copies `bytes` bytes to byte `offset` of a buffer. The last one (`isLast`) defines the buffer
  // once all that came before are done. The data must stay until the event happens.
  StatusOr<Event> transferData(int index, const void* data, int64_t offset, int64_t bytes,
                               bool isLast);
  // Copies a whole array with strides (see HostArray) and defines the buffer.
  StatusOr<Event> transferArray(int index, const HostArray& array);
  // Poisons a buffer that has not been defined yet.
  Status setError(int index, Status error);

 private:
  struct Entry;
  explicit HostToDeviceTransfers(Memory& memory);
  StatusOr<std::shared_ptr<Entry>> entry(int index) const;

  Memory& memory_;
  std::vector<std::shared_ptr<Entry>> entries_;  // shared with copies that are going on
};

}  // namespace isthmus

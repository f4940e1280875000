// A memory space of a device, and its statistics.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "isthmus/device_queue.h"
#include "isthmus/status.h"
#include "isthmus/types.h"
#include "runtime/memory/live_blocks.h"

namespace isthmus {

class Backend;
class Client;
class Device;

// Bytes are those that programs and buffers asked for, rounded by nothing; what programs keep of a
// device that is not the host (arenas, constants) is in use, but no allocation.
struct MemoryStats {
  int64_t bytesInUse = 0;
  int64_t peakBytesInUse = 0;
  int64_t allocations = 0;  // number of blocks ever allocated
  int64_t largestAllocation = 0;
  int64_t bytesLimit = 0;       // what the device, the host, its control group or the user allows
  int64_t bytesReservable = 0;  // what is left of that if all devices that share it take as much
};

// What a client may use of a device's memory.
struct MemoryShare {
  double fraction = 1;   // more than 0, at most 1
  int64_t maxBytes = 0;  // of that; 0: all
};

// Owned by the client, lives as long as it. Safe from any thread.
class Memory {
 public:
  Memory(Client& client, Device& device, int id, int kindId, std::string kind,
         const MemoryShare& share);

  Client& client() const { return client_; }
  int id() const { return id_; }                     // unique in the client
  const std::string& kind() const { return kind_; }  // "device", "pinned_host", …
  int kindId() const { return kindId_; }             // equal for equal kinds, never 0
  const std::string& debugString() const { return debugString_; }
  const std::string& toString() const { return debugString_; }
  // The devices that can address this memory; the first is the one it belongs to.
  std::span<Device* const> devices() const { return devices_; }
  Device& device() const { return *devices_[0]; }

  // Of the device; null on synchronous ones.
  DeviceQueue* queue() const { return queue_; }

  // Memory of the backend, counted in the statistics. kResourceExhausted when there is none, or the
  // limit is reached; where memory is not the host's, it lists the largest blocks with their
  // origins. `available` and `after` are as DeviceQueue says; on synchronous devices the former is
  // null, and `deallocate` is called.
  StatusOr<void*> allocate(size_t bytes, const BlockOrigin& origin, DeviceEventRef* available);
  void deallocate(void* data, size_t bytes);
  // On asynchronous devices: after these events.
  void deallocateListed(void* data, size_t bytes, DeviceEvents after);

  // Copies into, out of and between blocks of such memories on synchronous devices, by plain loads
  // and stores or by the backend. They return when they are done, or when Device::inTime gives up.
  // Strides are those of `copyStrided`.
  Status write(void* data, size_t offset, const void* host, size_t bytes);
  Status read(const void* data, size_t offset, void* host, size_t bytes) const;
  Status writeArray(void* data, const ArrayType& type, const void* host,
                    std::span<const int64_t> byteStrides);
  Status readArray(const void* data, const ArrayType& type, void* host,
                   std::span<const int64_t> byteStrides) const;
  Status copyFrom(void* data, const Memory& source, const void* sourceData, size_t bytes);

  // An error of work that needed memory of its own here: kResourceExhausted lists the largest
  // blocks as that of `allocate` does, others are as they were.
  Status describeShortage(const Status& status) const;

  // What programs have here of their own, if this is where they do; else null.
  const ProgramMemory* programs() const { return programs_; }
  // Whether they may have so much more: else an error as that of `allocate`.
  Status checkForPrograms(size_t bytes) const;

  MemoryStats stats() const;
  // Forgets peak and largest allocation; counts start again from what is in use.
  void clearStats();

 private:
  StatusOr<void*> allocateListed(size_t bytes, const BlockOrigin& origin,
                                 DeviceEventRef* available);
  Status describeFailure(const Status& status, size_t bytes) const;
  Status checkLimit(size_t bytes) const { return checkLimit(bytes, programBytes()); }
  Status checkLimit(size_t bytes, int64_t programBytes) const;
  std::string largestBlocks() const;
  int64_t programBytes() const { return programs_ == nullptr ? 0 : programs_->bytes(); }

  Client& client_;
  Backend& backend_;
  DeviceQueue* queue_;
  int id_;
  int kindId_;
  std::string kind_;
  std::string debugString_;
  std::vector<Device*> devices_;
  int deviceId_;
  bool isHostAddressable_;
  int64_t bytesLimit_;
  std::unique_ptr<LiveBlocks> blocks_;  // null in the host's memory, which others use too
  std::atomic<int64_t> bytesInUse_{0};
  std::atomic<int64_t> peakBytesInUse_{0};
  std::atomic<int64_t> allocations_{0};
  std::atomic<int64_t> largestAllocation_{0};
  ProgramMemory* programs_ = nullptr;  // of the device, if this is where they have their own
};

}  // namespace isthmus

// The memory of a simulated device: addresses that fault when the host uses them.
//
// Each address has a twin, at a constant distance, by which the device itself reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "isthmus/device_queue.h"
#include "isthmus/status.h"

namespace isthmus::simulated {

// Blocks in one range. Safe from any thread. Memory is given out again at once when it has been
// released, together with what its last users have yet to do.
class AddressSpace {
 public:
  static StatusOr<std::unique_ptr<AddressSpace>> create(size_t bytes);
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  size_t bytes() const { return bytes_; }
  size_t bytesInUse() const;

  struct Block {
    void* data = nullptr;
    std::vector<DeviceEventRef> available;  // events to wait for
  };
  // Unused memory is filled with bytes that are NaN in all floating-point types.
  StatusOr<Block> allocate(size_t bytes);
  void release(void* data, std::vector<DeviceEventRef> after);

  // Where the device finds `bytes` bytes from `data` on; kInvalidArgument unless they lie in one
  // block that is allocated.
  StatusOr<char*> twin(const void* data, size_t bytes) const;

 private:
  struct Free {
    size_t bytes = 0;
    std::vector<DeviceEventRef> after;
  };

  AddressSpace(char* addresses, char* memory, size_t bytes);

  char* const addresses_;
  char* const memory_;
  const size_t bytes_;
  mutable std::mutex mutex_;
  std::map<size_t, Free> free_;    // by offset; neighbours are joined
  std::map<size_t, size_t> live_;  // bytes by offset
  size_t bytesInUse_ = 0;
};

}  // namespace isthmus::simulated

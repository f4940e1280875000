// First fit over a sorted list of free ranges.
#include "backends/simulated/address_space.h"

#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "isthmus/backend.h"

namespace isthmus::simulated {
namespace {

// Of larger blocks, only the beginning is filled.
constexpr size_t kMaxFilled = 1 << 20;

size_t rounded(size_t bytes) {
  return bytes == 0 ? kBufferAlignment
                    : (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

void eraseReady(std::vector<DeviceEventRef>& events) {
  std::erase_if(events, [](const DeviceEventRef& event) { return event->isReady(); });
}

}  // namespace

AddressSpace::AddressSpace(char* addresses, char* memory, size_t bytes)
    : addresses_(addresses), memory_(memory), bytes_(bytes), free_{{0, {bytes, {}}}} {}

AddressSpace::~AddressSpace() {
  munmap(addresses_, bytes_);
  munmap(memory_, bytes_);
}

StatusOr<std::unique_ptr<AddressSpace>> AddressSpace::create(size_t bytes) {
  bytes = rounded(bytes);
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* addresses = mmap(nullptr, bytes, PROT_NONE, kFlags, -1, 0);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (addresses == MAP_FAILED || memory == MAP_FAILED) {
    if (addresses != MAP_FAILED) munmap(addresses, bytes);
    if (memory != MAP_FAILED) munmap(memory, bytes);
    return resourceExhausted("no addresses for a simulated device of ", bytes, " bytes");
  }
  return std::unique_ptr<AddressSpace>(
      new AddressSpace(static_cast<char*>(addresses), static_cast<char*>(memory), bytes));
}

size_t AddressSpace::bytesInUse() const {
  std::lock_guard lock(mutex_);
  return bytesInUse_;
}

StatusOr<AddressSpace::Block> AddressSpace::allocate(size_t bytes) {
  if (bytes > bytes_) {
    return resourceExhausted("no memory for ", bytes, " bytes on a device of ", bytes_);
  }
  size_t size = rounded(bytes);
  std::lock_guard lock(mutex_);
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second.bytes < size) continue;
    auto [offset, range] = *it;
    free_.erase(it);
    eraseReady(range.after);
    if (range.bytes > size) free_[offset + size] = {range.bytes - size, range.after};
    live_[offset] = size;
    bytesInUse_ += size;
    if (range.after.empty()) std::memset(memory_ + offset, 0xff, std::min(size, kMaxFilled));
    return Block{addresses_ + offset, std::move(range.after)};
  }
  return resourceExhausted("no memory for ", bytes, " bytes: ", bytesInUse_, " of ", bytes_,
                           " are in use");
}

void AddressSpace::release(void* data, std::vector<DeviceEventRef> after) {
  auto offset = static_cast<size_t>(static_cast<char*>(data) - addresses_);
  std::lock_guard lock(mutex_);
  auto found = live_.find(offset);
  if (found == live_.end()) return;
  size_t size = found->second;
  live_.erase(found);
  bytesInUse_ -= size;
  auto join = [&](const std::vector<DeviceEventRef>& other) {
    after.insert(after.end(), other.begin(), other.end());
  };
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + size) {
    size += next->second.bytes;
    join(next->second.after);
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second.bytes == offset) {
      offset = previous->first;
      size += previous->second.bytes;
      join(previous->second.after);
      free_.erase(previous);
    }
  }
  eraseReady(after);
  free_[offset] = {size, std::move(after)};
}

StatusOr<char*> AddressSpace::twin(const void* data, size_t bytes) const {
  const char* address = static_cast<const char*>(data);
  auto offset = static_cast<size_t>(address - addresses_);
  std::lock_guard lock(mutex_);
  auto block = live_.upper_bound(offset);
  if (address < addresses_ || offset >= bytes_ || block == live_.begin()) {
    return invalidArgument("address ", data, " is not of this device");
  }
  --block;
  size_t at = offset - block->first;
  if (at > block->second || bytes > block->second - at) {
    return invalidArgument(bytes, " bytes at ", data, " are not in one block of this device");
  }
  return memory_ + offset;
}

}  // namespace isthmus::simulated

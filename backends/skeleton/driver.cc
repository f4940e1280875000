// The device: blocks of host memory behind addresses that the host must not use.
#include "backends/skeleton/driver.h"

#include <cstdlib>
#include <cstring>

#include "isthmus/backend.h"

namespace isthmus::skeleton {
namespace {

// Addresses with this bit set make the processor stop whoever takes them for the host's.
constexpr uintptr_t kDeviceBit = uintptr_t{1} << 62;

char* inside(const void* device) {
  return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(device) & ~kDeviceBit);
}

}  // namespace

StatusOr<int> countDevices() { return 1; }

std::string deviceName(int) { return "skeleton"; }

int64_t memoryBytes(int) { return int64_t{1} << 30; }

StatusOr<void*> allocate(int device, size_t bytes) {
  const size_t rounded = (bytes / kBufferAlignment + 1) * kBufferAlignment;
  void* data = nullptr;
  if (bytes <= static_cast<size_t>(memoryBytes(device))) {
    data = std::aligned_alloc(kBufferAlignment, rounded);
  }
  if (data == nullptr) return resourceExhausted("no memory for ", bytes, " bytes");
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(data) | kDeviceBit);
}

void release(int, void* data) { std::free(inside(data)); }

Status copyToDevice(int, void* to, size_t offset, const void* host, size_t bytes) {
  if (bytes > 0) std::memcpy(inside(to) + offset, host, bytes);
  return {};
}

Status copyToHost(int, const void* from, size_t offset, void* host, size_t bytes) {
  if (bytes > 0) std::memcpy(host, inside(from) + offset, bytes);
  return {};
}

Status copyOnDevices(int, void* to, int, const void* from, size_t bytes) {
  if (bytes > 0) std::memmove(inside(to), inside(from), bytes);
  return {};
}

}  // namespace isthmus::skeleton

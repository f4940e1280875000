// Host memory between the caller's arrays and a device's.
#pragma once

#include <cstddef>
#include <utility>

#include "isthmus/status.h"
#include "runtime/memory/host_allocator.h"

namespace isthmus {

// Host memory that an array passes on its way to or from a device. Owned; movable.
class Staging {
 public:
  static StatusOr<Staging> allocate(size_t bytes) {
    void* data = hostAllocate(bytes);
    if (data == nullptr) return resourceExhausted("no host memory for ", bytes, " bytes to copy");
    return Staging(data, bytes);
  }
  Staging() = default;
  Staging(Staging&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Staging& operator=(Staging&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Staging() {
    if (data_ != nullptr) hostDeallocate(data_, bytes_);
  }
  void* data() const { return data_; }

 private:
  Staging(void* data, size_t bytes) : data_(data), bytes_(bytes) {}
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace isthmus

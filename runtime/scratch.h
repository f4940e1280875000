// Memory that a function needs while it runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isthmus/run_services.h"

namespace isthmus {

// `count` uninitialized values of a plain type, aligned to kBufferAlignment, for as long as this
// lives. They are null if there is no memory.
template <typename T>
class Scratch {
 public:
  Scratch(RunServices& services, int64_t count) : Scratch(services, count, nullptr, 0) {}

  // Uses `local`, of `localCount` values, instead if that is enough.
  Scratch(RunServices& services, int64_t count, T* local, int64_t localCount)
      : services_(services), bytes_(static_cast<size_t>(count) * sizeof(T)), local_(local) {
    const bool fits = local && bytes_ <= static_cast<size_t>(localCount) * sizeof(T);
    data_ = fits ? local : static_cast<T*>(services.allocateScratch(bytes_));
  }
  ~Scratch() {
    if (data_ && data_ != local_) services_.freeScratch(data_, bytes_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  explicit operator bool() const { return data_ != nullptr; }
  T* data() const { return data_; }

 private:
  RunServices& services_;
  size_t bytes_;
  T* local_;
  T* data_;
};

}  // namespace isthmus

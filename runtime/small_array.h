// An array on the stack, or on the heap if it is long.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace isthmus {

// Of a size that is known when it is made; elements are value-initialized. Neither copied nor
// moved.
template <typename T, size_t kInline>
class SmallArray {
 public:
  explicit SmallArray(size_t size) : size_(size) {
    if (size > kInline) heap_ = std::make_unique<T[]>(size);
  }
  SmallArray(const SmallArray&) = delete;
  SmallArray& operator=(const SmallArray&) = delete;

  T& operator[](size_t i) { return data()[i]; }
  std::span<T> span() { return {data(), size_}; }

 private:
  T* data() { return size_ > kInline ? heap_.get() : inline_.data(); }

  size_t size_;
  std::array<T, kInline> inline_{};
  std::unique_ptr<T[]> heap_;
};

}  // namespace isthmus

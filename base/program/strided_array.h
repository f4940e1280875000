// Where the elements of an array are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace isthmus {

struct StridedArray {
  std::span<const int64_t> sizes;
  std::span<const int64_t> strides;  // in elements
};

// Sets `strides`, as many as there are sizes, to those of a dense row-major array, in elements.
inline void setRowMajorStrides(std::span<const int64_t> sizes, std::span<int64_t> strides) {
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= sizes[d];
  }
}

}  // namespace isthmus

// Strided arrays in host memory, and copies between them and dense ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "isthmus/status.h"
#include "isthmus/types.h"

namespace isthmus {

// Strides in bytes, one per dimension, of a dense array in the layout of `type`.
std::vector<int64_t> denseStrides(const ArrayType& type);

// True if an array with these strides lies in memory as a dense one in the layout of `type` does.
// Strides of dimensions of size 1, and all strides of an array without elements, do not matter.
bool isDense(const ArrayType& type, std::span<const int64_t> byteStrides);

// Copies an array of `type` element by element; either side may have any strides (negative, zero,
// not a multiple of the element size), `source` and `destination` are the addresses of element 0.
// Empty strides mean dense in the layout of `type`. Large copies use the thread pool.
void copyStrided(const ArrayType& type, const void* source, std::span<const int64_t> sourceStrides,
                 void* destination, std::span<const int64_t> destinationStrides);

// memcpy that uses the thread pool for large blocks.
void copyBytes(void* destination, const void* source, size_t bytes);

}  // namespace isthmus

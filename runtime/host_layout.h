// Strided arrays in host memory, and copies between them and dense row-major ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "isthmus/status.h"
#include "isthmus/types.h"

namespace isthmus {

// Strides in bytes, one per dimension, of a dense row-major array.
std::vector<int64_t> rowMajorStrides(const ArrayType& type);

// Strides in bytes of a dense array whose dimension `minorToMajor[0]` varies fastest.
// kInvalidArgument if that is not a permutation of the dimensions.
StatusOr<std::vector<int64_t>> stridesOfMinorToMajor(const ArrayType& type,
                                                     std::span<const int64_t> minorToMajor);

// True if an array with these strides lies in memory as a dense row-major one does. Strides of
// dimensions of size 1, and all strides of an array without elements, do not matter.
bool isRowMajor(const ArrayType& type, std::span<const int64_t> byteStrides);

// Copies an array of `type` element by element; either side may have any strides (negative, zero,
// not a multiple of the element size), `source` and `destination` are the addresses of element 0.
// Empty strides mean dense row-major. Large copies use the thread pool.
void copyStrided(const ArrayType& type, const void* source, std::span<const int64_t> sourceStrides,
                 void* destination, std::span<const int64_t> destinationStrides);

// memcpy that uses the thread pool for large blocks.
void copyBytes(void* destination, const void* source, size_t bytes);

}  // namespace isthmus

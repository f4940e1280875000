// Memory layouts as callers describe them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isthmus/pjrt_c_api.h"
#include "isthmus/status.h"
#include "isthmus/types.h"

namespace isthmus::pjrt {

// The strides in bytes that `layout` gives an array of `type`; none (the layout of `type`) if it is
// null. kUnimplemented for tiles, kInvalidArgument for a layout of another rank.
StatusOr<std::vector<int64_t>> toByteStrides(const PJRT_Buffer_MemoryLayout* layout,
                                             const ArrayType& type);

// Likewise for a copy to the host, where a dense row-major layout may be of any rank: TensorFlow
// reshapes arrays without a word to the buffer.
StatusOr<std::vector<int64_t>> toHostStrides(const PJRT_Buffer_MemoryLayout* layout,
                                             const ArrayType& type);

// An array in device memory, with the layout that a caller wants; null: row-major. kInvalidArgument
// for what is no array. Device memory is always dense: kUnimplemented for a layout that is not a
// permutation of the dimensions.
StatusOr<ArrayType> toDeviceArrayType(PJRT_Buffer_Type elementType, const int64_t* dims,
                                      size_t rank, const PJRT_Buffer_MemoryLayout* layout);

// The bytes that an array with these strides spans from element 0 on. kInvalidArgument if a stride
// is negative or the size overflows.
StatusOr<size_t> spanBytes(const ArrayType& type, const std::vector<int64_t>& byteStrides);

// The dimensions of a layout from the contiguous one on; row-major ones are spelled out.
std::vector<int64_t> minorToMajorOf(const ArrayType& type);

}  // namespace isthmus::pjrt

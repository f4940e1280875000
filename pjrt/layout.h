// Memory layouts as callers describe them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isthmus/pjrt_c_api.h"
#include "isthmus/status.h"
#include "isthmus/types.h"

namespace isthmus::pjrt {

// The strides in bytes that `layout` gives an array of `type`; none (dense row-major) if it is
// null. kUnimplemented for tiles, kInvalidArgument for a layout of another rank.
StatusOr<std::vector<int64_t>> toByteStrides(const PJRT_Buffer_MemoryLayout* layout,
                                             const ArrayType& type);

// Device memory is always dense row-major: kUnimplemented for a layout that is not.
Status checkDeviceLayout(const PJRT_Buffer_MemoryLayout* layout, const ArrayType& type);

// The bytes that an array with these strides spans from element 0 on. kInvalidArgument if a stride
// is negative or the size overflows.
StatusOr<size_t> spanBytes(const ArrayType& type, const std::vector<int64_t>& byteStrides);

// "{1,0}" for rank 2: the text form of the row-major layout.
std::string rowMajorLayoutText(size_t rank);

}  // namespace isthmus::pjrt

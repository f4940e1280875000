// The dimensions of a dot_general by their roles, as the compiler schedules by them and kernels of
// the host run by them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/program/strided_array.h"

namespace isthmus {

// Strides are in elements; 0 where the operand does not have the dimension (or is broadcast).
struct DotDimension {
  int64_t size;
  int64_t lhsStride;
  int64_t rhsStride;
};
using DotDimensions = std::vector<DotDimension>;

// Appends a dimension, merged with the one before it where both operands step through the two as
// through one. One of size 1 is left out.
void appendDimension(DotDimensions& dims, DotDimension dim);

// result[batch, rows, columns] = sum over contracting of lhs[batch, rows, contracting] *
// rhs[batch, contracting, columns].
struct DotRoles {
  DotDimensions batch, rows, columns, contracting;
};

// Numbers of dimensions: each in range and given once, those of the two operands of equal sizes.
struct DotNumbers {
  std::span<const int64_t> lhsBatch, rhsBatch;
  std::span<const int64_t> lhsContracting, rhsContracting;
};
DotRoles dotRolesOf(const StridedArray& lhs, const StridedArray& rhs, const DotNumbers& numbers);

}  // namespace isthmus

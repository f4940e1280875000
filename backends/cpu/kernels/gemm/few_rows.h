// When a right operand is multiplied where it lies, since packing it would cost more.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/cache_sizes.h"
#include "backends/cpu/kernels/gemm/gemm_kernels.h"

namespace isthmus::cpu {

// Packing the right operand costs as much as this many rows' tiles, about; more where two of its
// rows never lie further apart than a page, for then reading it in place is cheap as well.
inline constexpr int64_t kMaxRowTiles = 4;
inline constexpr int64_t kMaxRowTilesOfNearRows = 5;
// Rows that `dotProducts` takes at once.
inline constexpr int64_t kMaxDotRows = 4;

// Whether so few rows are multiplied with a right operand whose steps are `stepStride` elements
// apart.
inline bool areFewRows(const GemmKernels& kernels, int64_t rows, int64_t stepStride) {
  const bool areNear = stepStride * kernels.elementBytes <= kPageBytes;
  return rows <= (areNear ? kMaxRowTilesOfNearRows : kMaxRowTiles) * kernels.mr;
}

}  // namespace isthmus::cpu

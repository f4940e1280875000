// Arithmetic on groups of strided dimensions.
#include "backends/cpu/kernels/gemm/dot_problem.h"

namespace isthmus::cpu {

int64_t groupSize(std::span<const DotDimension> dims) {
  int64_t size = 1;
  for (const DotDimension& dim : dims) size *= dim.size;
  return size;
}

DotOffsets groupOffset(std::span<const DotDimension> dims, int64_t index) {
  DotOffsets offsets{0, 0};
  for (size_t i = dims.size(); i-- > 0;) {
    // Divisions cost as much as a tiny product: the outermost dimension needs none.
    int64_t position = index;
    if (i > 0) {
      position = index % dims[i].size;
      index /= dims[i].size;
    }
    offsets.lhs += position * dims[i].lhsStride;
    offsets.rhs += position * dims[i].rhsStride;
  }
  return offsets;
}

void fillOffsets(std::span<const DotDimension> dims, int64_t* lhs, int64_t* rhs) {
  int64_t total = groupSize(dims);
  if (total == 0) return;
  // The last dimension is filled directly, the others once for each of its rows.
  int64_t inner = dims.empty() ? 1 : dims.back().size;
  std::span<const DotDimension> outer = dims.empty() ? dims : dims.first(dims.size() - 1);
  DotDimension last = dims.empty() ? DotDimension{1, 0, 0} : dims.back();
  for (int64_t row = 0; row < total / inner; ++row) {
    DotOffsets base = groupOffset(outer, row);
    for (int64_t i = 0; i < inner; ++i) {
      if (lhs) lhs[row * inner + i] = base.lhs + i * last.lhsStride;
      if (rhs) rhs[row * inner + i] = base.rhs + i * last.rhsStride;
    }
  }
}

int64_t innerRun(std::span<const DotDimension> dims, int64_t DotDimension::* stride) {
  if (dims.empty() || dims.back().*stride != 1 || dims.back().size < 1) return 1;
  return dims.back().size;
}

}  // namespace isthmus::cpu

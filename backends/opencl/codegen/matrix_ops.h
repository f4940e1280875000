// The matrix instruction of Intel's GPUs as OpenCL's kernels call it, and what stands in for it.
#pragma once

#include "compiler/codegen/simt/products/matrix_ops.h"

namespace isthmus::opencl {

// The extension's shape for sub-groups of 16: c[8 x 16] += a[8 x k] b[k x 16], where k elements
// fill 32 bytes.
inline constexpr unsigned kMatrixThreads = 16, kMatrixRows = 8, kMatrixBytes = 32;

// The functions of cl_intel_subgroup_matrix_multiply_accumulate, which modules import by name: so
// drivers that have the extension need no SPIR-V extension for it.
codegen::MatrixOps intelMatrixOps();

// The same by arithmetic, with the group's memory between its threads, for tests on other devices:
// kernels are the same but for this. Of groups of `groupThreads` at most, one dimension.
codegen::MatrixOps emulatedMatrixOps(unsigned groupThreads);

}  // namespace isthmus::opencl

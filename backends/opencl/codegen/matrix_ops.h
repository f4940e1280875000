// The matrix instruction of Intel's GPUs as OpenCL's kernels call it, and what stands in for it.
#pragma once

#include "compiler/codegen/simt/products/matrix_ops.h"

namespace isthmus::opencl {

// The functions of cl_intel_subgroup_matrix_multiply_accumulate, which modules import by name: so
// drivers that have the extension need no SPIR-V extension for it.
codegen::MatrixOps intelMatrixOps();

// The same by arithmetic, with the group's memory between its threads, for tests on other devices:
// kernels are the same but for this. Of groups of `groupThreads` at most, one dimension.
codegen::MatrixOps emulatedMatrixOps(unsigned groupThreads);

}  // namespace isthmus::opencl

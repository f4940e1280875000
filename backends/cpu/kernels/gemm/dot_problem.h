// A dot_general call, decoded: shared by the ways of computing it.
#pragma once

#include <span>

#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/gemm/dot.h"
#include "backends/cpu/kernels/gemm/gemm.h"

namespace isthmus::cpu {

struct DotProblem {
  const DotDescriptor& dot;
  const void* lhs;
  const void* rhs;
  void* result;  // null if there is an epilogue but no memory for sums
  std::span<const DotDimension> batch, m, n, k;
  int64_t batches, rows, cols, depth;
  SumsEpilogue epilogue;
  void* const* buffers;
};

struct DotOffsets {
  int64_t lhs;
  int64_t rhs;
};

// Number of positions in a group of dimensions.
int64_t groupSize(std::span<const DotDimension> dims);

// Offsets of the position with this row-major index.
DotOffsets groupOffset(std::span<const DotDimension> dims, int64_t index);

// Offsets of all positions, in row-major order; either table may be null.
void fillOffsets(std::span<const DotDimension> dims, int64_t* lhs, int64_t* rhs);

// How many positions in a row have consecutive offsets in the operand whose stride is given; at
// least 1, so that dividing by it is safe.
int64_t innerRun(std::span<const DotDimension> dims, int64_t DotDimension::* stride);

// A matrix times a vector of f32 or f64, if it is so little work that decoding the descriptor would
// be most of it. False if it is not; then nothing was written.
bool runNearVectorDot(const DotDescriptor& dot, void* const* buffers, GemmDomain domain);

// Matrix-vector products and small or narrow matrices of f32 and f64 in place, without packing
// both operands. False if the problem is none of these; then nothing was written.
bool runSkinnyDot(RunServices& services, const DotProblem& problem, GemmDomain domain);

}  // namespace isthmus::cpu

// cholesky and triangular_solve: isthmus_rt_cholesky, isthmus_rt_triangular_solve.
#pragma once

#include <cstdint>

#include "backends/cpu/abi.h"
#include "isthmus/types.h"

namespace isthmus::cpu {

// buffers: a, result; both [batch, n, n], row-major, may be the same memory. Only the chosen
// triangle of `a` is read (and the real parts of its diagonal); the result is L with L L^H = a, or
// U with U^H U = a, and zero in the other triangle. A matrix that is not positive definite gives
// NaN in the chosen triangle.
// As LAPACK's potrf does it: the matrices lie in columns, the other triangle stays as it was, and a
// third buffer, s32 [batch], is 0 or the order of the first leading minor that is not positive,
// where the factor ends.
struct CholeskyDescriptor {
  ElementType type;  // f32, f64, c64, c128
  int32_t lower;     // 0 or 1
  int64_t batch;
  int64_t n;
  int32_t lapack = 0;  // 1: as LAPACK's potrf
  int32_t reserved = 0;
};

extern "C" int32_t isthmus_rt_cholesky(IsthmusRun* run, const void* descriptor,
                                       void* const* buffers);

// The values are those of StableHLO's Transpose.
enum class TriangularTranspose : int32_t { kNone = 0, kTranspose = 1, kAdjoint = 2 };

// Solves op(a) x = b (leftSide) or x op(a) = b. buffers: a [batch, k, k], b and result
// [batch, rows, cols] (may be the same memory), where k is rows if leftSide, else cols. Only the
// chosen triangle of `a` is read, its diagonal not if unitDiagonal. A zero on the diagonal gives
// infinities or NaNs.
struct TriangularSolveDescriptor {
  ElementType type;  // f32, f64, c64, c128
  int32_t leftSide;
  int32_t lower;
  int32_t unitDiagonal;
  TriangularTranspose transpose;
  int32_t reserved;
  int64_t batch;
  int64_t rows;
  int64_t cols;
};

extern "C" int32_t isthmus_rt_triangular_solve(IsthmusRun* run, const void* descriptor,
                                               void* const* buffers);

}  // namespace isthmus::cpu

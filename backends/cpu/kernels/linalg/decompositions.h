// Decompositions of dense matrices that are asked for by custom calls: those of XLA's client
// library (Qr, ProductOfElementaryHouseholderReflectors, LuDecomposition, Eigh) and jaxlib's calls
// of LAPACK.
#pragma once

#include <cstdint>

#include "backends/cpu/abi.h"
#include "isthmus/types.h"

namespace isthmus::cpu {

enum class Decomposition : int32_t { kQr, kHouseholderProduct, kLu, kEigh, kSvd };

// All matrices are row-major, in batches, of f32, f64, c64 or c128; they are computed in f64 or
// c128. The buffers, operands first:
// - kQr: a [m, n]; r with the reflectors' vectors below its diagonal [m, n], tau [min(m, n)], as
//   LAPACK's geqrf has them: the product of I - tau v v^H is Q.
// - kHouseholderProduct: such vectors [m, n] and tau [k], k <= n <= m; the first n columns of their
//   product [m, n].
// - kLu: a [m, n]; l below u [m, n], pivots [min(m, n)] and the permutation of rows [m], both s32
//   from 0.
// - kEigh: a [n, n], of which one triangle is read; eigenvectors in columns [n, n], eigenvalues in
//   the real type [n], ascending. All are NaN if they are not found.
// As LAPACK does it (geqrf, orgqr, getrf, syevd), the matrices lie in columns, kLu's pivots count
// from 1, and instead of the permutation, and behind the eigenvalues, there is `info`, s32: 0, or
// what LAPACK says of a pivot that is zero and of eigenvalues that are not found.
// - kSvd, as LAPACK's gesdd only: a [m, n]; what is left of it [m, n], the singular values in the
//   real type [min(m, n)], descending, u [m, columns], vt [rows, n], `info`: -4 for a matrix that
//   is not finite, 1 for values that are not found; all are NaN then. u and vt are zero if no
//   vectors are asked for.
struct DecompositionDescriptor {
  Decomposition kind;
  ElementType type;
  int32_t lower;   // kEigh: which triangle is read
  int32_t lapack;  // 1: as LAPACK does it
  int64_t batch;
  int64_t m;
  int64_t n;
  int64_t k;            // the number of tau
  int64_t columns = 0;  // kSvd: min(m, n) or m
  int64_t rows = 0;     // kSvd: min(m, n) or n
  int32_t vectors = 0;  // kSvd: whether they are asked for
  int32_t reserved = 0;
};

extern "C" int32_t isthmus_rt_decompose(IsthmusRun* run, const void* descriptor,
                                        void* const* buffers);

}  // namespace isthmus::cpu

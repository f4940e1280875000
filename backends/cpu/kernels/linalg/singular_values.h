// Singular values and vectors in double precision.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/linalg/householder.h"

namespace isthmus::cpu {

// How many numbers `singularValues` needs in `scratch`.
inline int64_t singularValuesScratch(int64_t n) { return 3 * n * n + 2 * n; }

// `a` [m, n], m >= n, of which nothing is left, is finite, in columns. values [n] are descending;
// the columns of u [m, columns], where columns is n, or m for a whole basis, and of v [n, n] belong
// to them: a = u diag(values) v^H. `order` has room for 2 n. False if they are not found.
template <typename T>
bool singularValues(T* a, int64_t m, int64_t n, double* values, T* u, int64_t columns, T* v,
                    T* scratch, int64_t* order);

extern template bool singularValues(double*, int64_t, int64_t, double*, double*, int64_t, double*,
                                    double*, int64_t*);
extern template bool singularValues(householder::Complex*, int64_t, int64_t, double*,
                                    householder::Complex*, int64_t, householder::Complex*,
                                    householder::Complex*, int64_t*);

}  // namespace isthmus::cpu

// Eigenvectors of Hermitian matrices in double precision.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/linalg/householder.h"

namespace isthmus::cpu {

// `a` [n, n], of which nothing is left, is the whole matrix in columns. Eigenvector j, in no order,
// is vectors[j * n …], its value values[j]; all are NaN if they are not found. `values` has room
// for 2 n numbers, `scratch` for 2 n.
template <typename T>
void hermitianEigen(T* a, T* vectors, double* values, int64_t n, T* scratch);

extern template void hermitianEigen(double*, double*, double*, int64_t, double*);
extern template void hermitianEigen(householder::Complex*, householder::Complex*, double*, int64_t,
                                    householder::Complex*);

}  // namespace isthmus::cpu

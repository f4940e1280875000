// Reflections make the matrix real and tridiagonal, shifted QR steps then make it diagonal.
#include "backends/cpu/kernels/linalg/hermitian_eigen.h"

#include <limits>

namespace isthmus::cpu {
namespace {

using namespace householder;  // NOLINT: they are for such files

// a = Q t Q^H with a real tridiagonal t. The reflectors of Q stay below the diagonal of `a`.
template <typename T>
void makeTridiagonal(T* a, T* taus, double* diagonal, double* below, int64_t n, T* sums) {
  for (int64_t k = 0; k + 1 < n; ++k) {
    T* v = a + k * n + k + 1;
    const int64_t size = n - k - 1;
    const T tau = taus[k] = makeReflector(v, size);
    below[k] = realPart(v[0]);
    if (tau == T{}) continue;
    // The block beyond column k becomes H^H block H.
    T* block = a + (k + 1) * n + k + 1;
    for (int64_t j = 0; j < size; ++j) reflect(block + j * n, v, conjugate(tau), size);
    std::copy(block, block + size, sums);
    for (int64_t j = 1; j < size; ++j) addScaled(sums, v[j], block + j * n, size);
    for (int64_t j = 0; j < size; ++j) {
      const T other = j == 0 ? T(1) : conjugate(v[j]);
      addScaled(block + j * n, -product(tau, other), sums, size);
    }
  }
  for (int64_t i = 0; i < n; ++i) diagonal[i] = realPart(a[i * n + i]);
}

// Columns of the product of the reflectors.
template <typename T>
void multiplyReflectors(const T* a, const T* taus, int64_t n, T* q) {
  std::fill(q, q + n * n, T{});
  for (int64_t j = 0; j < n; ++j) q[j * n + j] = T(1);
  for (int64_t k = n - 2; k >= 0; --k) {
    for (int64_t j = k + 1; j < n && taus[k] != T{}; ++j) {
      reflect(q + j * n + k + 1, a + k * n + k + 1, taus[k], n - k - 1);
    }
  }
}

// One QR step on rows lo to hi of the tridiagonal matrix, with the eigenvalue of its last block
// that is nearer to its last element as the shift; the rotations are applied to the vectors.
template <typename T>
void stepQr(double* diagonal, double* below, int64_t lo, int64_t hi, T* vectors, int64_t n) {
  const double half = (diagonal[hi - 1] - diagonal[hi]) / 2, last = below[hi - 1];
  const double root = std::hypot(half, last);
  const double shift = diagonal[hi] - last / (half + std::copysign(root, half)) * last;
  double x = diagonal[lo] - shift, z = below[lo];
  for (int64_t k = lo; k < hi; ++k) {
    const double r = std::hypot(x, z);
    const double c = r == 0 ? 1 : x / r, s = r == 0 ? 0 : z / r;
    if (k > lo) below[k - 1] = r;
    const double p = diagonal[k], q = diagonal[k + 1], e = below[k];
    diagonal[k] = c * c * p + 2 * c * s * e + s * s * q;
    diagonal[k + 1] = s * s * p - 2 * c * s * e + c * c * q;
    below[k] = c * s * (q - p) + (c * c - s * s) * e;
    if (k + 1 < hi) {
      x = below[k];
      z = s * below[k + 1];
      below[k + 1] *= c;
    }
    T* u = vectors + k * n;
    T* w = u + n;
    for (int64_t i = 0; i < n; ++i) {
      const T upper = u[i], lower = w[i];
      u[i] = c * upper + s * lower;
      w[i] = c * lower - s * upper;
    }
  }
}

// False if the steps do not end, as with NaNs.
template <typename T>
bool diagonalize(double* diagonal, double* below, T* vectors, int64_t n) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  constexpr int64_t kSteps = 40;  // for each value; about two are needed
  int64_t left = kSteps * n;
  int64_t hi = n - 1;
  auto isSmall = [&](int64_t i) {
    return std::abs(below[i]) <= kEpsilon * (std::abs(diagonal[i]) + std::abs(diagonal[i + 1])) ||
           std::abs(below[i]) < std::numeric_limits<double>::min();
  };
  while (hi > 0) {
    if (isSmall(hi - 1)) {
      below[--hi] = 0;
      continue;
    }
    int64_t lo = hi - 1;
    while (lo > 0 && !isSmall(lo - 1)) --lo;
    if (--left < 0) return false;
    stepQr(diagonal, below, lo, hi, vectors, n);
  }
  return true;
}

}  // namespace

template <typename T>
void hermitianEigen(T* a, T* vectors, double* values, int64_t n, T* scratch) {
  double* below = values + n;
  makeTridiagonal(a, scratch, values, below, n, scratch + n);
  multiplyReflectors(a, scratch, n, vectors);
  if (diagonalize(values, below, vectors, n)) return;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::fill(vectors, vectors + n * n, T(nan));
  std::fill(values, values + n, nan);
}

template void hermitianEigen(double*, double*, double*, int64_t, double*);
template void hermitianEigen(Complex*, Complex*, double*, int64_t, Complex*);

}  // namespace isthmus::cpu

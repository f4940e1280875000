// Reflections make the matrix triangular, largest columns first; rotations then make the columns of
// its adjoint orthogonal (one-sided Jacobi), which finds small values as exactly as large ones.
#include "backends/cpu/kernels/linalg/singular_values.h"

#include <limits>
#include <numeric>

namespace isthmus::cpu {
namespace {

using namespace householder;  // NOLINT: they are for such files

// Of columns, of which the largest elements are about 1: those below count as zero, since squares
// of their elements are none.
constexpr double kNothing = 1e-140;

template <typename T>
double normOf(const T* x, int64_t n) {
  return std::sqrt(realPart(dot(x, x, n)));
}

// a P = Q r: r on and above the diagonal of `a`, the reflectors of Q below, P as the places of the
// columns in `order`.
template <typename T>
void factorLargestFirst(T* a, int64_t m, int64_t n, T* taus, int64_t* order) {
  std::iota(order, order + n, 0);
  for (int64_t j = 0; j < n; ++j) {
    int64_t best = j;
    double largest = -1;
    for (int64_t i = j; i < n; ++i) {
      const double norm = normOf(a + i * m + j, m - j);
      if (norm > largest) largest = norm, best = i;
    }
    if (best != j) {
      std::swap_ranges(a + j * m, a + (j + 1) * m, a + best * m);
      std::swap(order[j], order[best]);
    }
    T* x = a + j * m + j;
    taus[j] = makeReflector(x, m - j);
    for (int64_t i = j + 1; i < n && taus[j] != T{}; ++i) {
      reflect(a + i * m + j, x, conjugate(taus[j]), m - j);
    }
  }
}

// column [m] = Q column.
template <typename T>
void multiplyByQ(const T* a, int64_t m, int64_t n, const T* taus, T* column) {
  for (int64_t j = n - 1; j >= 0; --j) {
    if (taus[j] != T{}) reflect(column + j, a + j * m + j, taus[j], m - j);
  }
}

// x = c x - s conj(phase) y, y = s x + c conj(phase) y.
template <typename T>
void rotate(T* x, T* y, double c, double s, T phase, int64_t n) {
  const T turned = conjugate(phase);
  for (int64_t i = 0; i < n; ++i) {
    const T first = x[i], second = product(turned, y[i]);
    x[i] = c * first - s * second;
    y[i] = s * first + c * second;
  }
}

// Rotates the columns of w [n, n] until they are orthogonal, and those of `turns` alike.
template <typename T>
bool makeOrthogonal(T* w, T* turns, int64_t n) {
  constexpr int kSweeps = 60;  // fewer than ten are needed
  const double tolerance =
      std::numeric_limits<double>::epsilon() * std::sqrt(static_cast<double>(n));
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool isDone = true;
    for (int64_t i = 0; i + 1 < n; ++i) {
      for (int64_t j = i + 1; j < n; ++j) {
        T *x = w + i * n, *y = w + j * n;
        const double first = normOf(x, n), second = normOf(y, n);
        if (first < kNothing || second < kNothing) continue;
        const T inner = dot(x, y, n);
        const double size = std::abs(inner);
        if (!(size > tolerance * first * second)) continue;
        isDone = false;
        const double zeta = (second - first) * (second + first) / (2 * size);
        const double t = std::copysign(1, zeta) / (std::abs(zeta) + std::hypot(1, zeta));
        const double c = 1 / std::hypot(1, t);
        const T phase = inner / size;
        rotate(x, y, c, c * t, phase, n);
        rotate(turns + i * n, turns + j * n, c, c * t, phase, n);
      }
    }
    if (isDone) return true;
  }
  return false;
}

// Makes of the first `rank` columns of basis [n, n], which are orthonormal, a whole basis.
template <typename T>
void completeBasis(T* basis, int64_t n, int64_t rank, T* copy, T* taus) {
  std::copy(basis, basis + rank * n, copy);
  for (int64_t j = 0; j < rank; ++j) {
    T* x = copy + j * n + j;
    taus[j] = makeReflector(x, n - j);
    for (int64_t i = j + 1; i < rank && taus[j] != T{}; ++i) {
      reflect(copy + i * n + j, x, conjugate(taus[j]), n - j);
    }
  }
  for (int64_t j = rank; j < n; ++j) {
    T* column = basis + j * n;
    std::fill(column, column + n, T{});
    column[j] = T(1);
    multiplyByQ(copy, n, rank, taus, column);
  }
}

}  // namespace

template <typename T>
bool singularValues(T* a, int64_t m, int64_t n, double* values, T* u, int64_t columns, T* v,
                    T* scratch, int64_t* order) {
  T *w = scratch, *turns = w + n * n, *basis = turns + n * n;
  T *taus = basis + n * n, *otherTaus = taus + n;
  int64_t* places = order + n;
  double scale = 0;
  for (int64_t i = 0; i < m * n; ++i) scale = std::max(scale, std::abs(a[i]));
  if (scale == 0) scale = 1;
  for (int64_t i = 0; i < m * n; ++i) a[i] /= scale;

  factorLargestFirst(a, m, n, taus, order);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      w[i * n + j] = j < i ? T{} : conjugate(a[j * m + i]);
      turns[i * n + j] = T(i == j);
    }
  }
  if (!makeOrthogonal(w, turns, n)) return false;

  // r^H turns = basis diag(values), so a P = (Q turns) diag(values) basis^H.
  std::iota(places, places + n, 0);
  for (int64_t i = 0; i < n; ++i) values[i] = normOf(w + i * n, n);
  std::sort(places, places + n, [&](int64_t x, int64_t y) { return values[x] > values[y]; });
  int64_t rank = 0;
  for (; rank < n && values[places[rank]] >= kNothing; ++rank) {
    const T* from = w + places[rank] * n;
    const double size = values[places[rank]];
    std::transform(from, from + n, basis + rank * n, [&](T x) { return x / size; });
  }
  completeBasis(basis, n, rank, w, otherTaus);
  std::sort(values, values + n, std::greater<>());
  for (int64_t j = 0; j < n; ++j) values[j] = j < rank ? values[j] * scale : 0;
  for (int64_t j = 0; j < columns; ++j) {
    T* column = u + j * m;
    std::fill(column, column + m, T{});
    if (j < n) {
      std::copy(turns + places[j] * n, turns + (places[j] + 1) * n, column);
    } else {
      column[j] = T(1);
    }
    multiplyByQ(a, m, n, taus, column);
  }
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < n; ++i) v[j * n + order[i]] = basis[j * n + i];
  }
  return true;
}

template bool singularValues(double*, int64_t, int64_t, double*, double*, int64_t, double*, double*,
                             int64_t*);
template bool singularValues(Complex*, int64_t, int64_t, double*, Complex*, int64_t, Complex*,
                             Complex*, int64_t*);

}  // namespace isthmus::cpu

// isthmus_rt_decompose: unblocked algorithms in double precision on columns that are contiguous.
#include "backends/cpu/kernels/linalg/decompositions.h"

#include <atomic>
#include <limits>
#include <numeric>

#include "backends/cpu/kernels/linalg/hermitian_eigen.h"
#include "backends/cpu/kernels/linalg/householder.h"
#include "backends/cpu/kernels/linalg/run_for_type.h"
#include "backends/cpu/kernels/linalg/singular_values.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

using namespace householder;  // NOLINT: they are for such files

// One problem of a batch: reads its operands, computes in scratch, writes its results.
template <typename Stored, typename T>
struct Problem {
  using Real = decltype(std::real(Stored{}));
  const DecompositionDescriptor& d;
  void* const* buffers;
  RunServices& services;

  const Stored* operand(int index, int64_t batch, int64_t elements) const {
    return static_cast<const Stored*>(buffers[index]) + batch * elements;
  }
  template <typename Element>
  Element* result(int index, int64_t batch, int64_t elements) const {
    return static_cast<Element*>(buffers[index]) + batch * elements;
  }

  // The distances in memory between elements of a column and of a row.
  int64_t rowStride() const { return d.lapack ? 1 : d.n; }
  int64_t columnStride() const { return d.lapack ? d.m : 1; }

  // Between matrices in memory and columns, one after the other.
  void readColumns(const Stored* from, T* columns) const {
    for (int64_t i = 0; i < d.m; ++i) {
      for (int64_t j = 0; j < d.n; ++j) {
        columns[j * d.m + i] = T(from[i * rowStride() + j * columnStride()]);
      }
    }
  }
  void writeColumns(const T* columns, Stored* to) const {
    for (int64_t i = 0; i < d.m; ++i) {
      for (int64_t j = 0; j < d.n; ++j) {
        to[i * rowStride() + j * columnStride()] = Stored(columns[j * d.m + i]);
      }
    }
  }

  bool factorQr(int64_t batch) const {
    Scratch<T> memory(services, d.m * d.n);
    if (!memory) return false;
    T* a = memory.data();
    readColumns(operand(0, batch, d.m * d.n), a);
    auto* taus = result<Stored>(2, batch, d.k);
    for (int64_t j = 0; j < d.k; ++j) {
      T* v = a + j * d.m + j;
      const T tau = makeReflector(v, d.m - j);
      taus[j] = Stored(tau);
      for (int64_t other = j + 1; other < d.n && tau != T{}; ++other) {
        reflect(a + other * d.m + j, v, conjugate(tau), d.m - j);
      }
    }
    writeColumns(a, result<Stored>(1, batch, d.m * d.n));
    return true;
  }

  bool multiplyReflectors(int64_t batch) const {
    Scratch<T> memory(services, 2 * d.m * d.n);
    if (!memory) return false;
    T* vectors = memory.data();
    T* q = vectors + d.m * d.n;
    readColumns(operand(0, batch, d.m * d.n), vectors);
    const Stored* taus = operand(1, batch, d.k);
    std::fill(q, q + d.m * d.n, T{});
    for (int64_t j = 0; j < d.n; ++j) q[j * d.m + j] = T(1);
    for (int64_t r = d.k - 1; r >= 0; --r) {
      // Columns before r are still those of the identity, which begin with zeros here.
      for (int64_t j = r; j < d.n; ++j) {
        reflect(q + j * d.m + r, vectors + r * d.m + r, T(taus[r]), d.m - r);
      }
    }
    writeColumns(q, result<Stored>(2, batch, d.m * d.n));
    return true;
  }

  // What the largest pivot is chosen by, which LAPACK approximates for complex numbers.
  double sizeOf(T x) const {
    return d.lapack ? std::abs(realPart(x)) + std::abs(imaginaryPart(x)) : std::abs(x);
  }

  bool factorLu(int64_t batch) const {
    Scratch<T> memory(services, d.m * d.n);
    if (!memory) return false;
    T* a = memory.data();  // rows: whole rows are exchanged and subtracted
    const Stored* source = operand(0, batch, d.m * d.n);
    for (int64_t i = 0; i < d.m; ++i) {
      for (int64_t j = 0; j < d.n; ++j) {
        a[i * d.n + j] = T(source[i * rowStride() + j * columnStride()]);
      }
    }
    auto* pivots = result<int32_t>(2, batch, d.k);
    auto* permutation = d.lapack ? nullptr : result<int32_t>(3, batch, d.m);
    if (permutation) std::iota(permutation, permutation + d.m, 0);
    int32_t info = 0;
    for (int64_t j = 0; j < d.k; ++j) {
      int64_t best = j;
      for (int64_t i = j + 1; i < d.m; ++i) {
        if (sizeOf(a[i * d.n + j]) > sizeOf(a[best * d.n + j])) best = i;
      }
      pivots[j] = static_cast<int32_t>(best) + d.lapack;
      if (best != j) {
        std::swap_ranges(a + j * d.n, a + (j + 1) * d.n, a + best * d.n);
        if (permutation) std::swap(permutation[j], permutation[best]);
      }
      const T pivot = a[j * d.n + j];
      if (pivot == T{}) {  // the column is zero already
        if (info == 0) info = static_cast<int32_t>(j + 1);
        continue;
      }
      for (int64_t i = j + 1; i < d.m; ++i) {
        T* row = a + i * d.n;
        row[j] /= pivot;
        addScaled(row + j + 1, -row[j], a + j * d.n + j + 1, d.n - j - 1);
      }
    }
    auto* to = result<Stored>(1, batch, d.m * d.n);
    for (int64_t i = 0; i < d.m; ++i) {
      for (int64_t j = 0; j < d.n; ++j) {
        to[i * rowStride() + j * columnStride()] = Stored(a[i * d.n + j]);
      }
    }
    if (d.lapack) *result<int32_t>(3, batch, 1) = info;
    return true;
  }

  bool factorEigen(int64_t batch) const {
    const int64_t n = d.n;
    Scratch<T> memory(services, 2 * n * n + 2 * n);
    Scratch<double> numbers(services, 2 * n);
    Scratch<int64_t> places(services, n);
    if (!memory || !numbers || !places) return false;
    T* a = memory.data();
    T* vectors = a + n * n;
    double* values = numbers.data();
    const Stored* from = operand(0, batch, n * n);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        const T x = d.lower ? T(from[i * rowStride() + j * columnStride()])
                            : conjugate(T(from[j * rowStride() + i * columnStride()]));
        a[j * n + i] = i == j ? T(realPart(x)) : x;
        a[i * n + j] = i == j ? T(realPart(x)) : conjugate(x);
      }
    }
    hermitianEigen(a, vectors, values, n, vectors + n * n);
    int64_t* order = places.data();
    std::iota(order, order + n, 0);
    std::sort(order, order + n, [&](int64_t x, int64_t y) { return values[x] < values[y]; });
    auto* to = result<Stored>(1, batch, n * n);
    auto* sorted = result<Real>(2, batch, n);
    for (int64_t j = 0; j < n; ++j) {
      sorted[j] = static_cast<Real>(values[order[j]]);
      for (int64_t i = 0; i < n; ++i) {
        to[i * rowStride() + j * columnStride()] = Stored(vectors[order[j] * n + i]);
      }
    }
    if (d.lapack) {
      // INFO/(n+1) to mod(INFO, n+1) are the rows where LAPACK did not find them: here all.
      const bool isFound = std::isfinite(values[0]);
      *result<int32_t>(3, batch, 1) = isFound ? 0 : static_cast<int32_t>(2 * n + 1);
    }
    return true;
  }

  bool factorSvd(int64_t batch) const {
    // A wide matrix's adjoint is decomposed: its u is the other's v.
    const bool isWide = d.m < d.n;
    const int64_t high = std::max(d.m, d.n), k = d.k;
    const int64_t columns = !d.vectors ? 0 : isWide ? d.rows : d.columns;
    Scratch<T> memory(services, 1 + high * k + high * columns + k * k + singularValuesScratch(k));
    Scratch<double> numbers(services, 1 + k);
    Scratch<int64_t> places(services, 1 + 2 * k);
    if (!memory || !numbers || !places) return false;
    T *a = memory.data(), *u = a + high * k, *v = u + high * columns;
    double* values = numbers.data();
    const Stored* from = operand(0, batch, d.m * d.n);
    bool isFinite = true;
    for (int64_t i = 0; i < d.m; ++i) {
      for (int64_t j = 0; j < d.n; ++j) {
        const T x = T(from[j * d.m + i]);
        isFinite = isFinite && std::isfinite(realPart(x)) && std::isfinite(imaginaryPart(x));
        if (isWide) {
          a[i * d.n + j] = conjugate(x);
        } else {
          a[j * d.m + i] = x;
        }
      }
    }
    auto* left = result<Stored>(1, batch, d.m * d.n);
    if (left != from) std::copy(from, from + d.m * d.n, left);
    const bool isFound =
        isFinite && singularValues(a, high, k, values, u, columns, v, v + k * k, places.data());
    *result<int32_t>(5, batch, 1) = isFound ? 0 : isFinite ? 1 : -4;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    auto* sorted = result<Real>(2, batch, k);
    for (int64_t i = 0; i < k; ++i) sorted[i] = static_cast<Real>(isFound ? values[i] : nan);
    auto* toU = result<Stored>(3, batch, d.m * d.columns);
    auto* toVt = result<Stored>(4, batch, d.rows * d.n);
    if (!d.vectors || !isFound) {
      const auto filling = Stored(static_cast<Real>(isFound ? 0 : nan));
      std::fill(toU, toU + d.m * d.columns, filling);
      std::fill(toVt, toVt + d.rows * d.n, filling);
      return true;
    }
    const T *leftVectors = isWide ? v : u, *rightVectors = isWide ? u : v;
    std::transform(leftVectors, leftVectors + d.m * d.columns, toU, [](T x) { return Stored(x); });
    for (int64_t i = 0; i < d.rows; ++i) {
      for (int64_t j = 0; j < d.n; ++j) {
        toVt[j * d.rows + i] = Stored(conjugate(rightVectors[i * d.n + j]));
      }
    }
    return true;
  }

  bool run(int64_t batch) const {
    switch (d.kind) {
      case Decomposition::kQr:
        return factorQr(batch);
      case Decomposition::kHouseholderProduct:
        return multiplyReflectors(batch);
      case Decomposition::kLu:
        return factorLu(batch);
      case Decomposition::kEigh:
        return factorEigen(batch);
      case Decomposition::kSvd:
        return factorSvd(batch);
    }
    return false;
  }
};

template <typename Stored, typename T>
bool runAll(RunServices& services, const DecompositionDescriptor& d, void* const* buffers) {
  const Problem<Stored, T> problem{d, buffers, services};
  std::atomic<bool> done{true};
  parallelFor(services, d.batch, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, d.m * d.n)),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  if (!problem.run(i)) done = false;
                }
              });
  return done;
}

}  // namespace

extern "C" int32_t isthmus_rt_decompose(IsthmusRun* run, const void* descriptor,
                                        void* const* buffers) {
  const auto& d = *static_cast<const DecompositionDescriptor*>(descriptor);
  if (d.batch == 0) return 0;
  if (d.kind != Decomposition::kSvd && (d.m == 0 || d.n == 0)) {
    const bool hasInfo = d.kind == Decomposition::kLu || d.kind == Decomposition::kEigh;
    if (d.lapack && hasInfo) std::fill_n(static_cast<int32_t*>(buffers[3]), d.batch, 0);
    return 0;
  }
  return runForType<float, double, std::complex<float>, Complex>(
      run, "decomposition", d.type, [&]<typename Stored>(Stored) {
        using T = std::conditional_t<std::is_floating_point_v<Stored>, double, Complex>;
        return runAll<Stored, T>(*run->services, d, buffers);
      });
}

}  // namespace isthmus::cpu

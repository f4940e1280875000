// isthmus_rt_cholesky: left to right by blocks of columns, updated by matrix products.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "backends/cpu/kernels/linalg/linalg.h"
#include "backends/cpu/kernels/linalg/linalg_blocks.h"
#include "backends/cpu/kernels/linalg/run_for_type.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

constexpr int64_t kBlock = 64;

// The lower factor of the block at `a` [n, n], in place; how many rows it has, fewer than n if the
// block is not positive definite.
template <typename T>
int64_t factorBlock(T* a, int64_t lda, int64_t n) {
  using S = ScalarTraits<T>;
  for (int64_t j = 0; j < n; ++j) {
    T* row = a + j * lda;
    auto pivot = S::real(row[j]);
    for (int64_t k = 0; k < j; ++k) {
      pivot = S::real(S::subtractProduct(S::fromReal(pivot), row[k], S::conjugate(row[k])));
    }
    if (!(pivot > 0)) return j;
    const auto root = std::sqrt(pivot);
    row[j] = S::fromReal(root);
    for (int64_t i = j + 1; i < n; ++i) {
      T* other = a + i * lda;
      T sum = other[j];
      for (int64_t k = 0; k < j; ++k) {
        sum = S::subtractProduct(sum, other[k], S::conjugate(row[k]));
      }
      other[j] = S::divide(sum, row[j]);
    }
  }
  return n;
}

template <typename T>
struct Factor {
  const CholeskyDescriptor& d;
  const T* source;
  T* result;
  int32_t* info;
  RunServices& services;
  std::atomic<bool> outOfMemory{false};

  // The lower factor of a matrix whose lower triangle is in `l`, in place. `conjugates` holds the
  // conjugate of the columns to the left of the current block. `rows` is how many the factor has:
  // fewer than n of a matrix that is not positive definite.
  bool factor(T* l, T* conjugates, int64_t* rows) {
    using S = ScalarTraits<T>;
    const int64_t n = d.n;
    *rows = 0;
    for (int64_t j = 0; j < n; j += kBlock) {
      const int64_t size = std::min(kBlock, n - j);
      if (j > 0) {
        for (int64_t r = 0; r < size; ++r) {
          for (int64_t k = 0; k < j; ++k) {
            conjugates[r * n + k] = S::conjugate(l[(j + r) * n + k]);
          }
        }
        SubtractProduct<T> update(n - j, size, j, l + j * n, n, 1, conjugates, 1, n, l + j * n + j,
                                  n);
        if (!runGemm(services, update)) return false;
      }
      const int64_t found = factorBlock(l + j * n + j, n, size);
      *rows += found;
      if (found < size) return true;
      // Below the block: x * block^H = what is there, row by row.
      const T* block = l + j * n + j;
      for (int64_t i = j + size; i < n; ++i) {
        T* row = l + i * n + j;
        for (int64_t c = 0; c < size; ++c) {
          T sum = row[c];
          for (int64_t k = 0; k < c; ++k) {
            sum = S::subtractProduct(sum, row[k], S::conjugate(block[c * n + k]));
          }
          row[c] = S::divide(sum, block[c * n + c]);
        }
      }
    }
    return true;
  }

  void operator()(int64_t batch) {
    using S = ScalarTraits<T>;
    const int64_t n = d.n;
    const T* a = source + batch * n * n;
    T* out = result + batch * n * n;
    Scratch<T> memory(services, (n + kBlock) * n);
    if (!memory) {
      outOfMemory = true;
      return;
    }
    T* l = memory.data();
    // The upper triangle is the adjoint of a lower one. The lower triangle of columns is the upper
    // one of rows, of the conjugate.
    const bool isLower = (d.lower != 0) != (d.lapack != 0);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        l[i * n + j] = j > i ? T{} : isLower ? a[i * n + j] : S::conjugate(a[j * n + i]);
      }
    }
    int64_t rows;
    if (!factor(l, l + n * n, &rows)) outOfMemory = true;
    const bool positive = rows == n;
    if (d.lapack) info[batch] = positive ? 0 : static_cast<int32_t>(rows + 1);
    const T nan = S::fromReal(std::numeric_limits<typename S::Real>::quiet_NaN());
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const bool inside = isLower ? j <= i : j >= i;
        const T value = isLower ? l[i * n + j] : S::conjugate(l[j * n + i]);
        const T outside = d.lapack ? a[i * n + j] : T{};
        out[i * n + j] = !inside ? outside : positive || d.lapack ? value : nan;
      }
    }
  }
};

template <typename T>
bool factorAll(RunServices& services, const CholeskyDescriptor& d, void* const* buffers) {
  Factor<T> factor{d, static_cast<const T*>(buffers[0]), static_cast<T*>(buffers[1]),
                   d.lapack ? static_cast<int32_t*>(buffers[2]) : nullptr, services};
  if (d.batch == 1) {
    factor(0);
  } else {
    parallelFor(services, d.batch, std::max<int64_t>(1, 4096 / (d.n * d.n)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) factor(i);
                });
  }
  return !factor.outOfMemory;
}

}  // namespace

extern "C" int32_t isthmus_rt_cholesky(IsthmusRun* run, const void* descriptor,
                                       void* const* buffers) {
  const auto& d = *static_cast<const CholeskyDescriptor*>(descriptor);
  if (d.batch == 0) return 0;
  if (d.n == 0) {
    if (d.lapack) std::fill_n(static_cast<int32_t*>(buffers[2]), d.batch, 0);
    return 0;
  }
  return runForType<float, double, Complex64, Complex128>(
      run, "cholesky", d.type,
      [&]<typename T>(T) { return factorAll<T>(*run->services, d, buffers); });
}

}  // namespace isthmus::cpu

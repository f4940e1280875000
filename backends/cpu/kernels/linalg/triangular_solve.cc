// isthmus_rt_triangular_solve: forward and backward substitution by blocks of rows.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "backends/cpu/kernels/linalg/linalg.h"
#include "backends/cpu/kernels/linalg/linalg_blocks.h"
#include "backends/cpu/kernels/linalg/run_for_type.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

constexpr int64_t kBlock = 64;
// So many right sides, each of which is contiguous, are solved one after the other, in place.
constexpr int64_t kFewVectors = 8;

// row -= a row of the triangle times rows of x. Four of those at once: the row is read and written
// less often.
template <typename T>
void subtractRows(T* row, const T* factors, const T* rows, int64_t ldx, int64_t count,
                  int64_t columns) {
  using S = ScalarTraits<T>;
  int64_t j = 0;
  for (; j + 4 <= count; j += 4) {
    const T *a = rows + j * ldx, *b = a + ldx, *c = b + ldx, *d = c + ldx, *f = factors + j;
    const T fa = f[0], fb = f[1], fc = f[2], fd = f[3];
#pragma clang loop vectorize(assume_safety)
    for (int64_t i = 0; i < columns; ++i) {
      T value = S::subtractProduct(row[i], fa, a[i]);
      value = S::subtractProduct(value, fb, b[i]);
      value = S::subtractProduct(value, fc, c[i]);
      row[i] = S::subtractProduct(value, fd, d[i]);
    }
  }
  for (; j < count; ++j) {
    const T factor = factors[j];
    const T* other = rows + j * ldx;
#pragma clang loop vectorize(assume_safety)
    for (int64_t i = 0; i < columns; ++i) row[i] = S::subtractProduct(row[i], factor, other[i]);
  }
}

template <typename T>
void solveRows(bool lower, bool unitDiagonal, const T* t, int64_t ldt, int64_t n, T* x, int64_t ldx,
               int64_t columns) {
  using S = ScalarTraits<T>;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = lower ? step : n - 1 - step;
    T* row = x + i * ldx;
    const int64_t begin = lower ? 0 : i + 1, end = lower ? i : n;
    subtractRows(row, t + i * ldt + begin, x + begin * ldx, ldx, end - begin, columns);
    if (unitDiagonal) continue;
    const T diagonal = t[i * ldt + i];
    for (int64_t c = 0; c < columns; ++c) row[c] = S::divide(row[c], diagonal);
  }
}

// value - the sum of a[i] * b[i].
template <typename T>
T subtractDot(T value, const T* a, const T* b, int64_t count) {
  using S = ScalarTraits<T>;
  constexpr int64_t kSums = 8;
  int64_t i = 0;
  if (count >= kSums) {
    T sums[kSums] = {};
    for (; i + kSums <= count; i += kSums) {
      for (int64_t s = 0; s < kSums; ++s) sums[s] = S::subtractProduct(sums[s], a[i + s], b[i + s]);
    }
    for (int64_t width = kSums / 2; width > 0; width /= 2) {
      for (int64_t s = 0; s < width; ++s) sums[s] = S::add(sums[s], sums[s + width]);
    }
    value = S::add(value, sums[0]);
  }
  for (; i < count; ++i) value = S::subtractProduct(value, a[i], b[i]);
  return value;
}

// Solves op(a) x = b in place, for `a` [n, n] and one contiguous vector. `lower`: whether op(a) is.
template <typename T>
void solveVector(bool lower, bool transpose, bool unitDiagonal, const T* a, int64_t n, T* x) {
  using S = ScalarTraits<T>;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = lower ? step : n - 1 - step;
    const T* row = a + i * n;
    if (!transpose) {
      const int64_t begin = lower ? 0 : i + 1;
      x[i] = subtractDot(x[i], row + begin, x + begin, lower ? i : n - begin);
    }
    if (!unitDiagonal) x[i] = S::divide(x[i], row[i]);
    if (!transpose) continue;
    const T factor = x[i];
    const int64_t begin = lower ? i + 1 : 0, end = lower ? n : i;
#pragma clang loop vectorize(assume_safety)
    for (int64_t j = begin; j < end; ++j) x[j] = S::subtractProduct(x[j], factor, row[j]);
  }
}

template <typename T>
struct Solve {
  const TriangularSolveDescriptor& d;
  const T* a;
  const T* b;
  T* result;
  RunServices& services;
  std::atomic<bool> outOfMemory{false};

  // op(a) x = b with x as [k, columns]; the right side is solved as op(a)^T x^T = b^T.
  void operator()(int64_t batch) {
    const int64_t k = d.leftSide ? d.rows : d.cols, columns = d.leftSide ? d.cols : d.rows;
    const int64_t fewVectors = d.leftSide ? 1 : kFewVectors;
    if (columns <= fewVectors) return solveVectors(batch, k, columns);
    Scratch<T> memory(services, k * k + (d.leftSide ? 0 : k * columns));
    if (!memory) {
      outOfMemory = true;
      return;
    }
    T* t = memory.data();
    const T* source = a + batch * k * k;
    const bool conjugate = d.transpose == TriangularTranspose::kAdjoint;
    const bool transpose = (d.transpose != TriangularTranspose::kNone) != (d.leftSide == 0);
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < k; ++j) {
        const T value = transpose ? source[j * k + i] : source[i * k + j];
        t[i * k + j] = conjugate ? ScalarTraits<T>::conjugate(value) : value;
      }
    }
    const bool lower = (d.lower != 0) != transpose;
    const T* right = b + batch * d.rows * d.cols;
    T* x = result + batch * d.rows * d.cols;
    bool done;
    if (d.leftSide) {
      if (x != right) std::memcpy(x, right, static_cast<size_t>(d.rows * d.cols) * sizeof(T));
      done = solveInPlace(services, lower, d.unitDiagonal != 0, t, k, k, x, columns, columns);
    } else {
      T* turned = t + k * k;
      for (int64_t r = 0; r < columns; ++r) {
        for (int64_t c = 0; c < k; ++c) turned[c * columns + r] = right[r * k + c];
      }
      done = solveInPlace(services, lower, d.unitDiagonal != 0, t, k, k, turned, columns, columns);
      for (int64_t r = 0; r < columns; ++r) {
        for (int64_t c = 0; c < k; ++c) x[r * k + c] = turned[c * columns + r];
      }
    }
    if (!done) outOfMemory = true;
  }

  // conj(op(a)) x = b is op(a) conj(x) = conj(b).
  void solveVectors(int64_t batch, int64_t k, int64_t columns) {
    const bool conjugate = d.transpose == TriangularTranspose::kAdjoint;
    const bool transpose = (d.transpose != TriangularTranspose::kNone) != (d.leftSide == 0);
    const T* right = b + batch * k * columns;
    T* x = result + batch * k * columns;
    for (int64_t i = 0; i < k * columns; ++i) {
      x[i] = conjugate ? ScalarTraits<T>::conjugate(right[i]) : right[i];
    }
    for (int64_t c = 0; c < columns; ++c) {
      solveVector((d.lower != 0) != transpose, transpose, d.unitDiagonal != 0, a + batch * k * k, k,
                  x + c * k);
    }
    if (!conjugate) return;
    for (int64_t i = 0; i < k * columns; ++i) x[i] = ScalarTraits<T>::conjugate(x[i]);
  }
};

template <typename T>
bool solveAll(RunServices& services, const TriangularSolveDescriptor& d, void* const* buffers) {
  Solve<T> solve{d, static_cast<const T*>(buffers[0]), static_cast<const T*>(buffers[1]),
                 static_cast<T*>(buffers[2]), services};
  if (d.batch == 1) {
    solve(0);
  } else {
    parallelFor(services, d.batch,
                std::max<int64_t>(1, 4096 / std::max<int64_t>(1, d.rows * d.cols)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) solve(i);
                });
  }
  return !solve.outOfMemory;
}

}  // namespace

template <typename T>
bool solveInPlace(RunServices& services, bool lower, bool unitDiagonal, const T* t, int64_t ldt,
                  int64_t n, T* x, int64_t ldx, int64_t columns) {
  for (int64_t step = 0; step < n; step += kBlock) {
    const int64_t size = std::min(kBlock, n - step);
    const int64_t row = lower ? step : n - step - size;
    // Subtract what the rows solved so far contribute, then solve the block on the diagonal.
    const int64_t solved = lower ? 0 : row + size, depth = lower ? row : n - row - size;
    if (depth > 0) {
      SubtractProduct<T> update(size, columns, depth, t + row * ldt + solved, ldt, 1,
                                x + solved * ldx, ldx, 1, x + row * ldx, ldx);
      if (!runGemm(services, update)) return false;
    }
    solveRows(lower, unitDiagonal, t + row * ldt + row, ldt, size, x + row * ldx, ldx, columns);
  }
  return true;
}

template bool solveInPlace<float>(RunServices&, bool, bool, const float*, int64_t, int64_t, float*,
                                  int64_t, int64_t);
template bool solveInPlace<double>(RunServices&, bool, bool, const double*, int64_t, int64_t,
                                   double*, int64_t, int64_t);
template bool solveInPlace<Complex64>(RunServices&, bool, bool, const Complex64*, int64_t, int64_t,
                                      Complex64*, int64_t, int64_t);
template bool solveInPlace<Complex128>(RunServices&, bool, bool, const Complex128*, int64_t,
                                       int64_t, Complex128*, int64_t, int64_t);

extern "C" int32_t isthmus_rt_triangular_solve(IsthmusRun* run, const void* descriptor,
                                               void* const* buffers) {
  const auto& d = *static_cast<const TriangularSolveDescriptor*>(descriptor);
  if (d.batch == 0 || d.rows == 0 || d.cols == 0) return 0;
  return runForType<float, double, Complex64, Complex128>(
      run, "triangular_solve", d.type,
      [&]<typename T>(T) { return solveAll<T>(*run->services, d, buffers); });
}

}  // namespace isthmus::cpu

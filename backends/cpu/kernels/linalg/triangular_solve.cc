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

template <typename T>
void solveRows(bool lower, bool unitDiagonal, const T* t, int64_t ldt, int64_t n, T* x, int64_t ldx,
               int64_t columns) {
  using S = ScalarTraits<T>;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = lower ? step : n - 1 - step;
    T* row = x + i * ldx;
    const int64_t begin = lower ? 0 : i + 1, end = lower ? i : n;
    for (int64_t j = begin; j < end; ++j) {
      const T factor = t[i * ldt + j];
      const T* other = x + j * ldx;
      for (int64_t c = 0; c < columns; ++c) row[c] = S::subtractProduct(row[c], factor, other[c]);
    }
    if (unitDiagonal) continue;
    const T diagonal = t[i * ldt + i];
    for (int64_t c = 0; c < columns; ++c) row[c] = S::divide(row[c], diagonal);
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

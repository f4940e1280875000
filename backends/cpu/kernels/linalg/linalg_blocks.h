// What blocked factorizations are made of: scalars of four types and updates by a matrix product.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/gemm/gemm.h"

namespace isthmus::cpu {

template <typename T>
struct ScalarTraits {
  using Real = T;
  static constexpr GemmDomain domain = sizeof(T) == 4 ? GemmDomain::kF32 : GemmDomain::kF64;
  static constexpr ElementType type = sizeof(T) == 4 ? ElementType::kF32 : ElementType::kF64;
  static T conjugate(T x) { return x; }
  static T real(T x) { return x; }
  static T fromReal(T x) { return x; }
  static T subtractProduct(T c, T a, T b) { return c - a * b; }
  static T add(T a, T b) { return a + b; }
  static T subtract(T a, T b) { return a - b; }
  static T divide(T a, T b) { return a / b; }
};

template <typename C, typename R, GemmDomain gemmDomain, ElementType elementType>
struct ComplexTraits {
  using Real = R;
  static constexpr GemmDomain domain = gemmDomain;
  static constexpr ElementType type = elementType;
  static C conjugate(C x) { return {x.re, -x.im}; }
  static R real(C x) { return x.re; }
  static C fromReal(R x) { return {x, R(0)}; }
  static C subtractProduct(C c, C a, C b) {
    return {c.re - (a.re * b.re - a.im * b.im), c.im - (a.re * b.im + a.im * b.re)};
  }
  static C add(C a, C b) { return {a.re + b.re, a.im + b.im}; }
  static C subtract(C a, C b) { return {a.re - b.re, a.im - b.im}; }
  static C divide(C a, C b) {
    // Smith's method: no overflow where the quotient does not overflow.
    if (std::fabs(b.re) >= std::fabs(b.im)) {
      const R ratio = b.im / b.re, scale = b.re + b.im * ratio;
      return {(a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale};
    }
    const R ratio = b.re / b.im, scale = b.re * ratio + b.im;
    return {(a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale};
  }
};

template <>
struct ScalarTraits<Complex64>
    : ComplexTraits<Complex64, float, GemmDomain::kC64, ElementType::kC64> {};
template <>
struct ScalarTraits<Complex128>
    : ComplexTraits<Complex128, double, GemmDomain::kC128, ElementType::kC128> {};

// c(i, j) -= sum over p of a(i, p) * b(p, j). Strides in elements; c has columns of stride 1.
template <typename T>
class SubtractProduct : public GemmJob {
 public:
  SubtractProduct(int64_t rows, int64_t cols, int64_t depth, const T* a, int64_t aRow,
                  int64_t aStep, const T* b, int64_t bStep, int64_t bCol, T* c, int64_t ldc)
      : a_(a), aRow_(aRow), aStep_(aStep), b_(b), bStep_(bStep), bCol_(bCol), c_(c), ldc_(ldc) {
    domain = ScalarTraits<T>::domain;
    m = rows, n = cols, k = depth;
  }

  void packA(int64_t, void* panel, int width, int64_t lane, int lanes, int64_t k0,
             int64_t kc) const override {
    pack(a_, aRow_, aStep_, panel, width, lane, lanes, k0, kc);
  }
  void packB(int64_t, void* panel, int width, int64_t lane, int lanes, int64_t k0,
             int64_t kc) const override {
    pack(b_, bCol_, bStep_, panel, width, lane, lanes, k0, kc);
  }
  void* directResult(int64_t, int64_t*) const override { return nullptr; }
  void finish(int64_t, int64_t rowBegin, int64_t rowEnd, int64_t colBegin, int64_t colEnd,
              const void* sums, int64_t ldSums) const override {
    for (int64_t i = rowBegin; i < rowEnd; ++i) {
      const T* sum = static_cast<const T*>(sums) + (i - rowBegin) * ldSums;
      T* c = c_ + i * ldc_ + colBegin;
      for (int64_t j = 0; j < colEnd - colBegin; ++j) {
        c[j] = ScalarTraits<T>::subtract(c[j], sum[j]);
      }
    }
  }

 private:
  void pack(const T* data, int64_t laneStride, int64_t stepStride, void* panel, int width,
            int64_t lane, int lanes, int64_t k0, int64_t kc) const {
    int64_t laneOffsets[kMaxGemmLanes], kOffsets[kMaxSteps];
    for (int i = 0; i < lanes; ++i) laneOffsets[i] = (lane + i) * laneStride;
    for (int64_t i = 0; i < kc; ++i) kOffsets[i] = (k0 + i) * stepStride;
    PanelSource source{data,
                       ScalarTraits<T>::type,
                       lanes,
                       laneOffsets,
                       kOffsets,
                       kc,
                       lanes > 1 && laneStride == 1,
                       stepStride == 1 ? kc : 1,
                       0};
    gemmKernels(domain).pack(panel, width, source);
  }

  // Blocks of the contracted dimension are shorter than this.
  static constexpr int64_t kMaxSteps = 1024;

  const T* a_;
  int64_t aRow_, aStep_;
  const T* b_;
  int64_t bStep_, bCol_;
  T* c_;
  int64_t ldc_;
};

// Solves t x = b in place for a dense triangular t [n, n] and x [n, columns], both row-major with
// the given distances between rows. False for want of scratch memory.
template <typename T>
bool solveInPlace(RunServices& services, bool lower, bool unitDiagonal, const T* t, int64_t ldt,
                  int64_t n, T* x, int64_t ldx, int64_t columns);

}  // namespace isthmus::cpu

// Products of few rows of bfloat16 with a right operand where it lies, which is read once, by
// AVX-512's BF16 instruction. Sums are in f32.
#pragma once

#include <immintrin.h>

#include "backends/cpu/kernels/gemm/lane_sums.h"

namespace isthmus::cpu::ISTHMUS_ISA {
namespace {

constexpr int kBfloats = 2 * kLanes<float>;  // of a vector: pairs of steps, or of columns
constexpr __mmask32 kAllBfloats = 0xFFFFFFFFu;

// The first `count` elements; none behind them is read.
inline __attribute__((always_inline)) __mmask32 firstBfloats(int64_t count) {
  return count >= kBfloats ? kAllBfloats : (__mmask32{1} << count) - 1;
}

inline __attribute__((always_inline)) __m512i loadBfloats(const uint16_t* p, __mmask32 mask) {
  return _mm512_maskz_loadu_epi16(mask, p);
}

inline __attribute__((always_inline)) Vec<float> addPairs(Vec<float> sum, __m512i a, __m512i b) {
  return reinterpret_cast<Vec<float>>(_mm512_dpbf16_ps(
      reinterpret_cast<__m512>(sum), reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b)));
}

// Sums over steps that lie side by side, of `rows` rows of a and `cols` of b.
template <int rows, int cols>
inline __attribute__((always_inline)) void bfloatDotBlock(int64_t kc, const uint16_t* a,
                                                          int64_t lda, const uint16_t* b,
                                                          int64_t ldb, float* c, int64_t cRow,
                                                          int64_t cCol) {
  Vec<float> sum[rows][cols] = {};
  auto add = [&](int64_t k, __mmask32 mask) __attribute__((always_inline)) {
    __m512i av[rows];
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i) av[i] = loadBfloats(a + i * lda + k, mask);
#pragma clang loop unroll(full)
    for (int j = 0; j < cols; ++j) {
      // Rows far apart are no stream that the processor would see.
      __builtin_prefetch(b + (j + cols) * ldb + k);
      const __m512i bv = loadBfloats(b + j * ldb + k, mask);
#pragma clang loop unroll(full)
      for (int i = 0; i < rows; ++i) sum[i][j] = addPairs(sum[i][j], av[i], bv);
    }
  };
  int64_t k = 0;
  for (; k + kBfloats <= kc; k += kBfloats) add(k, kAllBfloats);
  if (k < kc) add(k, firstBfloats(kc - k));
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; ++i) {
    sumLanes<float, cols>(sum[i]);
#pragma clang loop unroll(full)
    for (int j = 0; j < cols; ++j) c[i * cRow + j * cCol] = sum[i][0][j];
  }
}

template <int rows>
void bfloatDotRows(int64_t kc, const uint16_t* a, int64_t lda, const uint16_t* b, int64_t ldb,
                   int64_t cols, float* c, int64_t cRow, int64_t cCol) {
  // As many sums as there are registers for; folding their lanes is shared by those of a row.
  constexpr int most = rows == 1 ? 16 : rows == 2 ? 8 : 4;
  int64_t j = 0;
  for (; j + most <= cols; j += most) {
    bfloatDotBlock<rows, most>(kc, a, lda, b + j * ldb, ldb, c + j * cCol, cRow, cCol);
  }
  for (; j < cols; ++j) {
    bfloatDotBlock<rows, 1>(kc, a, lda, b + j * ldb, ldb, c + j * cCol, cRow, cCol);
  }
}

// GemmKernels::dotProducts.
void bfloatDotProducts(int64_t kc, const void* aData, int64_t lda, int rows, const void* bData,
                       int64_t ldb, int64_t cols, void* cData, int64_t cRow, int64_t cCol) {
  const auto* a = static_cast<const uint16_t*>(aData);
  const auto* b = static_cast<const uint16_t*>(bData);
  auto* c = static_cast<float*>(cData);
  withFewRows(rows,
              [&]<int count>() { bfloatDotRows<count>(kc, a, lda, b, ldb, cols, c, cRow, cCol); });
}

// How many steps ahead columns that lie in rows far apart are asked for.
constexpr int64_t kRowsAhead = 8;

// Up to `vectors` vectors of columns, of which the last may be in part, with all steps' sums of
// `rows` rows in registers: in several chains where these are few, for the latency of the
// instruction.
template <int rows, int vectors>
inline __attribute__((always_inline)) void bfloatColumns(int64_t kc, const uint16_t* x,
                                                         int64_t xRow, int64_t xStride,
                                                         const uint16_t* b, int64_t ldb, float* c,
                                                         int64_t cRow, __mmask32 last) {
  constexpr int ways = rows * vectors >= 4 ? 1 : 4 / (rows * vectors);
  // Two steps of a column are side by side in a lane: of columns 0 to 3, 8 to 11, and so on in the
  // first half of a vector's sums, of the others in the second.
  Vec<float> sum[ways][rows][vectors][2] = {};
  auto add = [&](int64_t k, int way, bool isPair) __attribute__((always_inline)) {
    __m512i pairs[rows];
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i) {
      const uint16_t* at = x + i * xRow + k * xStride;
      const uint32_t second = isPair ? at[xStride] : 0u;
      pairs[i] = _mm512_set1_epi32(static_cast<int>(*at | second << 16));
    }
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) {
      const uint16_t* p = b + k * ldb + v * kBfloats;
      const __mmask32 mask = v + 1 == vectors ? last : kAllBfloats;
      __builtin_prefetch(p + kRowsAhead * ldb);
      __builtin_prefetch(p + (kRowsAhead + 1) * ldb);
      const __m512i row = loadBfloats(p, mask);
      const __m512i next = isPair ? loadBfloats(p + ldb, mask) : _mm512_setzero_si512();
      const __m512i low = _mm512_unpacklo_epi16(row, next);
      const __m512i high = _mm512_unpackhi_epi16(row, next);
#pragma clang loop unroll(full)
      for (int i = 0; i < rows; ++i) {
        sum[way][i][v][0] = addPairs(sum[way][i][v][0], pairs[i], low);
        sum[way][i][v][1] = addPairs(sum[way][i][v][1], pairs[i], high);
      }
    }
  };
  int64_t k = 0;
  for (; k + 2 * ways <= kc; k += 2 * ways) {
#pragma clang loop unroll(full)
    for (int w = 0; w < ways; ++w) add(k + 2 * w, w, true);
  }
  for (; k + 2 <= kc; k += 2) add(k, 0, true);
  if (k < kc) add(k, 0, false);
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; ++i) {
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) {
      Vec<float> low = sum[0][i][v][0], high = sum[0][i][v][1];
#pragma clang loop unroll(full)
      for (int w = 1; w < ways; ++w) low += sum[w][i][v][0], high += sum[w][i][v][1];
      const Vec<float> first = __builtin_shufflevector(low, high, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5,
                                                       6, 7, 20, 21, 22, 23);
      const Vec<float> rest = __builtin_shufflevector(low, high, 8, 9, 10, 11, 24, 25, 26, 27, 12,
                                                      13, 14, 15, 28, 29, 30, 31);
      const __mmask32 mask = v + 1 == vectors ? last : kAllBfloats;
      float* to = c + i * cRow + v * kBfloats;
      _mm512_mask_storeu_ps(to, static_cast<__mmask16>(mask), reinterpret_cast<__m512>(first));
      _mm512_mask_storeu_ps(to + kLanes<float>, static_cast<__mmask16>(mask >> kLanes<float>),
                            reinterpret_cast<__m512>(rest));
    }
  }
}

template <int rows>
void bfloatRowsTimes(int64_t kc, const uint16_t* x, int64_t xRow, int64_t xStride,
                     const uint16_t* b, int64_t ldb, float* c, int64_t cRow, int64_t n) {
  int64_t j = 0;
  auto columns = [&]<int vectors>() __attribute__((always_inline)) {
    for (; j + vectors * kBfloats <= n; j += vectors * kBfloats) {
      bfloatColumns<rows, vectors>(kc, x, xRow, xStride, b + j, ldb, c + j, cRow, kAllBfloats);
    }
  };
  if constexpr (rows <= 2) columns.template operator()<4>();
  columns.template operator()<2>();
  columns.template operator()<1>();
  if (j == n) return;
  bfloatColumns<rows, 1>(kc, x, xRow, xStride, b + j, ldb, c + j, cRow, firstBfloats(n - j));
}

// GemmKernels::rowsTimesMatrix.
void bfloatRowsTimesMatrix(int64_t kc, const void* xData, int64_t xRow, int64_t xStride, int rows,
                           const void* bData, int64_t ldb, void* cData, int64_t cRow, int64_t n) {
  const auto* x = static_cast<const uint16_t*>(xData);
  const auto* b = static_cast<const uint16_t*>(bData);
  auto* c = static_cast<float*>(cData);
  withFewRows(
      rows, [&]<int count>() { bfloatRowsTimes<count>(kc, x, xRow, xStride, b, ldb, c, cRow, n); });
}

}  // namespace
}  // namespace isthmus::cpu::ISTHMUS_ISA

// Products of bfloat16 by AVX-512's BF16 instruction, which adds the products of two steps to a sum
// in f32 at once. It takes denormal operands and sums for zero, whatever mode the thread is in.
#include <immintrin.h>

#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/gemm/gemm_bf16_rows.h"
#include "backends/cpu/kernels/gemm/gemm_kernels.h"
#include "backends/cpu/kernels/gemm/gemm_pack_narrow.h"
#include "backends/cpu/kernels/gemm/gemm_tile.h"

namespace isthmus::cpu::ISTHMUS_ISA {
namespace {

constexpr int kColumns = 2 * kLanes<float>;

struct Bf16MultiplyAdd {
  static inline __attribute__((always_inline)) Vec<float> apply(Vec<float> sum, uint32_t a,
                                                                Vec<uint32_t> b) {
    return reinterpret_cast<Vec<float>>(
        _mm512_dpbf16_ps(reinterpret_cast<__m512>(sum),
                         reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a))),
                         reinterpret_cast<__m512bh>(b)));
  }
};

void bf16Tile(int64_t kc, const void* a, const void* b, void* c, int64_t ldc, int rows, int cols,
              bool accumulate) {
  packedTile<float, uint32_t, Bf16MultiplyAdd>((kc + 1) / 2, a, b, c, ldc, rows, cols, accumulate);
}

// Pairs of bf16 in place, results rounded to bf16.
struct Bfloats : SumsOf<float, uint32_t, Bf16MultiplyAdd, 2> {
  using Result = uint16_t;

  template <int rows, int vectors>
  static inline __attribute__((always_inline)) void store(const Vec<float> (&sum)[rows][vectors],
                                                          uint16_t* c, int64_t ldc, int cols,
                                                          bool /*accumulate*/) {
    const __mmask32 mask = 0xFFFFFFFFu >> (2 * kLanes<float> - cols);
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r) {
      const __m512 low = reinterpret_cast<__m512>(sum[r][0]);
      const __m512 high = vectors > 1 ? reinterpret_cast<__m512>(sum[r][vectors - 1]) : low;
      _mm512_mask_storeu_epi16(c + r * ldc, mask,
                               reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
    }
  }
};

void storeBfloats(const float* sums, int64_t count, uint16_t* result) {
  int64_t i = 0;
  for (; i + 32 <= count; i += 32) {
    _mm512_storeu_si512(
        result + i, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(sums + i + 16),
                                                                  _mm512_loadu_ps(sums + i))));
  }
  for (; i < count; i += 16) {
    const int rest = count - i < 16 ? static_cast<int>(count - i) : 16;
    const auto mask = static_cast<__mmask16>(0xFFFFu >> (16 - rest));
    _mm256_mask_storeu_epi16(
        result + i, mask,
        reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, sums + i))));
  }
}

void packBf16(void* panel, int width, const PanelSource& s) {
  auto* out = static_cast<uint32_t*>(panel);
  if (width == kRows) {
    NarrowPacker<uint16_t, kRows, 0>::pack(out, s);
  } else {
    NarrowPacker<uint16_t, kColumns, 0>::pack(out, s);
  }
}

constexpr GemmKernels bf16Kernels() {
  GemmKernels kernels{};
  kernels.mr = kRows;
  kernels.nr = kColumns;
  kernels.vectorLanes = kLanes<float>;
  kernels.elementBytes = sizeof(float);
  kernels.stepsPerElement = 2;
  kernels.pack = packBf16;
  kernels.tile = bf16Tile;
  kernels.storeBfloats = storeBfloats;
  kernels.runTile = runTile<SumsOf<float, uint32_t, Bf16MultiplyAdd, 2>>;
  kernels.runTileOfPairs = runTile<SumsOf<float, uint32_t, Bf16MultiplyAdd>>;
  kernels.runTileToBfloats = runTile<Bfloats>;
  kernels.rowsTimesMatrix = bfloatRowsTimesMatrix;
  kernels.dotProducts = bfloatDotProducts;
  return kernels;
}

}  // namespace

const GemmKernels* gemmKernelsFor(GemmDomain domain) {
  static constexpr GemmKernels kernels = bf16Kernels();
  return domain == GemmDomain::kBf16 ? &kernels : nullptr;
}

}  // namespace isthmus::cpu::ISTHMUS_ISA

// Products of bfloat16 by AVX-512's BF16 instruction, which adds the products of two steps to a sum
// in f32 at once. It takes denormal operands and sums for zero, whatever mode the thread is in.
#include <immintrin.h>

#include "backends/cpu/kernels/element_access.h"
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
  return kernels;
}

}  // namespace

const GemmKernels* gemmKernelsFor(GemmDomain domain) {
  static constexpr GemmKernels kernels = bf16Kernels();
  return domain == GemmDomain::kBf16 ? &kernels : nullptr;
}

}  // namespace isthmus::cpu::ISTHMUS_ISA

// Products of integers of 8 and 16 bits by AVX-512's VNNI instructions, which add the products of
// four or two steps to a sum of 32 bits at once.
#include <immintrin.h>

#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/gemm/gemm_kernels.h"
#include "backends/cpu/kernels/gemm/gemm_pack_narrow.h"
#include "backends/cpu/kernels/gemm/gemm_tile.h"

namespace isthmus::cpu::ISTHMUS_ISA {
namespace {

constexpr int kColumns = 2 * kLanes<uint32_t>;
constexpr uint32_t kSignBits = 0x80808080;

// Elements are two steps of 16 bits.
struct ShortMultiplyAdd {
  static inline __attribute__((always_inline)) Vec<uint32_t> apply(Vec<uint32_t> sum, uint32_t a,
                                                                   Vec<uint32_t> b) {
    return reinterpret_cast<Vec<uint32_t>>(
        _mm512_dpwssd_epi32(reinterpret_cast<__m512i>(sum), _mm512_set1_epi32(static_cast<int>(a)),
                            reinterpret_cast<__m512i>(b)));
  }
};

void shortTile(int64_t kc, const void* a, const void* b, void* c, int64_t ldc, int rows, int cols,
               bool accumulate) {
  packedTile<uint32_t, uint32_t, ShortMultiplyAdd>((kc + 1) / 2, a, b, c, ldc, rows, cols,
                                                   accumulate);
}

// sum + unsigned bytes * signed bytes.
inline __attribute__((always_inline)) __m512i addBytes(__m512i sum, __m512i u, __m512i s) {
  return _mm512_dpbusd_epi32(sum, u, s);
}

// The instruction multiplies unsigned bytes by signed ones: b is packed with 128 added, and the
// sums of 128 * a, which that adds to each row, are taken off in the end. They cost one instruction
// a step for all rows.
template <int rows, int vectors>
void byteTileOf(int64_t kc, const uint32_t* a, const uint32_t* b, uint32_t* c, int64_t ldc,
                int cols, bool accumulate) {
  static_assert(kRows <= kLanes<uint32_t>);
  constexpr int lanes = kLanes<uint32_t>;
  for (int r = 0; r < rows; ++r) __builtin_prefetch(c + r * ldc, 1);
  __m512i sum[rows][vectors];
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r) {
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) sum[r][v] = _mm512_setzero_si512();
  }
  __m512i excess = _mm512_setzero_si512();
  const __m512i offset = _mm512_set1_epi32(static_cast<int>(kSignBits));
#pragma clang loop unroll_count(2)
  for (int64_t k = 0; k < kc; ++k) {
    __m512i bv[vectors];
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) bv[v] = _mm512_loadu_si512(b + v * lanes);
    __builtin_prefetch(b + kColumns * 8);
    // Reads lanes of the next step too, or the panel's slack: they are not used.
    excess = addBytes(excess, offset, _mm512_loadu_si512(a));
#pragma clang loop unroll(full)
    for (int r = 0; r < rows; ++r) {
      const __m512i av = _mm512_set1_epi32(static_cast<int>(a[r]));
#pragma clang loop unroll(full)
      for (int v = 0; v < vectors; ++v) sum[r][v] = addBytes(sum[r][v], bv[v], av);
    }
    a += kRows;
    b += kColumns;
  }
  alignas(64) uint32_t perRow[lanes];
  _mm512_store_si512(perRow, excess);
  Vec<uint32_t> result[rows][vectors];
#pragma clang loop unroll(full)
  for (int r = 0; r < rows; ++r) {
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) {
      result[r][v] = reinterpret_cast<Vec<uint32_t>>(sum[r][v]) - perRow[r];
    }
  }
  storeTile<uint32_t, rows, vectors>(result, c, ldc, cols, accumulate);
}

template <int... rows>
void byteTileDispatch(Sequence<rows...>, int64_t kc, const uint32_t* a, const uint32_t* b,
                      uint32_t* c, int64_t ldc, int count, int cols, bool accumulate) {
  using Function =
      void (*)(int64_t, const uint32_t*, const uint32_t*, uint32_t*, int64_t, int, bool);
  static constexpr Function table[][2] = {{byteTileOf<rows, 1>, byteTileOf<rows, 2>}...};
  table[count - 1][cols > kLanes<uint32_t>](kc, a, b, c, ldc, cols, accumulate);
}

void byteTile(int64_t kc, const void* a, const void* b, void* c, int64_t ldc, int rows, int cols,
              bool accumulate) {
  byteTileDispatch(typename MakeSequence<kRows>::Type(), (kc + 3) / 4,
                   static_cast<const uint32_t*>(a), static_cast<const uint32_t*>(b),
                   static_cast<uint32_t*>(c), ldc, rows, cols, accumulate);
}

void packBytes(void* panel, int width, const PanelSource& s) {
  auto* out = static_cast<uint32_t*>(panel);
  if (width == kRows) {
    NarrowPacker<uint8_t, kRows, 0>::pack(out, s);
  } else {
    NarrowPacker<uint8_t, kColumns, kSignBits>::pack(out, s);
  }
}

constexpr GemmKernels byteKernels() {
  GemmKernels kernels{};
  kernels.mr = kRows;
  kernels.nr = kColumns;
  kernels.vectorLanes = kLanes<uint32_t>;
  kernels.elementBytes = sizeof(uint32_t);
  kernels.stepsPerElement = 4;
  kernels.pack = packBytes;
  kernels.tile = byteTile;
  return kernels;
}

// Panels are those of the level below.
GemmKernels shortKernels() {
  GemmKernels kernels = v4::gemmKernelTable()[static_cast<int>(GemmDomain::kPairs)];
  kernels.tile = shortTile;
  return kernels;
}

}  // namespace

const GemmKernels* gemmKernelsFor(GemmDomain domain) {
  static const GemmKernels shorts = shortKernels();
  static constexpr GemmKernels bytes = byteKernels();
  switch (domain) {
    case GemmDomain::kPairs:
      return &shorts;
    case GemmDomain::kBytes:
      return &bytes;
    default:
      return nullptr;
  }
}

}  // namespace isthmus::cpu::ISTHMUS_ISA

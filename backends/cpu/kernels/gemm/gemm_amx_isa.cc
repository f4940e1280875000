// Products of bfloat16 and of signed bytes in the tile registers of AMX.
//
// A tile of the result is 2 x 2 registers, 32 rows by 32 columns of 32-bit sums. Panels of the
// right operand are as for AVX-512: elements of one group of steps side by side. Panels of the left
// operand are what the registers want: blocks of 16 elements of a lane, lane after lane.
#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/gemm/amx_tiles.h"
#include "backends/cpu/kernels/gemm/gemm_kernels.h"
#include "backends/cpu/kernels/gemm/gemm_pack_narrow.h"

namespace isthmus::cpu::ISTHMUS_ISA {
namespace {

constexpr int kLanes = 2 * kTileRows;  // of either panel
constexpr int64_t kBlockElements = kTileElements * kLanes;

// ---- Packing ------------------------------------------------------------------------------------

// Element (group, lane) is at group / 16 * kBlockElements + lane * 16 + group % 16.
template <typename Raw>
void packLeft(uint32_t* out, const PanelSource& s) {
  constexpr int steps = kTileElements * sizeof(uint32_t) / sizeof(Raw);  // of a block
  const Raw* data = static_cast<const Raw*>(s.data);
  int64_t left = s.kRun - s.kPhase;  // steps up to the end of the run
  for (int64_t k = 0; k < s.kc; k += steps, out += kBlockElements) {
    while (left <= 0) left += s.kRun;
    if (left >= steps && k + steps <= s.kc && !s.lanesContiguous) {
      for (int lane = 0; lane < kLanes; ++lane) {
        uint32_t* row = out + lane * kTileElements;
        if (lane < s.lanes && s.laneOffsets[lane] != kZeroLane) {
          __builtin_memcpy(row, data + s.laneOffsets[lane] + s.kOffsets[k], kTileRowBytes);
        } else {
          __builtin_memset(row, 0, kTileRowBytes);
        }
      }
    } else {
      uint32_t block[kBlockElements + kPanelSlackBytes / 4] = {};
      PanelSource part = s;
      part.kOffsets = s.kOffsets + k;
      part.kc = s.kc - k < steps ? s.kc - k : steps;
      part.kPhase = (s.kPhase + k) % s.kRun;
      NarrowPacker<Raw, kLanes, 0>::pack(block, part);
      for (int lane = 0; lane < kLanes; ++lane) {
        for (int i = 0; i < kTileElements; ++i) {
          out[lane * kTileElements + i] = block[i * kLanes + lane];
        }
      }
    }
    left -= steps;
  }
}

template <typename Raw>
void packRight(uint32_t* out, const PanelSource& s) {
  constexpr int steps = sizeof(uint32_t) / sizeof(Raw);
  NarrowPacker<Raw, kLanes, 0>::pack(out, s);
  const int64_t groups = (s.kc + steps - 1) / steps;
  const int64_t padded = (groups + kTileElements - 1) / kTileElements * kTileElements;
  __builtin_memset(out + groups * kLanes, 0, (padded - groups) * kLanes * sizeof(uint32_t));
}

template <typename Raw>
void pack(void* panel, int, const PanelSource& s) {
  auto* out = static_cast<uint32_t*>(panel);
  s.isLeft ? packLeft<Raw>(out, s) : packRight<Raw>(out, s);
}

// ---- Multiplying --------------------------------------------------------------------------------

struct Bf16Product {
  static constexpr int kSteps = 2;
  template <int c, int a, int b>
  static inline __attribute__((always_inline)) void add() {
    multiplyBf16<c, a, b>();
  }
};
struct ByteProduct {
  static constexpr int kSteps = 4;
  template <int c, int a, int b>
  static inline __attribute__((always_inline)) void add() {
    multiplyBytes<c, a, b>();
  }
};

template <int value_>
struct Index {
  static constexpr int value = value_;
};

// Sums are in registers 0 to 3 (row of registers * 2 + column), a in 4 and 5, b in 6 and 7.
template <bool load>
inline __attribute__((always_inline)) void moveSums(uint32_t* c, int64_t ldc, bool twoRows,
                                                    bool twoColumns) {
  auto move = [&](auto registerIndex, uint32_t* at) __attribute__((always_inline)) {
    constexpr int t = decltype(registerIndex)::value;
    if constexpr (load) {
      loadTile<t>(at, ldc * 4);
    } else {
      storeTile<t>(at, ldc * 4);
    }
  };
  uint32_t* below = c + kTileRows * ldc;
  move(Index<0>{}, c);
  if (twoColumns) move(Index<1>{}, c + kTileElements);
  if (twoRows) move(Index<2>{}, below);
  if (twoRows && twoColumns) move(Index<3>{}, below + kTileElements);
}

template <typename Product, bool twoRows, bool twoColumns>
void addPanels(int64_t blocks, const uint32_t* a, const uint32_t* b) {
  for (int64_t i = 0; i < blocks; ++i, a += kBlockElements, b += kBlockElements) {
    loadTile<4>(a, kTileRowBytes);
    loadTile<6>(b, kLanes * 4);
    Product::template add<0, 4, 6>();
    if constexpr (twoColumns) {
      loadTile<7>(b + kTileElements, kLanes * 4);
      Product::template add<1, 4, 7>();
    }
    if constexpr (twoRows) {
      loadTile<5>(a + kTileRows * kTileElements, kTileRowBytes);
      Product::template add<2, 5, 6>();
      if constexpr (twoColumns) Product::template add<3, 5, 7>();
    }
  }
}

template <typename Product>
void tile(int64_t kc, const void* aPanel, const void* bPanel, void* result, int64_t ldc, int rows,
          int cols, bool accumulate) {
  const auto* a = static_cast<const uint32_t*>(aPanel);
  const auto* b = static_cast<const uint32_t*>(bPanel);
  auto* c = static_cast<uint32_t*>(result);
  const bool twoRows = rows > kTileRows, twoColumns = cols > kTileElements;
  // Registers move whole: sums at the edges of the result go through memory of our own.
  const bool whole = rows % kTileRows == 0 && cols % kTileElements == 0;
  alignas(64) uint32_t edge[kLanes * kLanes];
  if (accumulate) {
    if (!whole) {
      for (int r = 0; r < rows; ++r) __builtin_memcpy(edge + r * kLanes, c + r * ldc, cols * 4);
    }
    moveSums<true>(whole ? c : edge, whole ? ldc : kLanes, twoRows, twoColumns);
  } else {
    zeroTile<0>();
    zeroTile<1>();
    zeroTile<2>();
    zeroTile<3>();
  }
  constexpr int64_t steps = Product::kSteps * kTileElements;
  const int64_t blocks = (kc + steps - 1) / steps;
  using Function = void (*)(int64_t, const uint32_t*, const uint32_t*);
  static constexpr Function add[2][2] = {
      {addPanels<Product, false, false>, addPanels<Product, false, true>},
      {addPanels<Product, true, false>, addPanels<Product, true, true>}};
  add[twoRows][twoColumns](blocks, a, b);
  moveSums<false>(whole ? c : edge, whole ? ldc : kLanes, twoRows, twoColumns);
  if (whole) return;
  for (int r = 0; r < rows; ++r) __builtin_memcpy(c + r * ldc, edge + r * kLanes, cols * 4);
}

template <typename Raw, typename Product>
constexpr GemmKernels amxKernels() {
  GemmKernels kernels{};
  kernels.mr = kLanes;
  kernels.nr = kLanes;
  kernels.vectorLanes = kTileElements;
  kernels.elementBytes = sizeof(uint32_t);
  kernels.stepsPerElement = Product::kSteps;
  kernels.elementsPerBlock = kTileElements;
  kernels.pack = pack<Raw>;
  kernels.tile = tile<Product>;
  kernels.begin = configureTiles;
  kernels.end = releaseTiles;
  return kernels;
}

}  // namespace

const GemmKernels* gemmKernelsFor(GemmDomain domain) {
  static constexpr GemmKernels bytes = amxKernels<uint8_t, ByteProduct>();
  static const GemmKernels bf16 = [] {
    GemmKernels kernels = amxKernels<uint16_t, Bf16Product>();
    kernels.storeBfloats = v4_bf16::gemmKernelsFor(GemmDomain::kBf16)->storeBfloats;
    return kernels;
  }();
  switch (domain) {
    case GemmDomain::kBytes:
      return &bytes;
    case GemmDomain::kBf16:
      return &bf16;
    default:
      return nullptr;
  }
}

}  // namespace isthmus::cpu::ISTHMUS_ISA

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

constexpr int kPanelLanes = 2 * kTileRows;  // of either panel
constexpr int64_t kBlockElements = kTileElements * kPanelLanes;

// ---- Packing ------------------------------------------------------------------------------------

constexpr int kBlock = 8;  // rows and steps that are transposed in registers
typedef uint16_t Steps __attribute__((vector_size(kBlock * 2)));
typedef uint16_t LooseSteps __attribute__((vector_size(kBlock * 2), aligned(2), may_alias));

// See GemmKernels::transpose.
void transpose(const uint16_t* data, const int64_t* offsets, int64_t steps, int64_t rows,
               void* result, int64_t rowStride) {
  auto* out = static_cast<uint16_t*>(result);
  for (int64_t k = 0; k < steps; k += kBlock) {
    const uint16_t* from[kBlock];
    for (int i = 0; i < kBlock; ++i) {
      const bool isPresent = k + i < steps && offsets[k + i] != kZeroLane;
      from[i] = isPresent ? data + offsets[k + i] : nullptr;
    }
    for (int64_t r = 0; r < rows; r += kBlock) {
      const int64_t count = rows - r < kBlock ? rows - r : kBlock;
      Steps block[kBlock];
#pragma clang loop unroll(full)
      for (int i = 0; i < kBlock; ++i) {
        block[i] = Steps{};
        if (!from[i]) continue;
        if (count == kBlock) {
          block[i] = *reinterpret_cast<const LooseSteps*>(from[i] + r);
        } else {
          __builtin_memcpy(&block[i], from[i] + r, count * 2);
        }
      }
      transposeBlock<Steps, kBlock>(block);
      for (int i = 0; i < count; ++i) {
        *reinterpret_cast<LooseSteps*>(out + (r + i) * rowStride + k) = block[i];
      }
    }
  }
}

// Element (group, lane) is at group / 16 * kBlockElements + lane * 16 + group % 16.
template <typename Raw>
void packLeft(uint32_t* out, const PanelSource& s) {
  constexpr int steps = kTileElements * sizeof(uint32_t) / sizeof(Raw);  // of a block
  const Raw* data = static_cast<const Raw*>(s.data);
  int64_t left = s.kRun - s.kPhase;  // steps up to the end of the run
  for (int64_t k = 0; k < s.kc; k += steps, out += kBlockElements) {
    while (left <= 0) left += s.kRun;
    if (left >= steps && k + steps <= s.kc && !s.lanesContiguous) {
      for (int lane = 0; lane < kPanelLanes; ++lane) {
        uint32_t* row = out + lane * kTileElements;
        if (lane < s.lanes && s.laneOffsets[lane] != kZeroLane) {
          __builtin_memcpy(row, data + s.laneOffsets[lane] + s.kOffsets[k], kTileRowBytes);
        } else {
          __builtin_memset(row, 0, kTileRowBytes);
        }
      }
    } else if (sizeof(Raw) == 2 && s.lanesContiguous) {
      const int64_t count = s.kc - k < steps ? s.kc - k : steps;
      if (s.lanes < kPanelLanes || count < steps) __builtin_memset(out, 0, kBlockElements * 4);
      transpose(reinterpret_cast<const uint16_t*>(data) + s.laneOffsets[0], s.kOffsets + k, count,
                s.lanes, out, steps);
    } else {
      uint32_t block[kBlockElements + kPanelSlackBytes / 4] = {};
      PanelSource part = s;
      part.kOffsets = s.kOffsets + k;
      part.kc = s.kc - k < steps ? s.kc - k : steps;
      part.kPhase = (s.kPhase + k) % s.kRun;
      NarrowPacker<Raw, kPanelLanes, 0>::pack(block, part);
      for (int lane = 0; lane < kPanelLanes; ++lane) {
        for (int i = 0; i < kTileElements; ++i) {
          out[lane * kTileElements + i] = block[i * kPanelLanes + lane];
        }
      }
    }
    left -= steps;
  }
}

template <typename Raw>
void packRight(uint32_t* out, const PanelSource& s) {
  constexpr int steps = sizeof(uint32_t) / sizeof(Raw);
  NarrowPacker<Raw, kPanelLanes, 0>::pack(out, s);
  if (s.isRun) return;
  const int64_t groups = (s.kc + steps - 1) / steps;
  const int64_t padded = (groups + kTileElements - 1) / kTileElements * kTileElements;
  __builtin_memset(out + groups * kPanelLanes, 0,
                   (padded - groups) * kPanelLanes * sizeof(uint32_t));
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

// Where the sums of a product go on.
template <bool load>
inline __attribute__((always_inline)) void moveSums(uint32_t* c, int64_t ldc, bool twoRows,
                                                    bool twoColumns) {
  auto move = [&]<int t>(uint32_t* at) __attribute__((always_inline)) {
    if constexpr (load) {
      loadTile<t>(at, ldc * 4);
    } else {
      storeTile<t>(at, ldc * 4);
    }
  };
  uint32_t* below = c + kTileRows * ldc;
  move.template operator()<0>(c);
  if (twoColumns) move.template operator()<1>(c + kTileElements);
  if (twoRows) move.template operator()<2>(below);
  if (twoRows && twoColumns) move.template operator()<3>(below + kTileElements);
}

// Blocks of both operands: the bytes from one row of the left one to the next, and from one block
// of either to the next.
struct Blocks {
  int64_t count;
  int64_t rowBytes;
  int64_t blockBytes;
  int64_t rightBlockBytes;
};

template <typename Product, bool twoRows, bool twoColumns, bool isOnce>
inline __attribute__((always_inline)) void addBlocks(const Blocks& blocks, const char* a,
                                                     const char* b) {
  const char* below = a + kTileRows * blocks.rowBytes;
  for (int64_t i = 0; i < blocks.count; ++i) {
    loadTile<6>(b, kPanelLanes * 4);
    loadTile<4, isOnce>(a, blocks.rowBytes);
    Product::template add<0, 4, 6>();
    if constexpr (twoColumns) {
      loadTile<7>(b + kTileRowBytes, kPanelLanes * 4);
      Product::template add<1, 4, 7>();
    }
    if constexpr (twoRows) {
      loadTile<5, isOnce>(below, blocks.rowBytes);
      Product::template add<2, 5, 6>();
      if constexpr (twoColumns) Product::template add<3, 5, 7>();
    }
    a += blocks.blockBytes, below += blocks.blockBytes, b += blocks.rightBlockBytes;
  }
}

// A result of `rows` x `cols` sums at c: add(twoRows, twoColumns) adds to the registers.
template <typename Add>
inline __attribute__((always_inline)) void computeSums(uint32_t* c, int64_t ldc, int rows, int cols,
                                                       int elements, bool accumulate, Add add) {
  changeShape(
      {static_cast<uint8_t>(rows), static_cast<uint8_t>(cols), static_cast<uint8_t>(elements)});
  const bool twoRows = rows > kTileRows, twoColumns = cols > kTileElements;
  if (accumulate) {
    moveSums<true>(c, ldc, twoRows, twoColumns);
  } else {
    zeroTile<0>();
    zeroTile<1>();
    zeroTile<2>();
    zeroTile<3>();
  }
  auto addWide = [&]<bool tall>() __attribute__((always_inline)) {
    twoColumns ? add.template operator()<tall, true>() : add.template operator()<tall, false>();
  };
  twoRows ? addWide.template operator()<true>() : addWide.template operator()<false>();
  moveSums<false>(c, ldc, twoRows, twoColumns);
}

template <typename Product>
void tile(int64_t kc, const void* aPanel, const void* bPanel, void* result, int64_t ldc, int rows,
          int cols, bool accumulate) {
  constexpr int64_t steps = Product::kSteps * kTileElements;
  const Blocks blocks{(kc + steps - 1) / steps, kTileRowBytes, kBlockElements * 4,
                      kBlockElements * 4};
  computeSums(static_cast<uint32_t*>(result), ldc, rows, cols, kTileElements, accumulate,
              [&]<bool twoRows, bool twoColumns>() __attribute__((always_inline)) {
                addBlocks<Product, twoRows, twoColumns, true>(
                    blocks, static_cast<const char*>(aPanel), static_cast<const char*>(bPanel));
              });
}

// ---- Operands in place
// ---------------------------------------------------------------------------

// Of elements that are multiplied at a time: 16, or fewer if those make up all runs.
template <typename Product>
int elementsAtOnce(const GemmRun* runs, int64_t count) {
  constexpr int steps = Product::kSteps * kTileElements;
  const int64_t length = count > 0 ? runs[0].length : 0;
  const int64_t blocks = (length + steps - 1) / steps;
  if (length % steps == 0 || blocks == 0 || length % (blocks * Product::kSteps) != 0) {
    return kTileElements;
  }
  for (int64_t i = 1; i < count; ++i) {
    if (runs[i].length != length) return kTileElements;
  }
  return static_cast<int>(length / (blocks * Product::kSteps));
}

// The last steps of a run, fewer than a block, and zeros: what follows them in memory may be
// anything.
struct Rest {
  alignas(64) char a[kPanelLanes * kTileRowBytes];
  alignas(64) char b[kTileRows * kPanelLanes * 4];

  template <typename Product>
  void copy(const char* left, int64_t rowBytes, int rows, const char* right, int64_t steps) {
    constexpr int stepBytes = 4 / Product::kSteps;
    const auto leftMask = ~uint64_t{0} >> (kTileRowBytes - steps * stepBytes);
    for (int r = 0; r < rows; ++r) copyMasked(a + r * kTileRowBytes, left + r * rowBytes, leftMask);
    const int64_t used = (steps + Product::kSteps - 1) / Product::kSteps;
    __builtin_memcpy(b, right, used * kPanelLanes * 4);
    __builtin_memset(b + used * kPanelLanes * 4, 0, (kTileRows - used) * kPanelLanes * 4);
  }

 private:
  static void copyMasked(char* to, const char* from, uint64_t mask) {
    typedef char Row __attribute__((vector_size(kTileRowBytes)));
#if defined(ISTHMUS_EMULATE_AMX)
    Row row{};
    for (int i = 0; i < kTileRowBytes && (mask >> i & 1); ++i) row[i] = from[i];
#else
    const auto row = reinterpret_cast<Row>(_mm512_maskz_loadu_epi8(mask, from));
#endif
    *reinterpret_cast<Row*>(to) = row;
  }
};

// See RunTile; steps of a lie side by side. Several runs read its rows again.
template <typename Product>
void runTile(const GemmRun* runs, int64_t count, const void* a, int64_t rowStride, int64_t,
             const void* b, int64_t ldb, void* c, int64_t ldc, int rows, int cols,
             bool accumulate) {
  constexpr int64_t stepBytes = 4 / Product::kSteps;
  const int elements = elementsAtOnce<Product>(runs, count);
  const int64_t steps = elements * Product::kSteps;
  Rest rest;
  auto addAll = [&]<bool twoRows, bool twoColumns, bool isOnce>() __attribute__((always_inline)) {
    for (int64_t i = 0; i < count; ++i) {
      const char* left = static_cast<const char*>(a) + runs[i].a * stepBytes;
      const char* right = static_cast<const char*>(b) + runs[i].b * 4;
      const Blocks blocks{runs[i].length / steps, rowStride * stepBytes, steps * stepBytes,
                          elements * ldb * 4};
      addBlocks<Product, twoRows, twoColumns, isOnce>(blocks, left, right);
      const int64_t done = blocks.count * steps;
      if (done == runs[i].length) continue;
      rest.copy<Product>(left + done * stepBytes, blocks.rowBytes, rows,
                         right + blocks.count * blocks.rightBlockBytes, runs[i].length - done);
      addBlocks<Product, twoRows, twoColumns, false>({1, kTileRowBytes, 0, 0}, rest.a, rest.b);
    }
  };
  computeSums(static_cast<uint32_t*>(c), ldc, rows, cols, elements, accumulate,
              [&]<bool twoRows, bool twoColumns>() __attribute__((always_inline)) {
                count == 1 ? addAll.template operator()<twoRows, twoColumns, true>()
                           : addAll.template operator()<twoRows, twoColumns, false>();
              });
}

void runTileToBfloats(const GemmRun* runs, int64_t count, const void* a, int64_t rowStride,
                      int64_t stepStride, const void* b, int64_t ldb, void* c, int64_t ldc,
                      int rows, int cols, bool) {
  alignas(64) float sums[kPanelLanes * kPanelLanes];
  runTile<Bf16Product>(runs, count, a, rowStride, stepStride, b, ldb, sums, kPanelLanes, rows, cols,
                       false);
  const auto store = v4_bf16::gemmKernelsFor(GemmDomain::kBf16)->storeBfloats;
  for (int r = 0; r < rows; ++r) {
    store(sums + r * kPanelLanes, cols, static_cast<uint16_t*>(c) + r * ldc);
  }
}

template <typename Raw, typename Product>
constexpr GemmKernels amxKernels() {
  GemmKernels kernels{};
  kernels.mr = kPanelLanes;
  kernels.nr = kPanelLanes;
  kernels.vectorLanes = kTileElements;
  kernels.elementBytes = sizeof(uint32_t);
  kernels.stepsPerElement = Product::kSteps;
  kernels.elementsPerBlock = kTileElements;
  // A panel of b stays in the first-level cache while rows of a pass by.
  kernels.maxPanelElements = 256;
  kernels.wantsNearSums = true;
  kernels.takesRowsInPlace = true;
  kernels.pack = pack<Raw>;
  kernels.tile = tile<Product>;
  kernels.runTile = runTile<Product>;
  kernels.begin = beginTiles;
  kernels.end = endTiles;
  return kernels;
}

}  // namespace

const GemmKernels* gemmKernelsFor(GemmDomain domain) {
  static constexpr GemmKernels bytes = amxKernels<uint8_t, ByteProduct>();
  static const GemmKernels bf16 = [] {
    GemmKernels kernels = amxKernels<uint16_t, Bf16Product>();
    const GemmKernels& below = *v4_bf16::gemmKernelsFor(GemmDomain::kBf16);
    kernels.storeBfloats = below.storeBfloats;
    kernels.rowsTimesMatrix = below.rowsTimesMatrix;
    kernels.dotProducts = below.dotProducts;
    kernels.runTileToBfloats = runTileToBfloats;
    kernels.transpose = transpose;
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

// The inner kernels of matrix multiplication for one instruction set: packing operands into panels
// and multiplying panels.
//
// A panel holds `width` lanes (rows of the left or columns of the right operand) for `kc` steps
// along the contracted dimension: element (k, lane) is at k * width + lane. Complex panels hold for
// each k `width` real parts, then `width` imaginary parts.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/cache_sizes.h"
#include "isthmus/types.h"

namespace isthmus::cpu {

// The types in which products are summed. The last three have panels whose 32-bit elements hold
// several steps of a lane, and are packed in pieces of whole elements: kPairs sums in 32 bits as
// kU32 does, two steps of 16-bit integers to an element, for operands of up to 16 bits (not u16);
// kBytes does, four steps to an element, for signed operands of up to 8 bits; kBf16 sums in f32 as
// kF32 does, two steps to an element, for operands of bf16. The last two exist only where the
// machine has instructions for them.
enum class GemmDomain { kF32, kF64, kU32, kU64, kC64, kC128, kPairs, kBytes, kBf16 };
inline constexpr int kNumGemmDomains = 9;

// The type of operands and results that are floats as the sums are; kInvalid for other domains.
constexpr ElementType floatTypeOf(GemmDomain domain) {
  if (domain == GemmDomain::kF32) return ElementType::kF32;
  if (domain == GemmDomain::kF64) return ElementType::kF64;
  return ElementType::kInvalid;
}

// Upper bounds over all instruction sets and domains.
inline constexpr int kMaxGemmLanes = 32;
// Packing may write this many bytes past a panel.
inline constexpr int kPanelSlackBytes = 64;

// Whether rowTimesMatrix takes all rows at a time of a matrix with so many, of whose first elements
// the bytes lie so far apart.
constexpr bool isNearMatrix(int64_t rows, int64_t strideBytes) {
  return rows * strideBytes <= kNearMatrixBytes;
}

// What to pack: `lanes` lanes (at most the panel's width; the others become zero) of `kc` steps.
// Element (k, lane) is at data[laneOffsets[lane] + kOffsets[k]], in elements of `type`. A lane
// offset of kZeroLane makes a lane of zeros.
struct PanelSource {
  const void* data;
  ElementType type;
  int lanes;
  const int64_t* laneOffsets;
  const int64_t* kOffsets;
  int64_t kc;
  bool lanesContiguous;  // laneOffsets[i] == laneOffsets[0] + i, none is kZeroLane
  // kOffsets grows by 1 inside runs of kRun steps; the first run is kPhase steps shorter.
  int64_t kRun;
  int64_t kPhase;
  bool isLeft = false;  // for a panel of the left operand
  bool isRun = false;   // one of several of a panel: no block is filled up behind it
};
inline constexpr int64_t kZeroLane = INT64_MIN;

// Consecutive steps of the contracted dimension: where they begin in either operand, in elements.
struct GemmRun {
  int64_t a;
  int64_t b;
  int64_t length;
  // Prefetched into the second-level cache before the first step, by tiles of f32 and f64: so many
  // pairs of cache lines, as far apart as steps of b.
  const char* ahead = nullptr;
  int64_t aheadCount = 0;
};

// A tile on operands in place: step j of a run meets a(j, r) = a[run.a + r * rowStride +
// j * stepStride] and b(j, c) = b[run.b + j * ldb + c]. Reads of b are of whole vectors: they go up
// to the next multiple of vectorLanes after `cols`. Of kBf16, a is of bf16: steps j and j + 1,
// which are neighbours there, meet both halves of b's element at run.b + j / 2 * ldb + c, and
// stepStride is that of two steps; the second half of a last odd step is 0. The same holds of
// kBytes with four steps. With `accumulate`, sums of all runs are added to those in c: f32 of some
// hundred steps at a time rounds little.
using RunTile = void (*)(const GemmRun* runs, int64_t count, const void* a, int64_t rowStride,
                         int64_t stepStride, const void* b, int64_t ldb, void* c, int64_t ldc,
                         int rows, int cols, bool accumulate);

// What multiplies numbers of one domain by one instruction set. Constant; the functions are for any
// thread, allocate nothing and cannot fail. Sizes are in elements but where they are named bytes.
struct GemmKernels {
  int mr;  // rows of a tile of the result
  int nr;  // columns
  int vectorLanes;
  int elementBytes;         // of sums and of panels
  int stepsPerElement = 1;  // of panels; a last group of fewer steps is filled with zeros
  // Of a lane, that are packed together; what is missing of the last ones is filled with zeros.
  int elementsPerBlock = 1;
  // Of a lane: the most that a panel should hold for a block of the contracted dimension.
  int maxPanelElements = 512;
  // Whether sums are better collected in memory of their own than in rows far apart.
  bool wantsNearSums = false;
  // Whether blocked products take rows of the left operand where they lie, by runTile.
  bool takesRowsInPlace = false;
  int stepsPerBlock() const { return stepsPerElement * elementsPerBlock; }
  // Of a panel of `width` lanes for so many steps, with what packing may write past it; a multiple
  // of 64.
  int64_t panelBytes(int width, int64_t steps) const;

  // Null, or called on a thread before it computes tiles and when it has done so.
  void (*begin)();
  void (*end)();

  void (*pack)(void* panel, int width, const PanelSource& source);

  // c[r * ldc + j] = (accumulate ? c[r * ldc + j] : 0) + sum over k of a(k, r) * b(k, j) for packed
  // panels a and b of width mr and nr and rows <= mr, cols <= nr.
  void (*tile)(int64_t kc, const void* a, const void* b, void* c, int64_t ldc, int rows, int cols,
               bool accumulate);

  // Null but for kF32 with hardware conversions: f16 from sums.
  void (*storeHalves)(const float* sums, int64_t count, uint16_t* result);
  // Null but for kBf16: bf16 from sums.
  void (*storeBfloats)(const float* sums, int64_t count, uint16_t* result);

  // Null but for kF32, kF64, kBf16 and, on some machines, kBytes.
  RunTile runTile;
  // Null but for kF32 and kF64 where tiles have few rows: as runTile where stepStride is 1, for up
  // to half as many rows and three or four whole vectors of columns.
  RunTile runWideTile;
  // Null but for kBf16: as runTile of kF32, elements of both operands being pairs of steps.
  RunTile runTileOfPairs;
  // Null but for kBf16: as runTile without `accumulate`, which is ignored, with c of bf16.
  RunTile runTileToBfloats;

  // Null but for kBf16 where takesRowsInPlace: out[r * rowStride + k] = data[offsets[k] + r] for
  // `rows` rows and `steps` steps of 16 bits, 0 where offsets[k] is kZeroLane. Writes up to the
  // next multiple of 8 steps.
  void (*transpose)(const uint16_t* data, const int64_t* offsets, int64_t steps, int64_t rows,
                    void* out, int64_t rowStride);

  // Null but for kF32 and kF64.
  // c[j] = sum over k of x[k * xStride] * b[k * ldb + j], kc > 0. Of a matrix that isNearMatrix, n
  // is at least vectorLanes, and columns must be computed together: how a sum is rounded depends on
  // its place.
  void (*rowTimesMatrix)(int64_t kc, const void* x, int64_t xStride, const void* b, int64_t ldb,
                         void* c, int64_t n);
  // Null but for kBf16: the same of rows <= 4, x[i * xRow + k * xStride] and c[i * cRow + j], of
  // operands of bf16.
  void (*rowsTimesMatrix)(int64_t kc, const void* x, int64_t xRow, int64_t xStride, int rows,
                          const void* b, int64_t ldb, void* c, int64_t cRow, int64_t n);
  // Null but for kF32, kF64 and kBf16, of which operands are of bf16.
  // c[i * cRow + j * cCol] = sum over k of a[i * lda + k] * b[j * ldb + k], i < rows <= 4, any
  // cols, kc at least vectorLanes but for kBf16.
  void (*dotProducts)(int64_t kc, const void* a, int64_t lda, int rows, const void* b, int64_t ldb,
                      int64_t cols, void* c, int64_t cRow, int64_t cCol);
};

// For the instruction set of this machine; the domain must be available.
const GemmKernels& gemmKernels(GemmDomain domain);
// Whether this machine has kernels for the domain.
bool isAvailable(GemmDomain domain);

// Writes `count` sums of the domain as elements of `type`, from result[index] on.
void storeSums(GemmDomain domain, const void* sums, int64_t count, ElementType type, void* result,
               int64_t index);

// The same of rows of sums, `ldSums` apart, to rows `rowStride` apart.
void storeSumRows(GemmDomain domain, const void* sums, int64_t ldSums, int64_t rows,
                  int64_t columns, ElementType type, void* result, int64_t index,
                  int64_t rowStride);

namespace v2 {
const GemmKernels* gemmKernelTable();
}
namespace v3 {
const GemmKernels* gemmKernelTable();
}
namespace v4 {
const GemmKernels* gemmKernelTable();
}
// Null for domains that the instructions are not for.
namespace v4_vnni {
const GemmKernels* gemmKernelsFor(GemmDomain domain);
}
namespace v4_bf16 {
const GemmKernels* gemmKernelsFor(GemmDomain domain);
}
namespace v4_amx {
const GemmKernels* gemmKernelsFor(GemmDomain domain);
}

}  // namespace isthmus::cpu

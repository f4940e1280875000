// Products whose cost is reading an operand or calling functions, not multiplying: vectors, few
// rows, tiny matrices, operands that are near.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "backends/cpu/kernels/cache_sizes.h"
#include "backends/cpu/kernels/gemm/dot_job.h"
#include "backends/cpu/kernels/gemm/dot_matrices.h"
#include "backends/cpu/kernels/gemm/few_rows.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

// Long rows that meet all gathered ones before the next are read.
constexpr int64_t kLongRowsAtOnce = 8;
// Long rows that are read side by side, and how many steps of them before other columns' turn.
constexpr int64_t kForeseenRows = 8;
constexpr int64_t kStepsAtOnce = 512;
// Between which prefetches are made.
constexpr int64_t kStepsOfPiece = 32;
constexpr int64_t kMaxPieces = 16;
// Of rows that meet columns: summed before they are added to those before, and copied at a time.
constexpr int64_t kSummedSteps = 256;
// Tiles of rows for which columns are packed that lie near.
constexpr int64_t kTilesToPack = 8;
// Panels of columns for which rows are copied that lie near.
constexpr int64_t kPanelsToCopy = 4;
// Of `columns` columns, how many are tiles of whole vectors: what is left is one tile of its own.
int64_t wholeColumns(const GemmKernels& kernels, int64_t columns) {
  const int64_t rest = columns % kernels.nr;
  return rest == kernels.vectorLanes ? columns : columns - rest;
}

// Packs steps [k, k + kc) of `cols` columns, at most a panel's width, on the stack.
void packColumns(const GemmKernels& kernels, ElementType type, const Matrices& x, int64_t column,
                 int cols, int64_t k, int64_t kc, char* panel) {
  int64_t kOffsets[kStackBytes / 32], laneOffsets[kMaxGemmLanes];
  for (int64_t i = 0; i < kc; ++i) kOffsets[i] = (k + i) * x.bStep;
  for (int i = 0; i < cols; ++i) laneOffsets[i] = (column + i) * x.bCol;
  kernels.pack(panel, kernels.nr,
               {x.b, type, cols, laneOffsets, kOffsets, kc, cols > 1 && x.bCol == 1,
                x.bStep == 1 ? kc : 1, 0});
}

// Whether the rows of a tile lie so that a first-level cache of eight ways holds a line of few of
// them.
bool rowsShareSets(const GemmKernels& kernels, const Matrices& x) {
  return x.aStep == 1 && x.aRow * kernels.elementBytes % kPageBytes == 0 &&
         std::min<int64_t>(x.m, kernels.mr) > kForeseenRows;
}

// The same of the steps of an operand that are so many elements apart.
bool stepsShareSets(const GemmKernels& kernels, int64_t steps, int64_t stride) {
  const int64_t apart = std::gcd(stride * kernels.elementBytes, kPageBytes);
  return steps > kForeseenRows * (kPageBytes / std::max(apart, kCacheLineBytes));
}

// Steps [k, k + kc) of all rows of the left operand, `stride` elements apart.
void copyRows(const GemmKernels& kernels, const Matrices& x, int64_t k, int64_t kc, int64_t stride,
              char* to) {
  const int64_t bytes = kernels.elementBytes;
  for (int64_t row = 0; row < x.m; ++row) {
    std::memcpy(to + row * stride * bytes, x.a + (row * x.aRow + k) * bytes,
                static_cast<size_t>(kc * bytes));
  }
}

// Whether operands are so near, and columns whole vectors, that runTiny does what runDirect would.
bool isTiny(const GemmKernels& kernels, const Matrices& x) {
  const int64_t bytes = kernels.elementBytes;
  return x.m * x.k * bytes <= kTinyBytes && x.k * x.n * bytes <= kTinyBytes && x.bCol == 1 &&
         x.cCol == 1 && x.k * x.bStep * bytes <= kStripBytes && wholeColumns(kernels, x.n) == x.n &&
         !rowsShareSets(kernels, x);
}

// Columns [begin, end) of one item that isTiny: where there are many such items, deciding how costs
// more than multiplying.
void runTiny(const GemmKernels& kernels, const Matrices& x, int64_t begin, int64_t end) {
  const int64_t bytes = kernels.elementBytes;
  const int nr = kernels.nr;
  const auto m = static_cast<unsigned>(x.m), mr = static_cast<unsigned>(kernels.mr);
  // Of nearly equal size.
  const unsigned tiles = m <= mr ? 1 : m <= 2 * mr ? 2 : (m + mr - 1) / mr;
  const unsigned tileRows = tiles <= 2 ? (m + tiles - 1) >> (tiles - 1) : (m + tiles - 1) / tiles;
  for (int64_t row = 0; row < x.m; row += tileRows) {
    const auto rows = static_cast<int>(std::min<int64_t>(tileRows, x.m - row));
    for (int64_t column = begin; column < end; column += nr) {
      const GemmRun run{row * x.aRow, column, x.k};
      kernels.runTile(&run, 1, x.a, x.aRow, x.aStep, x.b, x.bStep,
                      x.c + (row * x.cRow + column) * bytes, x.cRow, rows,
                      static_cast<int>(std::min<int64_t>(nr, end - column)), false);
    }
  }
}

// Element (row, i) of the left operand to to[row * rowStride + i * step].
template <typename Bits>
void copyElements(const Matrices& x, Bits* to, int64_t rowStride, int64_t step) {
  const auto* from = reinterpret_cast<const Bits*>(x.a);
  for (int64_t row = 0; row < x.m; ++row) {
    for (int64_t i = 0; i < x.k; ++i) {
      to[row * rowStride + i * step] = from[row * x.aRow + i * x.aStep];
    }
  }
}

void copyElements(const GemmKernels& kernels, const Matrices& x, char* to, int64_t rowStride,
                  int64_t step) {
  if (kernels.elementBytes == sizeof(uint32_t)) {
    copyElements(x, reinterpret_cast<uint32_t*>(to), rowStride, step);
  } else {
    copyElements(x, reinterpret_cast<uint64_t*>(to), rowStride, step);
  }
}

// Columns [begin, end) of one item, some columns after the other.
void runDirect(RunServices& services, const GemmKernels& kernels, ElementType type,
               const Matrices& x, int64_t begin, int64_t end) {
  const int64_t bytes = kernels.elementBytes;
  const int mr = kernels.mr, nr = kernels.nr, lanes = kernels.vectorLanes;
  const bool inPlace = x.bCol == 1;
  // Few steps at a time keep the pages of b near, and rounding small. How many depends on nothing
  // that threads divide, since it decides how sums are rounded.
  int64_t stepsAtOnce = std::min(x.k, kSummedSteps);
  if (inPlace && x.k * x.bStep * bytes > kStripBytes + kStripBytes / 2) {
    stepsAtOnce = std::clamp<int64_t>(kStripBytes / (x.bStep * bytes), 32, stepsAtOnce);
  }
  // Rows that push each other out of the cache are copied, a few steps of them at a time.
  const bool wantsCopy = rowsShareSets(kernels, x) && end - begin >= 2 * nr;
  char none;
  Scratch<char> copied(services, wantsCopy ? x.m * (kSummedSteps * bytes + kCacheLineBytes) : 1,
                       &none, 1);
  const bool copies = wantsCopy && copied;
  const char* a = copies ? copied.data() : x.a;
  const int64_t aRow = copies ? kSummedSteps + kCacheLineBytes / bytes : x.aRow;
  const bool isFar = x.k * x.bStep * bytes > kStripBytes;
  const int64_t tiles = (x.m + mr - 1) / mr;
  const int64_t wholeEnd = inPlace ? begin + wholeColumns(kernels, end - begin) : begin;
  // Whole vectors of the last columns reach into the next row: but in the last ones, they may.
  int64_t tailSteps = 0;
  if (inPlace && wholeEnd < end && x.bStep > 0) {
    const int64_t spare = x.bReadable - wholeEnd - (end - wholeEnd > lanes ? nr : lanes);
    if (spare >= 0) tailSteps = std::min(x.k, spare / x.bStep + 1);
  }
  auto strip = [&](int64_t column, int cols, int64_t k, int64_t kc, int64_t prefetched) {
    // The next columns, which the processor does not foresee over pages, a few steps of them at a
    // time: more would wait for each other. Into the second-level cache: steps that are pages apart
    // share the sets of the first, and would push each other out before they are read.
    const int64_t pieces = isFar ? std::clamp<int64_t>(kc / kStepsOfPiece, 1, kMaxPieces) : 1;
    const bool wraps = prefetched >= wholeEnd;
    const int64_t firstAhead = k + (wraps ? kc : 0);
    const int64_t stepsAhead = isFar ? std::clamp<int64_t>(x.k - firstAhead, 0, kc) : 0;
    const char* ahead = x.b + (firstAhead * x.bStep + (wraps ? begin : prefetched)) * bytes;
    GemmRun runs[kMaxPieces];
    for (int64_t tile = 0; tile < tiles; ++tile) {
      // Of nearly equal size.
      const int64_t row = x.m * tile / tiles, rowEnd = x.m * (tile + 1) / tiles;
      const int64_t aBegin = copies ? row * aRow : row * aRow + k * x.aStep;
      for (int64_t i = 0; i < pieces; ++i) {
        const int64_t first = kc * i / pieces, last = kc * (i + 1) / pieces;
        const int64_t piece = tile * pieces + i, allPieces = tiles * pieces;
        const int64_t begun = stepsAhead * piece / allPieces;
        runs[i] = {aBegin + first * x.aStep, (k + first) * x.bStep + column, last - first,
                   ahead + begun * x.bStep * bytes, stepsAhead * (piece + 1) / allPieces - begun};
      }
      kernels.runTile(runs, pieces, a, aRow, x.aStep, x.b, x.bStep,
                      x.c + (row * x.cRow + column) * bytes, x.cRow, static_cast<int>(rowEnd - row),
                      cols, k > 0);
    }
  };
  for (int64_t k = 0; k < x.k; k += stepsAtOnce) {
    const int64_t kc = std::min(stepsAtOnce, x.k - k);
    if (copies) copyRows(kernels, x, k, kc, aRow, copied.data());
    for (int64_t column = begin; column < wholeEnd;) {
      const int cols = wholeEnd - column >= nr ? nr : lanes;
      strip(column, cols, k, kc, column + cols);
      column += cols;
    }
    if (k < tailSteps) {
      strip(wholeEnd, static_cast<int>(end - wholeEnd), k, std::min(kc, tailSteps - k), wholeEnd);
    }
  }
  if (wholeEnd == end) return;
  // The rest, or everything when columns are not contiguous, from packed panels.
  alignas(64) char panel[kStackBytes + kPanelSlackBytes];
  const int64_t steps = kStackBytes / (nr * bytes);
  for (int64_t k = tailSteps; k < x.k; k += steps) {
    const int64_t kc = std::min(steps, x.k - k);
    for (int64_t column = wholeEnd; column < end; column += nr) {
      const int cols = static_cast<int>(std::min<int64_t>(nr, end - column));
      packColumns(kernels, type, x, column, cols, k, kc, panel);
      for (int64_t row = 0; row < x.m; row += mr) {
        const GemmRun run{row * x.aRow + k * x.aStep, 0, kc};
        kernels.runTile(&run, 1, x.a, x.aRow, x.aStep, panel, nr,
                        x.c + (row * x.cRow + column) * bytes, x.cRow,
                        static_cast<int>(std::min<int64_t>(mr, x.m - row)), cols, k > 0);
      }
    }
  }
}

// The same where columns of the result lie as its rows should: some of them at a time are stored
// transposed.
void runDirectTransposed(RunServices& services, const GemmKernels& kernels, ElementType type,
                         const Matrices& x, int64_t begin, int64_t end) {
  const int64_t bytes = kernels.elementBytes;
  alignas(64) char sums[kStackBytes];
  const int64_t atOnce = kStackBytes / (x.m * bytes) / kernels.nr * kernels.nr;
  for (int64_t column = begin; column < end; column += atOnce) {
    Matrices part = x;
    part.n = std::min(atOnce, end - column);
    part.b += column * x.bCol * bytes;
    part.bReadable -= column * x.bCol;
    part.c = sums;
    part.cRow = part.n;
    part.cCol = 1;
    runDirect(services, kernels, type, part, 0, part.n);
    Matrices stored = part;
    stored.a = sums, stored.m = part.n, stored.k = x.m, stored.aRow = 1, stored.aStep = part.n;
    copyElements(kernels, stored, x.c + column * x.cCol * bytes, x.cCol, x.cRow);
  }
}

// The same for few steps, some rows after the other, so that the result is written as it lies.
void runRowByRow(RunServices& services, const GemmKernels& kernels, ElementType type,
                 const Matrices& x, int64_t begin, int64_t end) {
  const int64_t bytes = kernels.elementBytes;
  const int mr = kernels.mr, nr = kernels.nr;
  const int64_t tiles = (x.m + mr - 1) / mr;
  const int64_t panelBytes = x.k * nr * bytes;
  // Each row reads these columns of b again.
  const int64_t near = std::max<int64_t>(nr, kReusedColumnBytes / (x.k * bytes) / nr * nr);
  // For many rows, columns are packed whose steps push each other out of the cache. The last
  // columns are packed in any case, unless they are whole vectors.
  const bool packsAll = tiles >= kTilesToPack && stepsShareSets(kernels, x.k, x.bStep);
  const int64_t wholeEnd = begin + wholeColumns(kernels, end - begin);
  alignas(64) char local[kStackBytes + kPanelSlackBytes];
  const int64_t panels = packsAll ? (std::min(near, end - begin) + nr - 1) / nr : 1;
  Scratch<char> scratch(services, panels * panelBytes + kPanelSlackBytes, local, sizeof(local));
  const int64_t packedBegin = packsAll && scratch ? begin : wholeEnd;
  char* const packed = scratch ? scratch.data() : local;
  // A tile of rows that do so is copied for many columns.
  const bool copiesRows =
      x.aRow == 1 && end - begin >= kPanelsToCopy * nr && stepsShareSets(kernels, x.k, x.aStep);
  alignas(64) char copiedRows[kFewSteps * kMaxGemmLanes * sizeof(double)];
  for (int64_t first = begin; first < end; first += near) {
    const int64_t last = std::min(end, first + near);
    const int64_t firstPacked = std::max(first, packedBegin);
    for (int64_t column = firstPacked; column < last; column += nr) {
      packColumns(kernels, type, x, column, static_cast<int>(std::min<int64_t>(nr, last - column)),
                  0, x.k, packed + (column - firstPacked) / nr * panelBytes);
    }
    for (int64_t i = 0; i < tiles; ++i) {
      // Of nearly equal size.
      const int64_t row = x.m * i / tiles;
      const int rows = static_cast<int>(x.m * (i + 1) / tiles - row);
      char* c = x.c + row * x.cRow * bytes;
      const char* a = x.a + row * x.aRow * bytes;
      int64_t aStep = x.aStep;
      if (copiesRows) {
        for (int64_t k = 0; k < x.k; ++k) {
          std::memcpy(copiedRows + k * rows * bytes, a + k * aStep * bytes,
                      static_cast<size_t>(rows * bytes));
        }
        a = copiedRows;
        aStep = rows;
      }
      for (int64_t column = first; column < last;) {
        const bool isPacked = column >= firstPacked;
        const int64_t stop = isPacked ? last : std::min(last, firstPacked);
        const int64_t cols = std::min<int64_t>(nr, stop - column);
        const GemmRun run{0, isPacked ? 0 : column, x.k};
        kernels.runTile(&run, 1, a, x.aRow, aStep,
                        isPacked ? packed + (column - firstPacked) / nr * panelBytes : x.b,
                        isPacked ? nr : x.bStep, c + column * bytes, x.cRow, rows,
                        static_cast<int>(cols), false);
        column += cols;
      }
    }
  }
}

// All of an item with few columns and long rows: few rows at a time, in place, so that the
// processor foresees each row. Rows that are read again for other columns go a piece of the steps
// after the other, for rows that lie a power of two apart push each other out of a cache of eight
// ways; and memory waits while they are read again, so that tiles have all columns where they can.
// (Copies of the rows, with prefetches of our own, measured a quarter to a half slower, and
// transposing them costs as much as multiplying.)
void runFewRows(const GemmKernels& kernels, const Matrices& x) {
  const int64_t bytes = kernels.elementBytes;
  const bool isWide = kernels.runWideTile && x.n > kernels.nr;
  const RunTile runTile = isWide ? kernels.runWideTile : kernels.runTile;
  const int64_t tileColumns = isWide ? x.n : kernels.nr;
  const int64_t tileRows = isWide ? kernels.mr / 2 : std::min<int64_t>(kernels.mr, kForeseenRows);
  const int64_t tiles = (x.m + tileRows - 1) / tileRows;
  // Every tile reads the columns' operand again: as much of it at a time as stays near.
  const int64_t fitting = nearOperandBytes() / (x.bStep * bytes) / kStepsAtOnce * kStepsAtOnce;
  const int64_t atOnce = std::max(fitting, kStepsAtOnce);
  for (int64_t begin = 0; begin < x.k; begin += atOnce) {
    const int64_t end = std::min(x.k, begin + atOnce);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      // Of nearly equal size.
      const int64_t row = x.m * tile / tiles;
      const auto rows = static_cast<int>(x.m * (tile + 1) / tiles - row);
      for (int64_t k = begin; k < end; k += kStepsAtOnce) {
        const GemmRun run{row * x.aRow + k, k * x.bStep, std::min(kStepsAtOnce, end - k)};
        for (int64_t column = 0; column < x.n; column += tileColumns) {
          runTile(&run, 1, x.a, x.aRow, 1, x.b + column * bytes, x.bStep,
                  x.c + (row * x.cRow + column) * bytes, x.cRow, rows,
                  static_cast<int>(std::min(tileColumns, x.n - column)), k > 0);
        }
      }
    }
  }
}

// Copies the left operand to `to`, so that the terms of its rows lie side by side.
void gatherRows(const GemmKernels& kernels, Matrices& x, char* to) {
  copyElements(kernels, x, to, x.k, 1);
  x.a = to;
  x.aRow = x.k;
  x.aStep = 1;
}

// Copies the right operand to `to`, so that its columns are whole vectors.
void padColumns(const GemmKernels& kernels, Matrices& x, char* to) {
  const int64_t columns = paddedColumns(kernels, x);
  std::memset(to, 0, static_cast<size_t>(x.k * columns * kernels.elementBytes));
  copyElements(kernels, transposed(x), to, 1, columns);
  x.b = to;
  x.bStep = columns;
  x.bCol = 1;
}

// Of a form that wants a narrow operand other than it lies: how many elements it has then. 0 if it
// wants none, or the operand lies so.
int64_t narrowElements(const GemmKernels& kernels, DotForm form, const Matrices& x) {
  if (form == DotForm::kDotProducts && x.aStep != 1) return x.m * x.k;
  if (form == DotForm::kFewColumns && padsColumns(kernels, x)) {
    return x.k * paddedColumns(kernels, x);
  }
  return 0;
}

void copyNarrow(const GemmKernels& kernels, DotForm form, Matrices& x, char* to) {
  if (form == DotForm::kDotProducts) return gatherRows(kernels, x, to);
  padColumns(kernels, x, to);
}

// Columns [begin, end) of an item whose rows and columns are rows in memory.
void runDotProducts(const GemmKernels& kernels, const Matrices& x, int64_t begin, int64_t end) {
  const int64_t bytes = kernels.elementBytes;
  const int64_t atOnce = x.m > kMaxDotRows ? kLongRowsAtOnce : end - begin;
  for (int64_t column = begin; column < end; column += atOnce) {
    const int64_t columns = std::min(atOnce, end - column);
    for (int64_t row = 0; row < x.m; row += kMaxDotRows) {
      kernels.dotProducts(x.k, x.a + row * x.aRow * bytes, x.aRow,
                          static_cast<int>(std::min(kMaxDotRows, x.m - row)),
                          x.b + column * x.bCol * bytes, x.bCol, columns,
                          x.c + (row * x.cRow + column * x.cCol) * bytes, x.cRow, x.cCol);
    }
  }
}

void runForm(RunServices& services, const GemmKernels& kernels, ElementType type, DotForm form,
             const Matrices& x, int64_t begin, int64_t end) {
  const int64_t bytes = kernels.elementBytes;
  switch (form) {
    case DotForm::kRowTimesMatrix:
      return kernels.rowTimesMatrix(x.k, x.a, x.aStep, x.b + begin * bytes, x.bStep,
                                    x.c + begin * bytes, end - begin);
    case DotForm::kDotProducts:
      return runDotProducts(kernels, x, begin, end);
    case DotForm::kDirect:
      return x.cCol == 1 ? runDirect(services, kernels, type, x, begin, end)
                         : runDirectTransposed(services, kernels, type, x, begin, end);
    case DotForm::kRowByRow:
      return runRowByRow(services, kernels, type, x, begin, end);
    case DotForm::kFewColumns:
      return runFewRows(kernels, x);
    case DotForm::kUndecided:
    case DotForm::kBlocked:
      return;
  }
}

void runColumns(RunServices& services, const GemmKernels& kernels, ElementType type, DotForm form,
                const Matrices& x, int64_t begin, int64_t end) {
  if (x.isOnly || narrowElements(kernels, form, x) == 0) {
    return runForm(services, kernels, type, form, x, begin, end);
  }
  alignas(64) char narrow[kNarrowBytes];
  Matrices copied = x;
  copyNarrow(kernels, form, copied, narrow);
  runForm(services, kernels, type, form, copied, begin, end);
}

struct Job {
  RunServices& services;
  const GemmKernels& kernels;
  const DotProblem& p;
  ElementType type;
  DotForm form;
  Matrices item;
  int64_t rowParts;
  int64_t columnParts;
  int64_t columnsPerPart;
  bool isTinyItem;

  void compute(const Matrices& x, int64_t begin, int64_t end) const {
    if (isTinyItem) return runTiny(kernels, x, begin, end);
    runColumns(services, kernels, type, form, x, begin, end);
  }
  void finish(int64_t rowBegin, int64_t rowEnd, int64_t colBegin, int64_t colEnd) const {
    const char* sums =
        static_cast<const char*>(p.result) + (rowBegin * p.cols + colBegin) * kernels.elementBytes;
    p.epilogue(p.buffers, rowBegin, rowEnd, colBegin, colEnd, sums, p.cols);
  }

  void operator()(int64_t begin, int64_t end) const {
    const int64_t bytes = kernels.elementBytes;
    for (int64_t task = begin; task < end; ++task) {
      const bool isWhole = rowParts * columnParts == 1;
      const int64_t batch = isWhole ? task : task / (rowParts * columnParts);
      const int64_t part = isWhole ? 0 : task / columnParts % rowParts;
      Matrices x = item;
      const DotOffsets offsets = groupOffset(p.batch, batch);
      x.bReadable -= x.swapped ? offsets.lhs : offsets.rhs;
      const int64_t rowBegin = isWhole ? 0 : item.m * part / rowParts;
      const int64_t rowEnd = isWhole ? item.m : item.m * (part + 1) / rowParts;
      x.m = rowEnd - rowBegin;
      x.a += ((x.swapped ? offsets.rhs : offsets.lhs) + rowBegin * x.aRow) * bytes;
      x.b += (x.swapped ? offsets.lhs : offsets.rhs) * bytes;
      x.c += (batch * p.rows * p.cols + rowBegin * x.cRow) * bytes;
      const int64_t first = isWhole ? 0 : task % columnParts * columnsPerPart;
      const int64_t last = std::min(x.n, first + columnsPerPart);
      if (!p.epilogue) {
        compute(x, first, last);
        continue;
      }
      const int64_t row = batch * p.rows;
      const int64_t atOnce = form == DotForm::kDirect ? kFinishColumns : last - first;
      for (int64_t column = first; column < last; column += atOnce) {
        const int64_t end = std::min(last, column + atOnce);
        compute(x, column, end);
        if (x.swapped) {
          finish(row + column, row + end, rowBegin, rowEnd);
        } else {
          finish(row + rowBegin, row + rowEnd, column, end);
        }
      }
    }
  }
};

}  // namespace

bool isNearVectorDot(const DotDescriptor& dot, DotForm form, GemmDomain domain) {
  if (dot.batchRank != 0 || dot.mRank + dot.nRank != 1 || dot.kRank != 1) return false;
  if (dot.sumsBuffer < 0) return false;
  const DotDimension free = dot.dims[0], k = dot.dims[1];
  const ElementType type = floatTypeOf(domain);
  if (dot.lhsType != type || dot.rhsType != type || dot.resultType != type || k.size == 0 ||
      worthThreads(4 * static_cast<double>(free.size) * static_cast<double>(k.size))) {
    return false;
  }
  const bool isLeft = dot.mRank == 1;
  const int64_t freeStride = isLeft ? free.lhsStride : free.rhsStride;
  const int64_t stepStride = isLeft ? k.lhsStride : k.rhsStride;
  const int64_t vectorStride = isLeft ? k.rhsStride : k.lhsStride;
  const int64_t lanes = gemmKernels(domain).vectorLanes;
  if (form == DotForm::kRowTimesMatrix) return freeStride == 1 && free.size >= lanes;
  return form == DotForm::kDotProducts && stepStride == 1 && vectorStride == 1 && k.size >= lanes;
}

bool runNearVectorDot(const DotDescriptor& dot, DotForm form, void* const* buffers,
                      GemmDomain domain) {
  if ((dot.flags & kDotHasEpilogue) && sumsShareMemory(dot, buffers)) return false;
  const DotDimension free = dot.dims[0], k = dot.dims[1];
  const GemmKernels& kernels = gemmKernels(domain);
  const bool isLeft = dot.mRank == 1;
  const void* matrix = buffers[isLeft ? dot.lhsBuffer : dot.rhsBuffer];
  const void* vector = buffers[isLeft ? dot.rhsBuffer : dot.lhsBuffer];
  void* result = buffers[dot.sumsBuffer];
  if (form == DotForm::kRowTimesMatrix) {
    kernels.rowTimesMatrix(k.size, vector, isLeft ? k.rhsStride : k.lhsStride, matrix,
                           isLeft ? k.lhsStride : k.rhsStride, result, free.size);
  } else {
    kernels.dotProducts(k.size, vector, 0, 1, matrix, isLeft ? free.lhsStride : free.rhsStride,
                        free.size, result, 0, 1);
  }
  if (dot.flags & kDotHasEpilogue) {
    const int64_t rows = isLeft ? free.size : 1, columns = isLeft ? 1 : free.size;
    reinterpret_cast<SumsEpilogue>(buffers[dot.epilogueBuffer])(buffers, 0, rows, 0, columns,
                                                                result, columns);
  }
  return true;
}

bool runSkinnyDot(RunServices& services, const DotProblem& problem, const DotChoice& choice,
                  GemmDomain domain) {
  DotProblem p = problem;
  const ElementType type = floatTypeOf(domain);
  const GemmKernels& kernels = gemmKernels(domain);
  const DotForm form = choice.form;
  Matrices item = itemOf(p);
  if (choice.isSwapped) item = transposed(item);
  std::optional<Scratch<char>> sums;
  if (!p.result) {
    if (!isRoomForSums(p, kernels)) return false;
    sums.emplace(services, p.batches * p.rows * p.cols * kernels.elementBytes);
    if (!*sums) return false;
    p.result = sums->data();
    item.c = sums->data();
  }

  // Once for all threads, where they share an item.
  std::optional<Scratch<char>> narrow;
  if (const int64_t elements = narrowElements(kernels, form, item); elements != 0 && item.isOnly) {
    narrow.emplace(services, elements * kernels.elementBytes);
    if (!*narrow) return false;
    copyNarrow(kernels, form, item, narrow->data());
  }
  const bool tiny = form == DotForm::kDirect && isTiny(kernels, item);
  Job job{services, kernels, p, type, form, item, 1, 1, item.n, tiny};
  const int64_t tiles = (item.m + kernels.mr - 1) / kernels.mr;
  if (const int64_t bytes = item.m * item.k * kernels.elementBytes;
      form == DotForm::kDirect && bytes > 2 * secondLevelParts().reused &&
      isRightNear(kernels, item)) {
    job.rowParts = std::min(tiles, bytes / secondLevelParts().reused);
  }
  const double work = static_cast<double>(p.batches) * static_cast<double>(item.m) *
                      static_cast<double>(item.n) * static_cast<double>(item.k);
  const int threads = services.numThreads();
  // Few rows or steps are bound by memory more than by arithmetic, so fewer operations fill a
  // thread.
  const bool readsOnce = form != DotForm::kDirect || item.m <= kernels.mr;
  if (threads == 1 || !worthThreads(readsOnce ? 4 * work : work)) {
    job(0, p.batches * job.rowParts);
    return true;
  }
  if (p.batches < 2 * threads) {
    // Rows that are read piecewise stay in long pieces: pages cost more than waiting for a thread.
    const int64_t perThread = form == DotForm::kRowTimesMatrix ? 1 : 4;
    const int64_t wanted = (perThread * threads + p.batches - 1) / p.batches;
    const bool byRows = form == DotForm::kRowByRow || form == DotForm::kFewColumns;
    if (byRows) job.rowParts = std::min(tiles, wanted);
    const int64_t unit = std::max<int64_t>(kernels.nr, 64);
    const int64_t wantedColumns = (wanted + job.rowParts - 1) / job.rowParts;
    const bool isNear =
        form == DotForm::kRowTimesMatrix && isNearMatrix(item.k, item.bStep * kernels.elementBytes);
    if (form != DotForm::kFewColumns && !isNear) {
      job.columnsPerPart = std::max(unit, (item.n / wantedColumns + unit - 1) / unit * unit);
    }
    job.columnParts = (item.n + job.columnsPerPart - 1) / job.columnsPerPart;
    if (form == DotForm::kDirect && job.columnParts < wanted) {
      job.rowParts = std::min(tiles, (wanted + job.columnParts - 1) / job.columnParts);
    }
  }
  // Rows that push each other out of the cache are copied once for all threads' columns, some of
  // them by each.
  std::optional<Scratch<char>> apart;
  if (form == DotForm::kDirect && p.batches == 1 && job.columnParts > 1 &&
      rowsShareSets(kernels, item) && item.m * item.k * kernels.elementBytes <= kStripBytes) {
    const int64_t bytes = kernels.elementBytes, stride = item.k + kCacheLineBytes / bytes;
    apart.emplace(services, item.m * stride * bytes);
    if (*apart) {
      const int64_t rowsOfThread = (item.m + threads - 1) / threads;
      parallelFor(services, item.m, rowsOfThread, [&](int64_t begin, int64_t end) {
        Matrices rows = item;
        rows.a += begin * item.aRow * bytes;
        rows.m = end - begin;
        copyRows(kernels, rows, 0, item.k, stride, apart->data() + begin * stride * bytes);
      });
      job.item.a = apart->data();
      job.item.aRow = stride;
    }
  }
  const int64_t tasks = p.batches * job.rowParts * job.columnParts;
  parallelFor(services, tasks, std::max<int64_t>(1, tasks / (8 * threads)), job);
  return true;
}

}  // namespace isthmus::cpu

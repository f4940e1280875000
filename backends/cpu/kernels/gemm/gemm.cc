// Cache blocking and the division of work between threads for matrix multiplication.
//
// Tiles of the result are computed from packed panels. The contracted dimension is cut into blocks
// of maxPanelElements or less, so that a panel of b stays in the first-level cache while it meets
// all panels of a block of a, which stays in the second-level cache.
#include "backends/cpu/kernels/gemm/gemm.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "backends/cpu/kernels/cache_sizes.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "base/integer_math.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

constexpr int64_t kBlockRows = 120;
// Columns of sums that are collected at a time when the result is not of their type.
constexpr int64_t kScratchColumns = 1024;
// Rows of a block of a that is not packed.
constexpr int64_t kMinRowsInPlace = 64;
constexpr int64_t kMaxRowsInPlace = 256;
constexpr int64_t kAlignment = 64;

struct Range {
  int64_t begin;
  int64_t end;
};

// Everything that the parts below share about one call.
struct Plan {
  const GemmJob& job;
  const GemmKernels& kernels;
  RunServices& services;
  bool isLeftInPlace;
  bool needsSums;  // collected in scratch memory
  int64_t kBlocks;
  int64_t kStep;
  std::atomic<bool> outOfMemory{false};

  Plan(RunServices& services, const GemmJob& job)
      : job(job), kernels(gemmKernels(job.domain)), services(services) {
    int64_t stride;
    isLeftInPlace = job.leftInPlace(0, &stride) != nullptr;
    const int64_t steps = kernels.stepsPerElement *
                          std::min<int64_t>(kernels.maxPanelElements,
                                            kMaxPanelBytes / (kernels.nr * kernels.elementBytes));
    // Up to half as long again is better than a short block.
    kBlocks = std::max<int64_t>(1, (job.k + steps / 2) / steps);
    kStep = kBlocks == 1 ? job.k
                         : roundUp(ceilDiv(job.k, kBlocks), std::max(16, kernels.stepsPerBlock()));
    kBlocks = std::max<int64_t>(1, job.k == 0 ? 1 : ceilDiv(job.k, kStep));
    needsSums = (kernels.wantsNearSums && kBlocks > 1) || job.directResult(0, &stride) == nullptr;
  }

  int64_t panelBytes(int width) const { return kernels.panelBytes(width, kStep); }
  Range kRange(int64_t block) const {
    return {block * kStep, std::min(job.k, (block + 1) * kStep)};
  }
  // Of a: what rows take that are packed, or where they lie.
  int64_t rowsBytes(int64_t rows) const {
    return ceilDiv(rows, kernels.mr) * panelBytes(kernels.mr);
  }

  // Columns of sums that are collected at a time, and elements from one of their rows to the next:
  // rows a power of two apart would meet in few sets of a cache.
  int64_t sumsColumns(int64_t rows, int64_t columns) const {
    int64_t most = kScratchColumns;
    if (kernels.wantsNearSums) {
      most = std::clamp<int64_t>(kNearSumsBytes / (rows * kernels.elementBytes), kernels.nr,
                                 kFinishColumns);
    }
    return std::min(columns, most / kernels.nr * kernels.nr);
  }
  int64_t sumsStride(int64_t columns) const {
    return kernels.wantsNearSums ? roundUp(columns, kernels.vectorLanes) + kernels.vectorLanes
                                 : columns;
  }
};

// Memory of one thread: rows of a for some blocks of k, one panel of b and, if needed, the sums.
struct BlockMemory {
  char* a;
  char* b;
  char* sums;
  int64_t rows;  // that it is for
  int64_t aBlocks;
  bool hasPackedA = false;

  // For how many of `blocks` blocks of k rows of a are packed at once: all of them, so that the
  // columns of the result can be computed some at a time, or one.
  static int64_t aBlocksOf(const Plan& plan, int64_t rows, int64_t blocks) {
    return blocks * aBytes(plan, rows) <= kPackedRowsBytes ? blocks : 1;
  }
  static int64_t aBytes(const Plan& plan, int64_t rows) {
    return plan.isLeftInPlace ? 0 : plan.rowsBytes(rows);
  }
  static int64_t bytes(const Plan& plan, int64_t rows, int64_t columns, int64_t blocks) {
    return aBlocksOf(plan, rows, blocks) * aBytes(plan, rows) + bytesBesideA(plan, rows, columns);
  }
  static int64_t bytesBesideA(const Plan& plan, int64_t rows, int64_t columns) {
    int64_t total = plan.panelBytes(plan.kernels.nr);
    if (plan.needsSums) {
      total += roundUp(
          rows * plan.sumsStride(plan.sumsColumns(rows, columns)) * plan.kernels.elementBytes,
          kAlignment);
    }
    return total;
  }
  // Beside all of a, which is packed already: one panel of b and the sums.
  static BlockMemory withPackedA(const Plan& plan, char* packed, char* memory) {
    BlockMemory result;
    result.a = packed;
    result.b = memory;
    result.sums = memory + plan.panelBytes(plan.kernels.nr);
    result.rows = plan.job.m;
    result.aBlocks = plan.kBlocks;
    result.hasPackedA = true;
    return result;
  }
  BlockMemory() = default;
  BlockMemory(const Plan& plan, int64_t rows, int64_t blocks, char* memory)
      : rows(rows), aBlocks(aBlocksOf(plan, rows, blocks)) {
    a = memory;
    b = a + aBlocks * aBytes(plan, rows);
    sums = b + plan.panelBytes(plan.kernels.nr);
  }
};

// The part of b that is packed at a time: some columns for some blocks of k.
struct Part {
  Range columns;
  Range blocks;

  int64_t blockCount() const { return blocks.end - blocks.begin; }
  int64_t panels(const Plan& plan) const {
    return ceilDiv(columns.end - columns.begin, plan.kernels.nr);
  }
  // Where a panel of a block of k lies in the packed part, in panels.
  int64_t position(const Plan& plan, int64_t column, int64_t block) const {
    return (column - columns.begin) / plan.kernels.nr * blockCount() + block - blocks.begin;
  }
};

// Packs the panels at positions [positions.begin, positions.end) of a part.
void packPart(const Plan& plan, int64_t batch, const Part& part, Range positions, char* packed) {
  const int nr = plan.kernels.nr;
  for (int64_t at = positions.begin; at < positions.end; ++at) {
    const int64_t column = part.columns.begin + at / part.blockCount() * nr;
    const Range k = plan.kRange(part.blocks.begin + at % part.blockCount());
    plan.job.packB(batch, packed + at * plan.panelBytes(nr), nr, column,
                   static_cast<int>(std::min<int64_t>(nr, part.columns.end - column)), k.begin,
                   k.end - k.begin);
  }
}

// Packs the panel of a whose first row is `row`, up to row `end`, for a block of k.
void packRowPanel(const Plan& plan, int64_t batch, int64_t row, int64_t end, int64_t block,
                  char* panel) {
  const Range k = plan.kRange(block);
  const int mr = plan.kernels.mr;
  plan.job.packA(batch, panel, mr, row, static_cast<int>(std::min<int64_t>(mr, end - row)), k.begin,
                 k.end - k.begin);
}

// Packs the panels at positions [positions.begin, positions.end) of all of a: those of the first
// block of k, then those of the next.
void packRows(const Plan& plan, int64_t batch, Range positions, char* packed) {
  const int mr = plan.kernels.mr;
  const int64_t panels = ceilDiv(plan.job.m, mr);
  for (int64_t at = positions.begin; at < positions.end; ++at) {
    packRowPanel(plan, batch, at % panels * mr, plan.job.m, at / panels,
                 packed + at * plan.panelBytes(mr));
  }
}

// Computes a rectangle, of as many rows as `memory` is for, for the part's blocks of k, which are
// all blocks unless sums go straight to the result. `packed` holds the part's columns
// (columns.begin must lie on a panel of it), or is null: then panels are packed as they are needed.
void computeBlock(const Plan& plan, int64_t batch, Range rows, Range columns, const char* packed,
                  const Part& part, const BlockMemory& memory) {
  const GemmJob& job = plan.job;
  const GemmKernels& kernels = plan.kernels;
  const int mr = kernels.mr, nr = kernels.nr;
  const int64_t elementBytes = kernels.elementBytes;
  const int64_t aPanelBytes = plan.panelBytes(mr), bPanelBytes = plan.panelBytes(nr);
  const int64_t rowCount = rows.end - rows.begin;
  const int64_t rowPanels = ceilDiv(rowCount, mr);
  int64_t ldDirect = 0, rowStride = 0;
  char* direct = plan.needsSums ? nullptr : static_cast<char*>(job.directResult(batch, &ldDirect));
  const void* left = plan.isLeftInPlace ? job.leftInPlace(batch, &rowStride) : nullptr;
  const bool packsAllOfA = memory.aBlocks >= part.blockCount();
  const int64_t width = columns.end - columns.begin;
  int64_t chunkColumns = direct ? width : plan.sumsColumns(memory.rows, width);
  if (direct && packsAllOfA && part.blockCount() > 1) {
    // The result is read and written once for each block of k: as many columns as stay near.
    chunkColumns =
        std::min(chunkColumns, roundUp(secondLevelParts().reused / (rowCount * elementBytes), nr));
  }
  const TilesInUse tiles(kernels);

  for (int64_t chunk = columns.begin; chunk < columns.end; chunk += chunkColumns) {
    const int64_t chunkEnd = std::min(columns.end, chunk + chunkColumns);
    char* c = memory.sums;
    int64_t ldc = plan.sumsStride(chunkEnd - chunk);
    if (direct) {
      ldc = ldDirect;
      c = direct + (rows.begin * ldc + chunk) * elementBytes;
    }
    for (int64_t block = part.blocks.begin; block < part.blocks.end; ++block) {
      const Range k = plan.kRange(block);
      const int64_t kc = k.end - k.begin;
      char* a = memory.a;
      if (packsAllOfA) a += (block - part.blocks.begin) * rowPanels * aPanelBytes;
      const bool packs = !left && !memory.hasPackedA && (!packsAllOfA || chunk == columns.begin);
      for (int64_t p = 0; packs && p < rowPanels; ++p) {
        packRowPanel(plan, batch, rows.begin + p * mr, rows.end, block, a + p * aPanelBytes);
      }
      int64_t finished = chunk;
      for (int64_t column = chunk; column < chunkEnd; column += nr) {
        const int cols = static_cast<int>(std::min<int64_t>(nr, chunkEnd - column));
        const char* b = memory.b;
        if (packed) {
          b = packed + part.position(plan, column, block) * bPanelBytes;
        } else {
          job.packB(batch, memory.b, nr, column, cols, k.begin, kc);
        }
        for (int64_t p = 0; p < rowPanels; ++p) {
          const int64_t row = p * mr;
          const int count = static_cast<int>(std::min<int64_t>(mr, rowCount - row));
          char* sums = c + (row * ldc + column - chunk) * elementBytes;
          if (left) {
            const GemmRun run{(rows.begin + row) * rowStride + k.begin, 0, kc};
            kernels.runTile(&run, 1, left, rowStride, kernels.stepsPerElement, b, nr, sums, ldc,
                            count, cols, block > 0);
          } else {
            kernels.tile(kc, a + p * aPanelBytes, b, sums, ldc, count, cols, block > 0);
          }
        }
        if (block + 1 == plan.kBlocks &&
            (column + cols - finished >= kFinishColumns || column + cols == chunkEnd)) {
          job.finish(batch, rows.begin, rows.end, finished, column + cols,
                     direct ? nullptr : c + (finished - chunk) * elementBytes, ldc);
          finished = column + cols;
        }
      }
    }
  }
}

// How much of b is packed at a time.
struct PartSize {
  int64_t panels;
  int64_t blocks;

  int64_t bytes(const Plan& plan) const {
    return panels * blocks * plan.panelBytes(plan.kernels.nr);
  }
  // All blocks of k for as many columns as stay near, so that threads seldom wait for each other.
  // If these are few, and sums can be left in the result between parts, all columns for some
  // blocks.
  static PartSize choose(const Plan& plan, int64_t columns, int64_t nearBytes) {
    constexpr int64_t kFewPanels = 16;
    const int64_t panelBytes = plan.panelBytes(plan.kernels.nr);
    const int64_t panels = ceilDiv(columns, plan.kernels.nr);
    int64_t blocks = plan.kBlocks;
    if (!plan.needsSums && 2 * nearBytes / (blocks * panelBytes) < std::min(panels, kFewPanels)) {
      blocks = std::min(blocks, std::max<int64_t>(1, nearBytes / (panels * panelBytes)));
    }
    const int64_t fit = std::max<int64_t>(4, 2 * nearBytes / (blocks * panelBytes));
    return {ceilDiv(panels, std::max<int64_t>(1, ceilDiv(panels, fit))), blocks};
  }
};

// Calls visit(part) for all parts of some columns, in an order in which sums can be accumulated.
template <typename Visit>
void forEachPart(const Plan& plan, Range columns, PartSize size, Visit visit) {
  const int64_t width = size.panels * plan.kernels.nr;
  for (int64_t column = columns.begin; column < columns.end; column += width) {
    for (int64_t block = 0; block < plan.kBlocks; block += size.blocks) {
      visit(Part{{column, std::min(columns.end, column + width)},
                 {block, std::min(plan.kBlocks, block + size.blocks)}});
    }
  }
}

// Computes a rectangle of any size on the calling thread.
void computeRange(const Plan& plan, int64_t batch, Range rows, Range columns, char* memory,
                  int64_t blockRows, char* packed, PartSize size) {
  BlockMemory blockMemory(plan, blockRows, size.blocks, memory);
  if (rows.end - rows.begin <= blockRows) {
    return computeBlock(plan, batch, rows, columns, nullptr, {columns, {0, plan.kBlocks}},
                        blockMemory);
  }
  forEachPart(plan, columns, size, [&](const Part& part) {
    packPart(plan, batch, part, {0, part.panels(plan) * part.blockCount()}, packed);
    for (int64_t row = rows.begin; row < rows.end; row += blockRows) {
      computeBlock(plan, batch, {row, std::min(rows.end, row + blockRows)}, part.columns, packed,
                   part, blockMemory);
    }
  });
}

template <typename Function>
void parallel(RunServices& services, int64_t tiles, bool serial, Function function) {
  if (serial || tiles <= 1) {
    function(int64_t{0}, tiles);
    return;
  }
  parallelFor(services, tiles, 1, function);
}

// Rows of a block of a, where a thread computes all rows.
int64_t rowsAtOnce(const Plan& plan) {
  const int64_t rows = plan.job.m, mr = plan.kernels.mr;
  if (!plan.isLeftInPlace) {
    return plan.rowsBytes(rows) <= secondLevelParts().blockRows ? rows : kBlockRows / mr * mr;
  }
  const int64_t fit =
      secondLevelParts().blockRows / (plan.kBlocks * plan.panelBytes(plan.kernels.mr)) * mr;
  return std::min(rows, std::clamp(fit, kMinRowsInPlace, kMaxRowsInPlace));
}

// Each task is one whole batch, or a range of columns of it: of as many panels each but for one,
// since threads wait for the one that has most.
void runByColumns(Plan& plan, bool serial, int64_t splits) {
  const GemmJob& job = plan.job;
  const int nr = plan.kernels.nr;
  const int64_t panels = ceilDiv(job.n, nr);
  splits = std::min(splits, panels);
  const int64_t maxColumns = ceilDiv(panels, splits) * nr;
  auto firstColumn = [&](int64_t split) { return std::min(job.n, split * panels / splits * nr); };
  const int64_t blockRows = rowsAtOnce(plan);
  PartSize size{0, plan.kBlocks};
  if (job.m > blockRows) size = PartSize::choose(plan, maxColumns, kPackedColumnsBytes / 4);
  parallel(plan.services, job.batches * splits, serial, [&](int64_t begin, int64_t end) {
    int64_t blockBytes = BlockMemory::bytes(plan, blockRows, maxColumns, size.blocks);
    Scratch<char> scratch(plan.services, blockBytes + size.bytes(plan));
    if (!scratch) {
      plan.outOfMemory = true;
      return;
    }
    for (int64_t task = begin; task < end; ++task) {
      const int64_t split = task % splits;
      computeRange(plan, task / splits, {0, job.m}, {firstColumn(split), firstColumn(split + 1)},
                   scratch.data(), blockRows, scratch.data() + blockBytes, size);
    }
  });
}

// Threads first pack all of a together, unless it is read in place, then take columns, whose panels
// of b they pack one by one for all rows.
void runByColumnsOfPackedRows(Plan& plan, int threads) {
  const GemmJob& job = plan.job;
  const int mr = plan.kernels.mr, nr = plan.kernels.nr;
  const int64_t rowPanels = ceilDiv(job.m, mr), panels = ceilDiv(job.n, nr);
  const int64_t taskPanels = std::clamp<int64_t>(panels / (4 * threads), 1, 8);
  const int64_t perTask = taskPanels * nr;
  Scratch<char> packed(plan.services, plan.kBlocks * BlockMemory::aBytes(plan, job.m));
  if (!packed) {
    plan.outOfMemory = true;
    return;
  }
  for (int64_t batch = 0; batch < job.batches; ++batch) {
    if (!plan.isLeftInPlace) {
      parallel(plan.services, plan.kBlocks * rowPanels, false, [&](int64_t begin, int64_t end) {
        packRows(plan, batch, {begin, end}, packed.data());
      });
    }
    parallel(plan.services, ceilDiv(panels, taskPanels), false, [&](int64_t begin, int64_t end) {
      Scratch<char> scratch(plan.services, BlockMemory::bytesBesideA(plan, job.m, perTask));
      if (!scratch) {
        plan.outOfMemory = true;
        return;
      }
      BlockMemory memory = BlockMemory::withPackedA(plan, packed.data(), scratch.data());
      for (int64_t task = begin; task < end; ++task) {
        const Range columns{task * perTask, std::min(job.n, (task + 1) * perTask)};
        computeBlock(plan, batch, {0, job.m}, columns, nullptr, {columns, {0, plan.kBlocks}},
                     memory);
      }
    });
  }
}

// Threads first pack b together, then take blocks of rows.
void runByRows(Plan& plan, int threads) {
  const GemmJob& job = plan.job;
  const int mr = plan.kernels.mr, nr = plan.kernels.nr;
  const PartSize size = PartSize::choose(plan, job.n, kPackedColumnsBytes);
  // Blocks in a multiple of the threads, at least two each where they do not get too low for that,
  // of as many panels each but for one: threads wait for the one that has most.
  const int64_t rowPanels = ceilDiv(job.m, mr);
  int64_t rowBlocks = std::max(ceilDiv(rowPanels, kBlockRows / mr), int64_t{2} * threads);
  rowBlocks = std::min(roundUp(rowBlocks, threads), std::max<int64_t>(1, rowPanels / 4));
  const int64_t blockRows = ceilDiv(rowPanels, rowBlocks) * mr;
  auto firstRow = [&](int64_t block) {
    return std::min(job.m, block * rowPanels / rowBlocks * mr);
  };
  // So many tasks that a thread which is late has others take of its share.
  int64_t columnParts = ceilDiv(4 * threads, rowBlocks);
  columnParts = std::min(columnParts, ceilDiv(size.panels, 16));
  const int64_t taskPanels = ceilDiv(size.panels, columnParts);
  Scratch<char> packed(plan.services, size.bytes(plan));
  if (!packed) {
    plan.outOfMemory = true;
    return;
  }
  for (int64_t batch = 0; batch < job.batches; ++batch) {
    forEachPart(plan, {0, job.n}, size, [&](const Part& part) {
      constexpr int64_t kGroup = 8;
      const int64_t positions = part.panels(plan) * part.blockCount();
      parallel(plan.services, ceilDiv(positions, kGroup), false, [&](int64_t begin, int64_t end) {
        packPart(plan, batch, part, {begin * kGroup, std::min(positions, end * kGroup)},
                 packed.data());
      });
      const int64_t tasksPerRow = ceilDiv(part.panels(plan), taskPanels);
      parallel(plan.services, rowBlocks * tasksPerRow, false, [&](int64_t begin, int64_t end) {
        Scratch<char> scratch(plan.services,
                              BlockMemory::bytes(plan, blockRows, job.n, size.blocks));
        if (!scratch) {
          plan.outOfMemory = true;
          return;
        }
        BlockMemory memory(plan, blockRows, size.blocks, scratch.data());
        for (int64_t task = begin; task < end; ++task) {
          const int64_t block = task / tasksPerRow;
          const int64_t column = part.columns.begin + task % tasksPerRow * taskPanels * nr;
          computeBlock(plan, batch, {firstRow(block), firstRow(block + 1)},
                       {column, std::min(part.columns.end, column + taskPanels * nr)},
                       packed.data(), part, memory);
        }
      });
    });
  }
}

}  // namespace

int64_t GemmKernels::panelBytes(int width, int64_t steps) const {
  const int64_t blocks = ceilDiv(std::max<int64_t>(steps, 1), stepsPerBlock());
  return roundUp(blocks * elementsPerBlock * width * elementBytes + kPanelSlackBytes, kAlignment);
}

const GemmKernels& gemmKernels(GemmDomain domain) {
  const Isa isa = hostIsa();
  if (isa >= Isa::kAmx) {
    if (const GemmKernels* kernels = v4_amx::gemmKernelsFor(domain)) return *kernels;
  }
  if (isa >= Isa::kBf16 && hasFastBf16Products()) {
    if (const GemmKernels* kernels = v4_bf16::gemmKernelsFor(domain)) return *kernels;
  }
  if (isa >= Isa::kVnni) {
    if (const GemmKernels* kernels = v4_vnni::gemmKernelsFor(domain)) return *kernels;
  }
  const auto table = forHost(v2::gemmKernelTable, v3::gemmKernelTable, v4::gemmKernelTable);
  return table()[static_cast<int>(domain)];
}

bool isAvailable(GemmDomain domain) { return gemmKernels(domain).tile != nullptr; }

namespace {

// In how many ranges of columns to divide a product whose threads do best without sharing what they
// pack: each range of b stays in the second-level cache, and has columns enough for packing a
// again. 1 if there is no such number.
int64_t nearSplits(const Plan& plan, int threads) {
  constexpr int64_t kMinColumns = 128;
  const int64_t steps = ceilDiv(plan.job.k, plan.kernels.stepsPerElement);
  auto suits = [&](int64_t splits) {
    const int64_t columns = ceilDiv(plan.job.n, splits);
    return columns >= kMinColumns &&
           columns * steps * plan.kernels.elementBytes <= kPackedColumnsBytes / 8;
  };
  // Every thread reads all of a, and writes a part of each row of the result beside another
  // thread's.
  if (plan.job.m > 2 * plan.job.n) return 1;
  const int64_t perBatch = ceilDiv(threads, plan.job.batches);
  // Twice as many even out threads that are late, where packing is little more than copying.
  if (plan.kernels.stepsPerElement == 1 && suits(2 * perBatch)) return 2 * perBatch;
  return suits(perBatch) ? perBatch : 1;
}

}  // namespace

bool runGemm(RunServices& services, const GemmJob& job) {
  // Columns of a task for which rows of so many elements are better packed once, by all threads.
  constexpr int64_t kFewColumns = 128;
  constexpr int64_t kMinSharedRows = 64 << 10;
  Plan plan(services, job);
  double work = static_cast<double>(job.batches) * static_cast<double>(job.m) *
                static_cast<double>(job.n) * static_cast<double>(std::max<int64_t>(job.k, 1));
  // Where few rows meet many columns, packing is most of it.
  constexpr double kPackingWork = 4;
  const double packed = static_cast<double>(job.batches) * static_cast<double>(job.m + job.n) *
                        static_cast<double>(job.k);
  int threads = services.numThreads();
  const int64_t evenSplits =
      std::min(ceilDiv(2 * threads, job.batches), ceilDiv(job.n, plan.kernels.nr));
  if (threads == 1 || !worthThreads(work + kPackingWork * packed)) {
    runByColumns(plan, true, 1);
  } else if (job.batches >= 2 * threads) {
    runByColumns(plan, false, 1);
  } else if (job.m <= kBlockRows && job.n / evenSplits < kFewColumns && !plan.isLeftInPlace &&
             job.m * job.k >= kMinSharedRows &&
             plan.kBlocks * plan.rowsBytes(job.m) <= kSharedRowsBytes) {
    runByColumnsOfPackedRows(plan, threads);
  } else if (job.m <= kBlockRows) {
    runByColumns(plan, false, evenSplits);
  } else if (const int64_t splits = nearSplits(plan, threads); splits > 1) {
    runByColumns(plan, false, splits);
  } else if (plan.rowsBytes(job.m) <= secondLevelParts().blockRows &&
             plan.kBlocks * plan.rowsBytes(job.m) <= kSharedRowsBytes &&
             job.n >= 4 * plan.kernels.nr * threads) {
    runByColumnsOfPackedRows(plan, threads);
  } else if (job.n > 16 * job.m) {
    runByColumns(plan, false, evenSplits);
  } else {
    runByRows(plan, threads);
  }
  return !plan.outOfMemory;
}

}  // namespace isthmus::cpu

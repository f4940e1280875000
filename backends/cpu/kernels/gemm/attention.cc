// Products of rows, a kernel on them and the products of what it gives, some rows at a time.
//
// As in Dao et al., FlashAttention (2022), scores never leave the cache; but rows are whole, since
// those of any length that kernels read fit it, and the kernel between the products may be any.
#include "backends/cpu/kernels/gemm/attention.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <span>

#include "backends/cpu/kernels/gemm/dot_job.h"
#include "backends/cpu/kernels/gemm/few_rows.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "base/integer_math.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

constexpr int64_t kAlignment = 64;
// Steps of the weights in a panel: what of the values meets them stays in the first-level cache.
constexpr int64_t kStepsPerBlock = 256;
// Rows for which packing keys and values again is worth more tasks than there are threads.
constexpr int64_t kRowsForBalance = 64;
// Tasks that are enough where sums over rows are added up afterwards.
constexpr int64_t kEnoughParts = 8;
// Rows of a result that are transposed together.
constexpr int64_t kStoredRows = 64;

// Whether a tile of few rows takes as much less time than one of many.
bool hasTilesOfAnyHeight(const GemmKernels& kernels) { return kernels.elementsPerBlock == 1; }

int64_t offsetOf(std::span<const ResultDimension> dims, int64_t index) {
  int64_t offset = 0;
  for (size_t i = dims.size(); i-- > 0;) {
    offset += index % dims[i].size * dims[i].stride;
    index /= dims[i].size;
  }
  return offset;
}

GemmDomain domainOf(const DotDescriptor& dot) {
  return narrowDomain(chooseDomain(dot.lhsType, dot.rhsType, dot.resultType), dot.lhsType,
                      dot.rhsType, dot.resultType);
}

// Whether tiles read a left operand whose steps are so far apart where it lies.
bool readsInPlace(GemmDomain domain, const GemmKernels& kernels, ElementType type,
                  int64_t stepStride) {
  if (!kernels.runTile) return false;
  return domain == GemmDomain::kBf16 ? type == ElementType::kBF16 && stepStride == 1
                                     : type == floatTypeOf(domain);
}

// What kernels of a domain for few rows read.
ElementType rowTypeOf(GemmDomain domain) {
  return domain == GemmDomain::kBf16 ? ElementType::kBF16 : floatTypeOf(domain);
}

// Whether they read a right operand where it lies, and packing it would cost more: `rows` rows are
// multiplied with it, in tiles or, of bf16, without.
bool readsRightInPlace(const DotProblem& p, GemmDomain domain, const GemmKernels& kernels,
                       int64_t rows) {
  if (p.dot.rhsType != rowTypeOf(domain) || p.k.size() > 1 || p.n.size() != 1 ||
      p.n[0].rhsStride != 1) {
    return false;
  }
  if (domain == GemmDomain::kBf16) return kernels.rowsTimesMatrix && rows <= kMaxDotRows;
  return kernels.rowTimesMatrix && p.cols % kernels.vectorLanes == 0 &&
         areFewRows(kernels, rows, p.k.empty() ? 0 : p.k[0].rhsStride);
}

// A left operand where it lies, or its panels.
struct LeftRows {
  const char* data;
  int64_t rowStride, stepStride;  // in elements; in place
  int64_t panelBytes;             // 0: in place
};

// A right operand where it lies, which only a left one that does so meets, or its panels.
struct RightColumns {
  const char* data;
  int64_t stepStride;  // in elements
  int64_t panelBytes;  // 0: in place
};

struct Scores {
  const DotProblem problem;
  const GemmDomain domain;
  const GemmKernels& kernels;
  const bool isLeftInPlace;
  const bool isRightInPlace;
  const bool isDotProducts;  // of few rows and all keys, where both lie
  // Sums are what the kernel reads, or are rounded to that in registers.
  const bool isDirect;

  Scores(const DotDescriptor& dot, void* const* buffers)
      : problem(decodeDot(dot, buffers)),
        domain(domainOf(dot)),
        kernels(gemmKernels(domain)),
        isLeftInPlace(problem.m.size() <= 1 && problem.k.size() <= 1 &&
                      (leftStep() == 1 || leftRow() == 1) &&
                      readsInPlace(domain, kernels, dot.lhsType, leftStep())),
        isRightInPlace(isLeftInPlace && readsRightInPlace(problem, domain, kernels, problem.rows)),
        isDotProducts(isLeftInPlace && kernels.dotProducts && problem.rows <= kMaxDotRows &&
                      (isOfBfloats() || problem.contracting >= kernels.vectorLanes) &&
                      dot.rhsType == rowTypeOf(domain) && problem.n.size() <= 1 &&
                      leftStep() == 1 && problem.k[0].rhsStride == 1 &&
                      (isOfBfloats() || isDomainType(domain, dot.resultType))),
        isDirect(roundsInRegisters() || isDomainType(domain, dot.resultType)) {}

  int64_t leftRow() const { return problem.m.empty() ? 0 : problem.m[0].lhsStride; }
  int64_t leftStep() const { return problem.k.empty() ? 0 : problem.k[0].lhsStride; }
  bool isOfBfloats() const { return domain == GemmDomain::kBf16; }
  // Without tiles.
  bool isOfRows() const { return isRightInPlace && isOfBfloats(); }
  bool roundsInRegisters() const {
    return isLeftInPlace && !isDotProducts && !isOfRows() && kernels.runTileToBfloats &&
           problem.dot.resultType == ElementType::kBF16;
  }
  bool packsKeys() const { return !isRightInPlace && !isDotProducts; }
  bool packs() const { return packsKeys() || !isLeftInPlace; }
  int64_t elementBytes() const {
    return static_cast<int64_t>(storageBytes(problem.dot.resultType));
  }
};

struct Product {
  const RowProductDescriptor& d;
  const DotProblem problem;
  const GemmDomain domain;
  const GemmKernels& kernels;
  const std::span<const ResultDimension> batchDims, rowDims, columnDims;
  const int64_t width;          // columns of the values
  const bool isWeightsInPlace;  // no panels of weights
  const bool isRightInPlace;    // no panels of values
  const bool isDirect;          // tiles write the result

  // With so many rows of weights for each batch item, or columns of them where rows are summed.
  Product(const RowProductDescriptor& descriptor, void* const* buffers, ElementType weightType,
          int64_t rows)
      : d(descriptor),
        problem(decodeDot(d.values, buffers)),
        domain(domainOf(d.values)),
        kernels(gemmKernels(domain)),
        batchDims(d.result, static_cast<size_t>(d.batchRank)),
        rowDims(d.result + d.batchRank, static_cast<size_t>(d.rowRank)),
        columnDims(d.result + d.batchRank + d.rowRank, static_cast<size_t>(d.columnRank)),
        width(problem.cols),
        // Rows' steps are neighbours, those of columns are not.
        isWeightsInPlace(
            readsInPlace(domain, kernels, weightType, d.sumsRows ? problem.contracting : 1)),
        // What needs no tiles reads rows of weights.
        isRightInPlace(isWeightsInPlace && !(d.sumsRows && domain == GemmDomain::kBf16) &&
                       readsRightInPlace(problem, domain, kernels, rows)),
        isDirect(isDomainType(domain, d.values.resultType) && rowDims.size() <= 1 &&
                 columnDims.size() == 1 && columnDims[0].stride == 1) {}

  int64_t resultRowStride() const { return rowDims.empty() ? width : rowDims[0].stride; }
};

// What the tasks of one call share.
struct Attention {
  const AttentionDescriptor& d;
  void* const* buffers;
  std::optional<Scores> scores[kMaxScores];
  std::optional<Product> products[kMaxRowProducts];
  int64_t batches, rows, columns;  // of scores: rows of a batch
  int64_t splits = 1;              // parts of a batch item's rows, which are tasks
  int64_t rowsAtATime;             // of a batch item
  int64_t itemsAtATime = 1;        // with all of their rows
  bool sumsRows = false;
  bool isParallel = false;

  Attention(const AttentionDescriptor& descriptor, void* const* buffers, int threads)
      : d(descriptor), buffers(buffers) {
    for (int i = 0; i < d.scoresCount; ++i) scores[i].emplace(d.scores[i], buffers);
    batches = scores[0]->problem.batches;
    rows = scores[0]->problem.rows;
    columns = scores[0]->problem.cols;
    for (int i = 0; i < d.productCount; ++i) {
      const RowProductDescriptor& product = d.products[i];
      products[i].emplace(product, buffers, d.weightTypes[product.weights],
                          product.sumsRows ? columns : rows);
      sumsRows |= product.sumsRows != 0;
    }
    // Few rows are bound by memory more than by arithmetic, so fewer operations fill a thread.
    const bool readsOnce = rows <= scores[0]->kernels.mr;
    isParallel = threads > 1 && worthThreads(readsOnce ? 4 * work() : work());
    // Sums over rows are the same for any number of threads: their parts do not depend on it.
    if (sumsRows) {
      splits = std::clamp<int64_t>(rows / d.rowsPerPart, 1, ceilDiv(kEnoughParts, batches));
    } else if (isParallel) {
      splits =
          std::clamp<int64_t>(rows / kRowsForBalance, 1, ceilDiv(int64_t{4} * threads, batches));
      // Threads that would be idle may pack as well.
      splits = std::max(splits, std::min(ceilDiv(rows, d.rowsPerTask), ceilDiv(threads, batches)));
    }
    // Of nearly equal size, but whole tiles where tiles of fewer rows take as long.
    const GemmKernels& kernels = scores[0]->kernels;
    const int64_t taskRows = ceilDiv(rows, splits);
    const int64_t passes = ceilDiv(taskRows, std::max<int64_t>(kernels.mr, d.rowsAtATime));
    rowsAtATime = ceilDiv(taskRows, passes);
    if (!hasTilesOfAnyHeight(kernels)) {
      rowsAtATime = std::min(rows, roundUp(rowsAtATime, kernels.mr));
    }
    if (rowsAtATime == rows) {
      const int64_t most = isParallel ? ceilDiv(batches, int64_t{4} * threads) : batches;
      itemsAtATime = std::clamp<int64_t>(d.rowsAtATime / rows, 1, most);
    }
  }
  // Multiplications and additions.
  double work() const {
    int64_t depth = 0;
    for (int i = 0; i < d.scoresCount; ++i) depth += scores[i]->problem.contracting;
    for (int i = 0; i < d.productCount; ++i) depth += products[i]->width;
    return static_cast<double>(depth) * static_cast<double>(batches) * static_cast<double>(rows) *
           static_cast<double>(columns);
  }
  int64_t weightBytes(int weights) const {
    return static_cast<int64_t>(storageBytes(d.weightTypes[weights]));
  }
  // Of a product that sums the elements of each row.
  int64_t blockSteps(const Product& p) const {
    return std::min(columns, roundUp(kStepsPerBlock, p.kernels.stepsPerBlock()));
  }
  int64_t rowsAtHand() const { return rowsAtATime * itemsAtATime; }
  // Whether tiles add up a result where it lies, in which no other task takes part.
  bool addsToResult(const Product& p) const { return p.isDirect && splits == 1; }
  // Of a product that sums over rows.
  int64_t sumsBytes(const Product& p) const {
    if (addsToResult(p)) return 0;
    return roundUp(columns * p.width * p.kernels.elementBytes, kAlignment);
  }
  // Of all of them.
  int64_t sumsBytes() const {
    int64_t total = 0;
    for (int i = 0; i < d.productCount; ++i) {
      if (d.products[i].sumsRows) total += sumsBytes(*products[i]);
    }
    return total;
  }
};

// Memory of one task.
struct TaskMemory {
  char* keys[kMaxScores];          // panels of the right operands
  char* values[kMaxRowProducts];   // panels of the right operands
  char* results[kMaxRowProducts];  // of rows at hand, or sums over rows
  char* scores[kMaxScores];
  char* weights[kMaxWeights];
  char *rowPanels, *sums, *converted;

  // Lays the parts out from `memory` on; returns how many bytes they take.
  int64_t place(const Attention& a, char* memory) {
    int64_t total = 0;
    auto add = [&](int64_t bytes) {
      char* at = memory ? memory + total : nullptr;
      total += roundUp(bytes, kAlignment);
      return at;
    };
    int64_t panelBytes = 0, sumBytes = 0, widest = 0;
    for (int i = 0; i < a.d.scoresCount; ++i) {
      const GemmKernels& k = a.scores[i]->kernels;
      const int64_t depth = a.scores[i]->problem.contracting;
      const Scores& s = *a.scores[i];
      keys[i] = add(s.packsKeys() ? ceilDiv(a.columns, k.nr) * k.panelBytes(k.nr, depth) : 0);
      if (!s.isLeftInPlace) {
        panelBytes = std::max(panelBytes, ceilDiv(a.rowsAtATime, k.mr) * k.panelBytes(k.mr, depth));
      }
      const int64_t elements = a.rowsAtHand() * a.columns;
      if (!s.isDirect) sumBytes = std::max(sumBytes, elements * k.elementBytes);
      scores[i] = add(elements * s.elementBytes());
    }
    for (int i = 0; i < a.d.weightsCount; ++i) {
      const int32_t shared = a.d.sharedScores[i];
      weights[i] =
          shared >= 0 ? scores[shared] : add(a.rowsAtHand() * a.columns * a.weightBytes(i));
    }
    for (int i = 0; i < a.d.productCount; ++i) {
      const Product& p = *a.products[i];
      const GemmKernels& k = p.kernels;
      widest = std::max(widest, p.width);
      if (p.d.sumsRows) {
        values[i] =
            add(p.isRightInPlace ? 0 : ceilDiv(p.width, k.nr) * k.panelBytes(k.nr, a.rowsAtATime));
        if (!p.isWeightsInPlace) {
          panelBytes =
              std::max(panelBytes, ceilDiv(a.columns, k.mr) * k.panelBytes(k.mr, a.rowsAtATime));
        }
        results[i] = nullptr;
        continue;
      }
      const int64_t steps = a.blockSteps(p);
      values[i] = add(p.isRightInPlace ? 0
                                       : ceilDiv(a.columns, steps) * ceilDiv(p.width, k.nr) *
                                             k.panelBytes(k.nr, steps));
      if (!p.isWeightsInPlace) {
        panelBytes = std::max(panelBytes, ceilDiv(a.rowsAtATime, k.mr) * k.panelBytes(k.mr, steps));
      }
      results[i] = add(p.isDirect ? 0 : a.rowsAtATime * p.width * k.elementBytes);
    }
    rowPanels = add(panelBytes);
    sums = add(sumBytes);
    converted = add(kStoredRows * widest * 8);
    return total;
  }
};

// Elements of rows of `width`, side by side, to where rows and columns are so far apart.
template <typename Word>
void scatterRows(const char* from, int64_t count, int64_t width, char* to, int64_t rowStride,
                 int64_t columnStride) {
  const auto* source = reinterpret_cast<const Word*>(from);
  for (int64_t column = 0; column < width; ++column) {
    auto* target = reinterpret_cast<Word*>(to) + column * columnStride;
    for (int64_t row = 0; row < count; ++row)
      target[row * rowStride] = source[row * width + column];
  }
}

// Stores rows of sums from `firstRow` on of a result. `converted` has room for kStoredRows of them.
void store(const Attention& a, const Product& p, int64_t batch, int64_t firstRow, int64_t count,
           const char* sums, char* converted) {
  const ElementType type = p.d.values.resultType;
  const auto bytes = static_cast<int64_t>(storageBytes(type));
  const int64_t rowBytes = p.width * p.kernels.elementBytes;
  const bool isRow =
      p.columnDims.empty() || (p.columnDims.size() == 1 && p.columnDims[0].stride == 1);
  char* result = static_cast<char*>(a.buffers[p.d.resultBuffer]);
  const int64_t batchOffset = offsetOf(p.batchDims, batch);
  if (isRow) {
    for (int64_t row = 0; row < count; ++row) {
      storeSums(p.domain, sums + row * rowBytes, p.width, type, result,
                batchOffset + offsetOf(p.rowDims, firstRow + row));
    }
    return;
  }
  const bool isMatrix = p.rowDims.size() <= 1 && p.columnDims.size() <= 1;
  const int64_t rowStride = p.rowDims.empty() ? 0 : p.rowDims[0].stride;
  const int64_t columnStride = p.columnDims.empty() ? 0 : p.columnDims[0].stride;
  for (int64_t row = 0; row < count; row += kStoredRows) {
    const int64_t rows = std::min(kStoredRows, count - row);
    storeSums(p.domain, sums + row * rowBytes, rows * p.width, type, converted, 0);
    char* to = result + (batchOffset + (firstRow + row) * rowStride) * bytes;
    if (isMatrix && bytes == 2) {
      scatterRows<uint16_t>(converted, rows, p.width, to, rowStride, columnStride);
    } else if (isMatrix && bytes == 4) {
      scatterRows<uint32_t>(converted, rows, p.width, to, rowStride, columnStride);
    } else {
      for (int64_t i = 0; i < rows * p.width; ++i) {
        const int64_t at = batchOffset + offsetOf(p.rowDims, firstRow + row + i / p.width) +
                           offsetOf(p.columnDims, i % p.width);
        std::memcpy(result + at * bytes, converted + i * bytes, static_cast<size_t>(bytes));
      }
    }
  }
}

// Operands that are packed, behind tables of offsets.
struct Jobs {
  std::optional<DotJob> scores[kMaxScores];
  std::optional<DotJob> products[kMaxRowProducts];
  const int64_t* steps;    // 0, 1, …
  const int64_t* strides;  // 0, columns, 2 * columns, …

  static int64_t tableSize(const Attention& a) {
    int64_t total = a.columns + a.rowsAtATime;
    auto add = [&](const DotProblem& p) { total += p.rows + p.cols + 2 * p.contracting; };
    for (int i = 0; i < a.d.scoresCount; ++i) {
      if (a.scores[i]->packs()) add(a.scores[i]->problem);
    }
    for (int i = 0; i < a.d.productCount; ++i) {
      if (!a.products[i]->isRightInPlace) add(a.products[i]->problem);
    }
    return total;
  }

  Jobs(const Attention& a, int64_t* tables) {
    auto add = [&](std::optional<DotJob>& job, const DotProblem& p, GemmDomain domain) {
      job.emplace(p, domain, tables);
      tables += p.rows + p.cols + 2 * p.contracting;
    };
    for (int i = 0; i < a.d.scoresCount; ++i) {
      if (a.scores[i]->packs()) add(scores[i], a.scores[i]->problem, a.scores[i]->domain);
    }
    for (int i = 0; i < a.d.productCount; ++i) {
      const Product& p = *a.products[i];
      if (!p.isRightInPlace) add(products[i], p.problem, p.domain);
    }
    steps = tables;
    for (int64_t i = 0; i < a.columns; ++i) *tables++ = i;
    strides = tables;
    for (int64_t i = 0; i < a.rowsAtATime; ++i) *tables++ = i * a.columns;
  }
};

// Calls visit(first, count, tile) for tiles of nearly equal heights, or of whole ones where others
// take as long.
template <typename Visit>
void forTiles(const GemmKernels& kernels, int64_t rows, Visit visit) {
  const int64_t mr = kernels.mr, tiles = ceilDiv(rows, mr);
  const bool areEqual = hasTilesOfAnyHeight(kernels);
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t first = areEqual ? rows * i / tiles : i * mr;
    const int64_t last = areEqual ? rows * (i + 1) / tiles : std::min(rows, first + mr);
    visit(first, static_cast<int>(last - first), i);
  }
}

struct SumsAt {
  char* data;
  int64_t rowStride;  // in elements
  bool accumulate = false;
  RunTile roundsBy = nullptr;  // to what the data is of, which is not what the sums are of
};

void multiply(const GemmKernels& kernels, const LeftRows& left, const RightColumns& right,
              int64_t steps, int64_t rows, int64_t columns, const SumsAt& sums) {
  const RunTile runTile = sums.roundsBy ? sums.roundsBy : kernels.runTile;
  const int64_t bytes = sums.roundsBy ? 2 : kernels.elementBytes;
  const TilesInUse tiles(kernels);
  for (int64_t column = 0; column < columns; column += kernels.nr) {
    const char* b = right.panelBytes > 0 ? right.data + column / kernels.nr * right.panelBytes
                                         : right.data + column * kernels.elementBytes;
    const auto cols = static_cast<int>(std::min<int64_t>(kernels.nr, columns - column));
    forTiles(kernels, rows, [&](int64_t row, int count, int64_t tile) {
      char* c = sums.data + (row * sums.rowStride + column) * bytes;
      if (left.panelBytes > 0) {
        kernels.tile(steps, left.data + tile * left.panelBytes, b, c, sums.rowStride, count, cols,
                     sums.accumulate);
        return;
      }
      const GemmRun run{row * left.rowStride, 0, steps};
      runTile(&run, 1, left.data, left.rowStride,
              kernels.stepsPerElement == 2 ? 2 : left.stepStride, b,
              right.panelBytes > 0 ? kernels.nr : right.stepStride, c, sums.rowStride, count, cols,
              sums.accumulate);
    });
  }
}

template <typename Element>
void addTo(char* sums, const char* others, int64_t bytes) {
  auto* to = reinterpret_cast<Element*>(sums);
  auto* from = reinterpret_cast<const Element*>(others);
  for (int64_t i = 0; i < bytes / static_cast<int64_t>(sizeof(Element)); ++i) to[i] += from[i];
}

// Adds up what the parts of a batch item have summed over rows, in order, and stores it.
void finish(const Attention& a, int64_t batch, char* sums, int64_t parts, char* converted) {
  const int64_t bytes = a.sumsBytes();
  for (int i = 0; i < a.d.productCount; ++i) {
    const Product& p = *a.products[i];
    if (!p.d.sumsRows || a.addsToResult(p)) continue;
    const int64_t own = a.sumsBytes(p);
    for (int64_t part = 1; part < parts; ++part) {
      if (p.kernels.elementBytes == 8) {
        addTo<double>(sums, sums + part * bytes, own);
      } else {
        addTo<float>(sums, sums + part * bytes, own);
      }
    }
    store(a, p, batch, 0, a.columns, sums, converted);
    sums += own;
  }
}

class Task {
 public:
  Task(const Attention& a, const Jobs& jobs, char* memory) : a_(a), jobs_(jobs) {
    memory_.place(a, memory);
  }

  // Of one batch item, or with all of their rows of several. What products sum over these rows is
  // added up in `sums` where the caller is to add up parts.
  void run(int64_t item, int64_t items, int64_t firstRow, int64_t lastRow, char* sums) {
    for (int64_t row = firstRow; row < lastRow; row += a_.rowsAtATime) {
      const int64_t count = std::min(a_.rowsAtATime, lastRow - row);
      const bool isFirst = row == firstRow, isLast = row + count == lastRow;
      for (int64_t i = 0; i < items; ++i) {
        if (isFirst) packKeys(item + i);
        for (int index = 0; index < a_.d.scoresCount; ++index) {
          computeScores(index, item + i, row, count, i * count);
        }
      }
      computeWeights(item * a_.rows + row, items * count);
      for (int64_t i = 0; i < items; ++i) {
        if (isFirst) {
          packValues(item + i);
          placeSums(item + i, sums);
        }
        multiplyWeights(item + i, row, count, i * count, !isFirst);
        if (isLast && a_.splits == 1) finish(a_, item + i, sums, 1, memory_.converted);
      }
    }
  }

 private:
  // Where tiles write a row of a result.
  char* resultOf(const Product& p, int64_t batch, int64_t row) const {
    return static_cast<char*>(a_.buffers[p.d.resultBuffer]) +
           (offsetOf(p.batchDims, batch) + offsetOf(p.rowDims, row)) * p.kernels.elementBytes;
  }
  // Where a step of a right operand lies.
  static RightColumns rightInPlace(const DotProblem& p, int64_t batch, int64_t step) {
    const int64_t stride = p.k.empty() ? 0 : p.k[0].rhsStride;
    return {static_cast<const char*>(p.rhs) + (groupOffset(p.batch, batch).rhs + step * stride) *
                                                  static_cast<int64_t>(storageBytes(p.dot.rhsType)),
            stride, 0};
  }

  void placeSums(int64_t batch, char* sums) {
    for (int i = 0; i < a_.d.productCount; ++i) {
      const Product& p = *a_.products[i];
      if (!p.d.sumsRows) continue;
      memory_.results[i] = a_.addsToResult(p) ? resultOf(p, batch, 0) : sums;
      sums += a_.sumsBytes(p);
    }
  }

  // All products of some rows of a batch item, whose weights are those from `at` on at hand.
  void multiplyWeights(int64_t batch, int64_t row, int64_t count, int64_t at, bool accumulate) {
    for (int i = 0; i < a_.d.productCount; ++i) {
      const Product& p = *a_.products[i];
      if (p.d.sumsRows) {
        addOverRows(i, batch, row, count, at, accumulate);
      } else if (p.isDirect) {
        sumRows(i, batch, count, at, resultOf(p, batch, row), p.resultRowStride());
      } else {
        sumRows(i, batch, count, at, memory_.results[i], p.width);
        store(a_, p, batch, row, count, memory_.results[i], memory_.converted);
      }
    }
  }

  void packKeys(int64_t batch) {
    for (int i = 0; i < a_.d.scoresCount; ++i) {
      if (!a_.scores[i]->packsKeys()) continue;
      packColumns(*jobs_.scores[i], a_.scores[i]->kernels, batch, a_.columns, 0,
                  a_.scores[i]->problem.contracting, memory_.keys[i]);
    }
  }

  void packValues(int64_t batch) {
    for (int i = 0; i < a_.d.productCount; ++i) {
      const Product& p = *a_.products[i];
      if (p.d.sumsRows || p.isRightInPlace) continue;
      const int64_t blockSteps = a_.blockSteps(p);
      char* panel = memory_.values[i];
      for (int64_t step = 0; step < a_.columns; step += blockSteps) {
        packColumns(*jobs_.products[i], p.kernels, batch, p.width, step,
                    std::min(blockSteps, a_.columns - step), panel);
        panel += ceilDiv(p.width, p.kernels.nr) * p.kernels.panelBytes(p.kernels.nr, blockSteps);
      }
    }
  }

  // Panels of a right operand, as far apart as is needed for so many steps.
  static void packColumns(const DotJob& job, const GemmKernels& k, int64_t batch, int64_t columns,
                          int64_t step, int64_t steps, char* panel) {
    for (int64_t column = 0; column < columns; column += k.nr) {
      job.packB(batch, panel, k.nr, column,
                static_cast<int>(std::min<int64_t>(k.nr, columns - column)), step, steps);
      panel += k.panelBytes(k.nr, steps);
    }
  }

  // Rows of a left operand of scores.
  LeftRows queries(int index, int64_t batch, int64_t firstRow, int64_t count) {
    const Scores& scores = *a_.scores[index];
    const GemmKernels& k = scores.kernels;
    const DotProblem& p = scores.problem;
    if (scores.isLeftInPlace) {
      return {static_cast<const char*>(p.lhs) +
                  (groupOffset(p.batch, batch).lhs + firstRow * scores.leftRow()) *
                      static_cast<int64_t>(storageBytes(p.dot.lhsType)),
              scores.leftRow(), scores.leftStep(), 0};
    }
    const int64_t panelBytes = k.panelBytes(k.mr, p.contracting);
    forTiles(k, count, [&](int64_t row, int rows, int64_t tile) {
      jobs_.scores[index]->packA(batch, memory_.rowPanels + tile * panelBytes, k.mr, firstRow + row,
                                 rows, 0, p.contracting);
    });
    return {memory_.rowPanels, 0, 0, panelBytes};
  }

  // To rows from `at` on of those at hand.
  void computeScores(int index, int64_t batch, int64_t firstRow, int64_t count, int64_t at) {
    const Scores& scores = *a_.scores[index];
    const GemmKernels& k = scores.kernels;
    const DotProblem& p = scores.problem;
    const LeftRows left = queries(index, batch, firstRow, count);
    char* result = memory_.scores[index] + at * a_.columns * scores.elementBytes();
    SumsAt sums{scores.isDirect ? result : memory_.sums, a_.columns};
    if (scores.isDotProducts) {
      const int64_t columnStride = p.n.empty() ? 0 : p.n[0].rhsStride;
      k.dotProducts(p.contracting, left.data, left.rowStride, static_cast<int>(count),
                    rightInPlace(p, batch, 0).data, columnStride, a_.columns, sums.data, a_.columns,
                    1);
    } else if (scores.isOfRows()) {
      const RightColumns keys = rightInPlace(p, batch, 0);
      k.rowsTimesMatrix(p.contracting, left.data, left.rowStride, left.stepStride,
                        static_cast<int>(count), keys.data, keys.stepStride, sums.data, a_.columns,
                        a_.columns);
    } else {
      const RightColumns keys =
          scores.isRightInPlace
              ? rightInPlace(p, batch, 0)
              : RightColumns{memory_.keys[index], 0, k.panelBytes(k.nr, p.contracting)};
      if (scores.roundsInRegisters()) sums.roundsBy = k.runTileToBfloats;
      multiply(k, left, keys, p.contracting, count, a_.columns, sums);
    }
    if (scores.isDirect) return;
    storeSums(scores.domain, sums.data, count * a_.columns, p.dot.resultType, result, 0);
  }

  // The kernel computes rows of arrays of which only those at hand exist: it is told where the
  // whole arrays would begin.
  void computeWeights(int64_t firstRow, int64_t count) {
    void* table[kMaxRowBuffers];
    auto beginOf = [&](char* rows, int64_t bytes) {
      return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(rows) -
                                     static_cast<uintptr_t>(firstRow * a_.columns * bytes));
    };
    for (int i = 0; i < a_.d.kernelBufferCount; ++i) {
      const int32_t buffer = a_.d.kernelBuffers[i];
      if (buffer >= 0) {
        table[i] = a_.buffers[buffer];
      } else if (buffer <= kWeightsBuffer) {
        const int weights = kWeightsBuffer - buffer;
        table[i] = beginOf(memory_.weights[weights], a_.weightBytes(weights));
      } else {
        const int scores = kScoresBuffer - buffer;
        table[i] = beginOf(memory_.scores[scores], a_.scores[scores]->elementBytes());
      }
    }
    reinterpret_cast<IsthmusKernel>(a_.buffers[a_.d.kernelBuffer])(table, firstRow,
                                                                   firstRow + count);
  }

  const char* weightsAt(const Product& p, int64_t row, int64_t column) const {
    return memory_.weights[p.d.weights] + (row * a_.columns + column) * a_.weightBytes(p.d.weights);
  }

  // Weights, of which the first is `first`, as a left operand: its rows are those of the weights,
  // or if `isTransposed` their columns.
  LeftRows weightRows(const Product& p, bool isTransposed, const char* first, int64_t rows,
                      int64_t steps, int64_t panelBytes) {
    const int64_t rowStride = isTransposed ? 1 : a_.columns;
    const int64_t stepStride = isTransposed ? a_.columns : 1;
    const int64_t bytes = a_.weightBytes(p.d.weights);
    if (p.isWeightsInPlace) return {first, rowStride, stepStride, 0};
    forTiles(p.kernels, rows, [&](int64_t row, int count, int64_t tile) {
      PanelSource source{first + row * rowStride * bytes,
                         a_.d.weightTypes[p.d.weights],
                         count,
                         isTransposed ? jobs_.steps : jobs_.strides,
                         isTransposed ? jobs_.strides : jobs_.steps,
                         steps,
                         isTransposed && count > 1,
                         isTransposed ? 1 : a_.columns,
                         0,
                         true};
      p.kernels.pack(memory_.rowPanels + tile * panelBytes, p.kernels.mr, source);
    });
    return {memory_.rowPanels, 0, 0, panelBytes};
  }

  // The product of rows of weights and all values.
  void sumRows(int index, int64_t batch, int64_t count, int64_t at, char* result,
               int64_t rowStride) {
    const Product& p = *a_.products[index];
    const GemmKernels& v = p.kernels;
    // Whatever task a row is in, it is added up in the same order.
    if (p.isRightInPlace && (a_.rows == 1 || v.rowsTimesMatrix)) {
      const RightColumns values = rightInPlace(p.problem, batch, 0);
      const char* weights = weightsAt(p, at, 0);
      if (v.rowsTimesMatrix) {
        return v.rowsTimesMatrix(a_.columns, weights, a_.columns, 1, static_cast<int>(count),
                                 values.data, values.stepStride, result, rowStride, p.width);
      }
      return v.rowTimesMatrix(a_.columns, weights, 1, values.data, values.stepStride, result,
                              p.width);
    }
    const int64_t blockSteps = a_.blockSteps(p);
    const char* block = memory_.values[index];
    for (int64_t step = 0; step < a_.columns; step += blockSteps) {
      const int64_t steps = std::min(blockSteps, a_.columns - step);
      const LeftRows left = weightRows(p, false, weightsAt(p, at, step), count, steps,
                                       v.panelBytes(v.mr, blockSteps));
      const RightColumns values = p.isRightInPlace
                                      ? rightInPlace(p.problem, batch, step)
                                      : RightColumns{block, 0, v.panelBytes(v.nr, steps)};
      multiply(v, left, values, steps, count, p.width, {result, rowStride, step > 0});
      block += ceilDiv(p.width, v.nr) * v.panelBytes(v.nr, blockSteps);
    }
  }

  // Adds the product of these rows of weights, transposed, and the same rows of the values.
  void addOverRows(int index, int64_t batch, int64_t firstRow, int64_t count, int64_t at,
                   bool accumulate) {
    const Product& p = *a_.products[index];
    const GemmKernels& v = p.kernels;
    RightColumns values = rightInPlace(p.problem, batch, firstRow);
    if (!p.isRightInPlace) {
      packColumns(*jobs_.products[index], v, batch, p.width, firstRow, count,
                  memory_.values[index]);
      values = {memory_.values[index], 0, v.panelBytes(v.nr, count)};
    }
    const LeftRows left =
        weightRows(p, true, weightsAt(p, at, 0), a_.columns, count, v.panelBytes(v.mr, count));
    multiply(
        v, left, values, count, a_.columns, p.width,
        {memory_.results[index], a_.addsToResult(p) ? p.resultRowStride() : p.width, accumulate});
  }

  const Attention& a_;
  const Jobs& jobs_;
  TaskMemory memory_;
};

bool runAttention(RunServices& services, const Attention& a) {
  Scratch<int64_t> tables(services, Jobs::tableSize(a));
  if (!tables) return false;
  const Jobs jobs(a, tables.data());

  TaskMemory layout;
  const int64_t bytes = layout.place(a, nullptr);
  const int64_t sumsBytes = a.sumsBytes();
  const int64_t splits = a.splits;
  Scratch<char> sums(services, splits > 1 ? a.batches * splits * sumsBytes : 0);
  if (!sums && splits > 1 && sumsBytes > 0) return false;

  std::atomic<bool> outOfMemory{false};
  auto runTasks = [&](int64_t first, int64_t last) {
    Scratch<char> scratch(services, bytes + (splits > 1 ? 0 : sumsBytes));
    if (!scratch) {
      outOfMemory = true;
      return;
    }
    Task task(a, jobs, scratch.data());
    for (int64_t i = first; i < last; ++i) {
      if (splits == 1) {
        const int64_t item = i * a.itemsAtATime;
        task.run(item, std::min(a.itemsAtATime, a.batches - item), 0, a.rows,
                 scratch.data() + bytes);
      } else {
        const int64_t part = i % splits;
        task.run(i / splits, 1, a.rows * part / splits, a.rows * (part + 1) / splits,
                 sums.data() + i * sumsBytes);
      }
    }
  };
  auto finishBatches = [&](int64_t first, int64_t last) {
    Scratch<char> scratch(services, bytes);
    if (!scratch) {
      outOfMemory = true;
      return;
    }
    for (int64_t i = first; i < last; ++i) {
      finish(a, i, sums.data() + i * splits * sumsBytes, splits, scratch.data());
    }
  };
  auto run = [&](int64_t count, auto&& body) {
    if (a.isParallel) {
      parallelFor(services, count, 1, body);
    } else {
      body(0, count);
    }
  };
  run(ceilDiv(a.batches, a.itemsAtATime) * splits, runTasks);
  if (splits > 1 && a.sumsRows && !outOfMemory) run(a.batches, finishBatches);
  return !outOfMemory;
}

}  // namespace

extern "C" int32_t isthmus_rt_attention(IsthmusRun* run, const void* descriptor,
                                        void* const* buffers) {
  const Attention attention(*static_cast<const AttentionDescriptor*>(descriptor), buffers,
                            run->services->numThreads());
  if (runAttention(*run->services, attention)) return 0;
  return fail(run, resourceExhausted("attention: no scratch memory for rows of scores"));
}

}  // namespace isthmus::cpu

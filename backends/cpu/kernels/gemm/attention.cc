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
#include "backends/cpu/kernels/parallel_for.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

constexpr int64_t kAlignment = 64;
// Steps of the weights in a panel: what of the values meets them stays in the first-level cache.
constexpr int64_t kStepsPerBlock = 256;
// Rows for which packing keys and values again is worth a thread.
constexpr int64_t kRowsPerTask = 64;
// The same where sums over rows are added up afterwards; and how many tasks are enough.
constexpr int64_t kRowsPerPart = 256;
constexpr int64_t kEnoughParts = 8;
// Rows of a result that are transposed together.
constexpr int64_t kStoredRows = 64;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }

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
                      dot.rhsType);
}

struct Scores {
  const DotProblem problem;
  const GemmDomain domain;
  const GemmKernels& kernels;
  const bool isDirect;  // sums are what the kernel reads

  Scores(const DotDescriptor& dot, void* const* buffers)
      : problem(decodeDot(dot, buffers)),
        domain(domainOf(dot)),
        kernels(gemmKernels(domain)),
        isDirect(isDomainType(domain, dot.resultType)) {}
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
  const int64_t width;  // columns of the values

  Product(const RowProductDescriptor& descriptor, void* const* buffers)
      : d(descriptor),
        problem(decodeDot(d.values, buffers)),
        domain(domainOf(d.values)),
        kernels(gemmKernels(domain)),
        batchDims(d.result, static_cast<size_t>(d.batchRank)),
        rowDims(d.result + d.batchRank, static_cast<size_t>(d.rowRank)),
        columnDims(d.result + d.batchRank + d.rowRank, static_cast<size_t>(d.columnRank)),
        width(problem.cols) {}
};

// What the tasks of one call share.
struct Attention {
  const AttentionDescriptor& d;
  void* const* buffers;
  std::optional<Scores> scores[kMaxScores];
  std::optional<Product> products[kMaxRowProducts];
  int64_t batches, rows, columns;  // of scores: rows of a batch
  int64_t rowsAtATime;
  bool sumsRows = false;

  Attention(const AttentionDescriptor& descriptor, void* const* buffers)
      : d(descriptor), buffers(buffers) {
    for (int i = 0; i < d.scoresCount; ++i) scores[i].emplace(d.scores[i], buffers);
    for (int i = 0; i < d.productCount; ++i) {
      products[i].emplace(d.products[i], buffers);
      sumsRows |= d.products[i].sumsRows != 0;
    }
    batches = scores[0]->problem.batches;
    rows = scores[0]->problem.rows;
    columns = scores[0]->problem.cols;
    const int64_t mr = scores[0]->kernels.mr;
    rowsAtATime = std::min(rows, std::max(mr, d.rowsAtATime / mr * mr));
  }
  int64_t weightBytes(int weights) const {
    return static_cast<int64_t>(storageBytes(d.weightTypes[weights]));
  }
  // Of a product that sums the elements of each row.
  int64_t blockSteps(const Product& p) const {
    return std::min(columns, roundUp(kStepsPerBlock, p.kernels.stepsPerBlock()));
  }
  // Of a product that sums over rows.
  int64_t sumsBytes(const Product& p) const {
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
      const int64_t depth = a.scores[i]->problem.depth;
      keys[i] = add(ceilDiv(a.columns, k.nr) * k.panelBytes(k.nr, depth));
      panelBytes = std::max(panelBytes, ceilDiv(a.rowsAtATime, k.mr) * k.panelBytes(k.mr, depth));
      const int64_t bytes = a.rowsAtATime * a.columns * k.elementBytes;
      if (!a.scores[i]->isDirect) sumBytes = std::max(sumBytes, bytes);
      scores[i] = add(
          a.scores[i]->isDirect ? bytes : a.rowsAtATime * a.columns * a.scores[i]->elementBytes());
    }
    for (int i = 0; i < a.d.weightsCount; ++i) {
      const int32_t shared = a.d.sharedScores[i];
      weights[i] = shared >= 0 ? scores[shared] : add(a.rowsAtATime * a.columns * a.weightBytes(i));
    }
    for (int i = 0; i < a.d.productCount; ++i) {
      const Product& p = *a.products[i];
      const GemmKernels& k = p.kernels;
      widest = std::max(widest, p.width);
      if (p.d.sumsRows) {
        values[i] = add(ceilDiv(p.width, k.nr) * k.panelBytes(k.nr, a.rowsAtATime));
        panelBytes = std::max(panelBytes, k.panelBytes(k.mr, a.rowsAtATime));
        results[i] = nullptr;
        continue;
      }
      const int64_t steps = a.blockSteps(p);
      values[i] =
          add(ceilDiv(a.columns, steps) * ceilDiv(p.width, k.nr) * k.panelBytes(k.nr, steps));
      panelBytes = std::max(panelBytes, ceilDiv(a.rowsAtATime, k.mr) * k.panelBytes(k.mr, steps));
      results[i] = add(a.rowsAtATime * p.width * k.elementBytes);
    }
    rowPanels = add(panelBytes);
    sums = add(sumBytes);
    converted = add(kStoredRows * widest * 8);
    return total;
  }
};

void begin(const GemmKernels& kernels) {
  if (kernels.begin) kernels.begin();
}
void end(const GemmKernels& kernels) {
  if (kernels.end) kernels.end();
}

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

// Operands behind tables of offsets.
struct Jobs {
  std::optional<DotJob> scores[kMaxScores];
  std::optional<DotJob> products[kMaxRowProducts];
  const int64_t* steps;    // 0, 1, …
  const int64_t* strides;  // 0, columns, 2 * columns, …

  static int64_t tableSize(const Attention& a) {
    int64_t total = a.columns + a.rowsAtATime;
    auto add = [&](const DotProblem& p) { total += p.rows + p.cols + 2 * p.depth; };
    for (int i = 0; i < a.d.scoresCount; ++i) add(a.scores[i]->problem);
    for (int i = 0; i < a.d.productCount; ++i) add(a.products[i]->problem);
    return total;
  }

  Jobs(const Attention& a, int64_t* tables) {
    auto add = [&](std::optional<DotJob>& job, const DotProblem& p, GemmDomain domain) {
      job.emplace(p, domain, tables);
      tables += p.rows + p.cols + 2 * p.depth;
    };
    for (int i = 0; i < a.d.scoresCount; ++i) {
      add(scores[i], a.scores[i]->problem, a.scores[i]->domain);
    }
    for (int i = 0; i < a.d.productCount; ++i) {
      add(products[i], a.products[i]->problem, a.products[i]->domain);
    }
    steps = tables;
    for (int64_t i = 0; i < a.columns; ++i) *tables++ = i;
    strides = tables;
    for (int64_t i = 0; i < a.rowsAtATime; ++i) *tables++ = i * a.columns;
  }
};

class Task {
 public:
  Task(const Attention& a, const Jobs& jobs, char* memory) : a_(a), jobs_(jobs) {
    memory_.place(a, memory);
  }

  // Of one batch item. What products sum over these rows is added up in `sums`.
  void run(int64_t batch, int64_t firstRow, int64_t lastRow, char* sums) {
    for (int i = 0; i < a_.d.productCount; ++i) {
      if (!a_.d.products[i].sumsRows) continue;
      memory_.results[i] = sums;
      sums += a_.sumsBytes(*a_.products[i]);
    }
    packOperands(batch);
    for (int64_t row = firstRow; row < lastRow; row += a_.rowsAtATime) {
      const int64_t count = std::min(a_.rowsAtATime, lastRow - row);
      for (int i = 0; i < a_.d.scoresCount; ++i) computeScores(i, batch, row, count);
      computeWeights(batch * a_.rows + row, count);
      for (int i = 0; i < a_.d.productCount; ++i) {
        const Product& p = *a_.products[i];
        if (p.d.sumsRows) {
          addOverRows(i, batch, row, count, row > firstRow);
          continue;
        }
        sumRows(i, count);
        store(a_, p, batch, row, count, memory_.results[i], memory_.converted);
      }
    }
  }

  char* converted() { return memory_.converted; }

 private:
  void packOperands(int64_t batch) {
    for (int i = 0; i < a_.d.scoresCount; ++i) {
      packColumns(*jobs_.scores[i], a_.scores[i]->kernels, batch, a_.columns, 0,
                  a_.scores[i]->problem.depth, memory_.keys[i]);
    }
    for (int i = 0; i < a_.d.productCount; ++i) {
      const Product& p = *a_.products[i];
      if (p.d.sumsRows) continue;
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

  void computeScores(int index, int64_t batch, int64_t firstRow, int64_t count) {
    const Scores& scores = *a_.scores[index];
    const GemmKernels& s = scores.kernels;
    const int64_t depth = scores.problem.depth;
    const int64_t aBytes = s.panelBytes(s.mr, depth);
    const int64_t bBytes = s.panelBytes(s.nr, depth);
    char* sums = scores.isDirect ? memory_.scores[index] : memory_.sums;
    for (int64_t row = 0; row < count; row += s.mr) {
      jobs_.scores[index]->packA(batch, memory_.rowPanels + row / s.mr * aBytes, s.mr,
                                 firstRow + row,
                                 static_cast<int>(std::min<int64_t>(s.mr, count - row)), 0, depth);
    }
    begin(s);
    for (int64_t column = 0; column < a_.columns; column += s.nr) {
      for (int64_t row = 0; row < count; row += s.mr) {
        s.tile(depth, memory_.rowPanels + row / s.mr * aBytes,
               memory_.keys[index] + column / s.nr * bBytes,
               sums + (row * a_.columns + column) * s.elementBytes, a_.columns,
               static_cast<int>(std::min<int64_t>(s.mr, count - row)),
               static_cast<int>(std::min<int64_t>(s.nr, a_.columns - column)), false);
      }
    }
    end(s);
    if (scores.isDirect) return;
    storeSums(scores.domain, sums, count * a_.columns, scores.problem.dot.resultType,
              memory_.scores[index], 0);
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

  // Weights as left operands: lanes are rows, or if `isTransposed` columns.
  void packWeights(const Product& p, bool isTransposed, const char* first, int lanes, int64_t steps,
                   char* panel) {
    const int64_t* byRow = jobs_.strides;
    const int64_t* byColumn = jobs_.steps;
    PanelSource source{first,
                       a_.d.weightTypes[p.d.weights],
                       lanes,
                       isTransposed ? byColumn : byRow,
                       isTransposed ? byRow : byColumn,
                       steps,
                       isTransposed && lanes > 1,
                       isTransposed ? 1 : a_.columns,
                       0,
                       true};
    p.kernels.pack(panel, p.kernels.mr, source);
  }

  // The product of rows of weights and all values.
  void sumRows(int index, int64_t count) {
    const Product& p = *a_.products[index];
    const GemmKernels& v = p.kernels;
    const int64_t blockSteps = a_.blockSteps(p);
    const int64_t aBytes = v.panelBytes(v.mr, blockSteps);
    const char* block = memory_.values[index];
    for (int64_t step = 0; step < a_.columns; step += blockSteps) {
      const int64_t steps = std::min(blockSteps, a_.columns - step);
      for (int64_t row = 0; row < count; row += v.mr) {
        packWeights(
            p, false,
            memory_.weights[p.d.weights] + (row * a_.columns + step) * a_.weightBytes(p.d.weights),
            static_cast<int>(std::min<int64_t>(v.mr, count - row)), steps,
            memory_.rowPanels + row / v.mr * aBytes);
      }
      begin(v);
      const char* panel = block;
      for (int64_t column = 0; column < p.width; column += v.nr) {
        for (int64_t row = 0; row < count; row += v.mr) {
          v.tile(steps, memory_.rowPanels + row / v.mr * aBytes, panel,
                 memory_.results[index] + (row * p.width + column) * v.elementBytes, p.width,
                 static_cast<int>(std::min<int64_t>(v.mr, count - row)),
                 static_cast<int>(std::min<int64_t>(v.nr, p.width - column)), step > 0);
        }
        panel += v.panelBytes(v.nr, steps);
      }
      end(v);
      block += ceilDiv(p.width, v.nr) * v.panelBytes(v.nr, blockSteps);
    }
  }

  // Adds the product of these rows of weights, transposed, and the same rows of the values.
  void addOverRows(int index, int64_t batch, int64_t firstRow, int64_t count, bool accumulate) {
    const Product& p = *a_.products[index];
    const GemmKernels& v = p.kernels;
    packColumns(*jobs_.products[index], v, batch, p.width, firstRow, count, memory_.values[index]);
    for (int64_t row = 0; row < a_.columns; row += v.mr) {
      const int lanes = static_cast<int>(std::min<int64_t>(v.mr, a_.columns - row));
      packWeights(p, true, memory_.weights[p.d.weights] + row * a_.weightBytes(p.d.weights), lanes,
                  count, memory_.rowPanels);
      begin(v);
      const char* panel = memory_.values[index];
      for (int64_t column = 0; column < p.width; column += v.nr) {
        v.tile(count, memory_.rowPanels, panel,
               memory_.results[index] + (row * p.width + column) * v.elementBytes, p.width, lanes,
               static_cast<int>(std::min<int64_t>(v.nr, p.width - column)), accumulate);
        panel += v.panelBytes(v.nr, count);
      }
      end(v);
    }
  }

  const Attention& a_;
  const Jobs& jobs_;
  TaskMemory memory_;
};

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
    if (!p.d.sumsRows) continue;
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

bool runAttention(RunServices& services, const Attention& a) {
  Scratch<int64_t> tables(services, Jobs::tableSize(a));
  if (!tables) return false;
  const Jobs jobs(a, tables.data());

  TaskMemory layout;
  const int64_t bytes = layout.place(a, nullptr);
  const int64_t sumsBytes = a.sumsBytes();
  const int threads = services.numThreads();
  double work = 0;
  for (int i = 0; i < a.d.scoresCount; ++i) work += static_cast<double>(a.scores[i]->problem.depth);
  for (int i = 0; i < a.d.productCount; ++i) work += static_cast<double>(a.products[i]->width);
  work *=
      static_cast<double>(a.batches) * static_cast<double>(a.rows) * static_cast<double>(a.columns);
  const bool isParallel = threads > 1 && worthThreads(work);
  // Sums over rows are the same for any number of threads: their parts do not depend on it.
  int64_t splits = 1;
  if (a.sumsRows) {
    splits = std::clamp<int64_t>(a.rows / kRowsPerPart, 1, ceilDiv(kEnoughParts, a.batches));
  } else if (isParallel) {
    splits =
        std::clamp<int64_t>(a.rows / kRowsPerTask, 1, ceilDiv(int64_t{4} * threads, a.batches));
  }
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
      const int64_t part = i % splits;
      char* own = splits > 1 ? sums.data() + i * sumsBytes : scratch.data() + bytes;
      task.run(i / splits, a.rows * part / splits, a.rows * (part + 1) / splits, own);
      if (splits == 1) finish(a, i, own, 1, task.converted());
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
    if (isParallel) {
      parallelFor(services, count, 1, body);
    } else {
      body(0, count);
    }
  };
  run(a.batches * splits, runTasks);
  if (splits > 1 && a.sumsRows && !outOfMemory) run(a.batches, finishBatches);
  return !outOfMemory;
}

}  // namespace

extern "C" int32_t isthmus_rt_attention(IsthmusRun* run, const void* descriptor,
                                        void* const* buffers) {
  const Attention attention(*static_cast<const AttentionDescriptor*>(descriptor), buffers);
  if (runAttention(*run->services, attention)) return 0;
  return fail(run, resourceExhausted("attention: no scratch memory for rows of scores"));
}

}  // namespace isthmus::cpu

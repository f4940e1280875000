// Products of rows, a kernel on them and the products of what it gives, some rows at a time.
//
// As in Dao et al., FlashAttention (2022), scores never leave the cache; but rows are whole, since
// those of any length that kernels read fit it, and the kernel between the products may be any.
#include "backends/cpu/kernels/gemm/attention.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>

#include "backends/cpu/kernels/gemm/dot_job.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "backends/cpu/kernels/scratch.h"

namespace isthmus::cpu {
namespace {

constexpr int64_t kAlignment = 64;
// Steps of the weights in a panel: what of the values meets them stays in the first-level cache.
constexpr int64_t kStepsPerBlock = 256;
// Rows for which packing keys and values again is worth a thread.
constexpr int64_t kRowsPerTask = 64;

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

// What the tasks of one call share.
struct Attention {
  const AttentionDescriptor& d;
  void* const* buffers;
  DotProblem scores, values;
  GemmDomain scoresDomain, valuesDomain;
  const GemmKernels& scoresKernels;
  const GemmKernels& valuesKernels;
  std::span<const ResultDimension> batchDims, rowDims, columnDims;
  int64_t rows, columns, depth;  // rows of a batch, columns of scores, columns of values
  int64_t rowsAtATime;
  int64_t blockSteps;  // of weights
  bool isDirect;       // scores are what the kernel reads

  static GemmDomain domainOf(const DotDescriptor& dot) {
    return narrowDomain(chooseDomain(dot.lhsType, dot.rhsType, dot.resultType), dot.lhsType,
                        dot.rhsType);
  }

  Attention(const AttentionDescriptor& descriptor, void* const* buffers)
      : d(descriptor),
        buffers(buffers),
        scores(decodeDot(d.scores, buffers)),
        values(decodeDot(d.values, buffers)),
        scoresDomain(domainOf(d.scores)),
        valuesDomain(domainOf(d.values)),
        scoresKernels(gemmKernels(scoresDomain)),
        valuesKernels(gemmKernels(valuesDomain)),
        batchDims(d.result, static_cast<size_t>(d.batchRank)),
        rowDims(d.result + d.batchRank, static_cast<size_t>(d.rowRank)),
        columnDims(d.result + d.batchRank + d.rowRank, static_cast<size_t>(d.columnRank)),
        rows(scores.rows),
        columns(scores.cols),
        depth(values.cols) {
    const int64_t mr = scoresKernels.mr;
    rowsAtATime = std::min(rows, std::max(mr, d.rowsAtATime / mr * mr));
    blockSteps = std::min(columns, roundUp(kStepsPerBlock, valuesKernels.stepsPerBlock()));
    isDirect = isDomainType(scoresDomain, d.scores.resultType);
  }
  int64_t scoreBytes() const { return static_cast<int64_t>(storageBytes(d.scores.resultType)); }
  int64_t weightBytes() const { return static_cast<int64_t>(storageBytes(d.values.lhsType)); }
  int64_t blocks() const { return ceilDiv(columns, blockSteps); }
};

// Memory of one task.
struct TaskMemory {
  char *keys, *valuePanels, *rowPanels, *sums, *scores, *weights, *results;

  // Lays the parts out from `memory` on; returns how many bytes they take.
  int64_t place(const Attention& a, char* memory) {
    int64_t total = 0;
    auto add = [&](int64_t bytes) {
      char* at = memory ? memory + total : nullptr;
      total += roundUp(bytes, kAlignment);
      return at;
    };
    const GemmKernels &s = a.scoresKernels, &v = a.valuesKernels;
    keys = add(ceilDiv(a.columns, s.nr) * s.panelBytes(s.nr, a.scores.depth));
    valuePanels = add(a.blocks() * ceilDiv(a.depth, v.nr) * v.panelBytes(v.nr, a.blockSteps));
    rowPanels = add(std::max(ceilDiv(a.rowsAtATime, s.mr) * s.panelBytes(s.mr, a.scores.depth),
                             ceilDiv(a.rowsAtATime, v.mr) * v.panelBytes(v.mr, a.blockSteps)));
    sums = add(a.rowsAtATime * a.columns * s.elementBytes);
    scores = a.isDirect ? sums : add(a.rowsAtATime * a.columns * a.scoreBytes());
    weights = a.d.sharesRows ? scores : add(a.rowsAtATime * a.columns * a.weightBytes());
    results = add((a.rowsAtATime + 1) * a.depth * std::max<int64_t>(v.elementBytes, 16));
    return total;
  }
};

void begin(const GemmKernels& kernels) {
  if (kernels.begin) kernels.begin();
}
void end(const GemmKernels& kernels) {
  if (kernels.end) kernels.end();
}

class Task {
 public:
  Task(const Attention& a, const DotJob& scores, const DotJob& values, const int64_t* steps,
       char* memory)
      : a_(a), scores_(scores), values_(values), steps_(steps) {
    memory_.place(a, memory);
  }

  // Of one batch item.
  void run(int64_t batch, int64_t firstRow, int64_t lastRow) {
    packOperands(batch);
    for (int64_t row = firstRow; row < lastRow; row += a_.rowsAtATime) {
      const int64_t count = std::min(a_.rowsAtATime, lastRow - row);
      computeScores(batch, row, count);
      computeWeights(batch * a_.rows + row, count);
      computeResults(count);
      store(batch, row, count);
    }
  }

 private:
  void packOperands(int64_t batch) {
    const GemmKernels &s = a_.scoresKernels, &v = a_.valuesKernels;
    char* panel = memory_.keys;
    for (int64_t column = 0; column < a_.columns; column += s.nr) {
      scores_.packB(batch, panel, s.nr, column,
                    static_cast<int>(std::min<int64_t>(s.nr, a_.columns - column)), 0,
                    a_.scores.depth);
      panel += s.panelBytes(s.nr, a_.scores.depth);
    }
    panel = memory_.valuePanels;
    for (int64_t step = 0; step < a_.columns; step += a_.blockSteps) {
      for (int64_t column = 0; column < a_.depth; column += v.nr) {
        values_.packB(batch, panel, v.nr, column,
                      static_cast<int>(std::min<int64_t>(v.nr, a_.depth - column)), step,
                      std::min(a_.blockSteps, a_.columns - step));
        panel += v.panelBytes(v.nr, a_.blockSteps);
      }
    }
  }

  void computeScores(int64_t batch, int64_t firstRow, int64_t count) {
    const GemmKernels& s = a_.scoresKernels;
    const int64_t aBytes = s.panelBytes(s.mr, a_.scores.depth);
    const int64_t bBytes = s.panelBytes(s.nr, a_.scores.depth);
    for (int64_t row = 0; row < count; row += s.mr) {
      scores_.packA(batch, memory_.rowPanels + row / s.mr * aBytes, s.mr, firstRow + row,
                    static_cast<int>(std::min<int64_t>(s.mr, count - row)), 0, a_.scores.depth);
    }
    begin(s);
    for (int64_t column = 0; column < a_.columns; column += s.nr) {
      for (int64_t row = 0; row < count; row += s.mr) {
        s.tile(a_.scores.depth, memory_.rowPanels + row / s.mr * aBytes,
               memory_.keys + column / s.nr * bBytes,
               memory_.sums + (row * a_.columns + column) * s.elementBytes, a_.columns,
               static_cast<int>(std::min<int64_t>(s.mr, count - row)),
               static_cast<int>(std::min<int64_t>(s.nr, a_.columns - column)), false);
      }
    }
    end(s);
    if (a_.isDirect) return;
    storeSums(a_.scoresDomain, memory_.sums, count * a_.columns, a_.d.scores.resultType,
              memory_.scores, 0);
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
      table[i] = buffer == kScoresBuffer    ? beginOf(memory_.scores, a_.scoreBytes())
                 : buffer == kWeightsBuffer ? beginOf(memory_.weights, a_.weightBytes())
                                            : a_.buffers[buffer];
    }
    reinterpret_cast<IsthmusKernel>(a_.buffers[a_.d.kernelBuffer])(table, firstRow,
                                                                   firstRow + count);
  }

  void packWeights(int64_t step, int64_t steps, int64_t count) {
    const GemmKernels& v = a_.valuesKernels;
    int64_t lanes[kMaxGemmLanes];
    for (int64_t row = 0; row < count; row += v.mr) {
      const int rows = static_cast<int>(std::min<int64_t>(v.mr, count - row));
      for (int i = 0; i < rows; ++i) lanes[i] = i * a_.columns;
      PanelSource source{memory_.weights + (row * a_.columns + step) * a_.weightBytes(),
                         a_.d.values.lhsType,
                         rows,
                         lanes,
                         steps_,
                         steps,
                         false,
                         a_.columns,
                         0,
                         true};
      v.pack(memory_.rowPanels + row / v.mr * v.panelBytes(v.mr, a_.blockSteps), v.mr, source);
    }
  }

  void computeResults(int64_t count) {
    const GemmKernels& v = a_.valuesKernels;
    const int64_t aBytes = v.panelBytes(v.mr, a_.blockSteps);
    const char* panel = memory_.valuePanels;
    for (int64_t step = 0; step < a_.columns; step += a_.blockSteps) {
      const int64_t steps = std::min(a_.blockSteps, a_.columns - step);
      packWeights(step, steps, count);
      begin(v);
      for (int64_t column = 0; column < a_.depth; column += v.nr) {
        for (int64_t row = 0; row < count; row += v.mr) {
          v.tile(steps, memory_.rowPanels + row / v.mr * aBytes, panel,
                 memory_.results + (row * a_.depth + column) * v.elementBytes, a_.depth,
                 static_cast<int>(std::min<int64_t>(v.mr, count - row)),
                 static_cast<int>(std::min<int64_t>(v.nr, a_.depth - column)), step > 0);
        }
        panel += v.panelBytes(v.nr, a_.blockSteps);
      }
      end(v);
    }
  }

  void store(int64_t batch, int64_t firstRow, int64_t count) {
    const ElementType type = a_.d.values.resultType;
    const auto bytes = static_cast<size_t>(storageBytes(type));
    const bool isRow =
        a_.columnDims.empty() || (a_.columnDims.size() == 1 && a_.columnDims[0].stride == 1);
    void* result = a_.buffers[a_.d.resultBuffer];
    const int64_t batchOffset = offsetOf(a_.batchDims, batch);
    char* converted = memory_.results + a_.rowsAtATime * a_.depth * a_.valuesKernels.elementBytes;
    for (int64_t row = 0; row < count; ++row) {
      const char* sums = memory_.results + row * a_.depth * a_.valuesKernels.elementBytes;
      const int64_t at = batchOffset + offsetOf(a_.rowDims, firstRow + row);
      if (isRow) {
        storeSums(a_.valuesDomain, sums, a_.depth, type, result, at);
        continue;
      }
      storeSums(a_.valuesDomain, sums, a_.depth, type, converted, 0);
      for (int64_t column = 0; column < a_.depth; ++column) {
        std::memcpy(static_cast<char*>(result) +
                        (at + offsetOf(a_.columnDims, column)) * static_cast<int64_t>(bytes),
                    converted + column * static_cast<int64_t>(bytes), bytes);
      }
    }
  }

  const Attention& a_;
  const DotJob& scores_;
  const DotJob& values_;
  const int64_t* steps_;  // 0, 1, …
  TaskMemory memory_;
};

bool runAttention(RunServices& services, const Attention& a) {
  auto tableSize = [](const DotProblem& p) { return p.rows + p.cols + 2 * p.depth; };
  Scratch<int64_t> tables(services, tableSize(a.scores) + tableSize(a.values) + a.columns);
  if (!tables) return false;
  int64_t* steps = tables.data() + tableSize(a.scores) + tableSize(a.values);
  for (int64_t i = 0; i < a.columns; ++i) steps[i] = i;
  const DotJob scores(a.scores, a.scoresDomain, tables.data());
  const DotJob values(a.values, a.valuesDomain, tables.data() + tableSize(a.scores));

  TaskMemory layout;
  const int64_t bytes = layout.place(a, nullptr);
  std::atomic<bool> outOfMemory{false};
  int64_t splits = 1;
  auto runTasks = [&](int64_t first, int64_t last) {
    Scratch<char> scratch(services, bytes);
    if (!scratch) {
      outOfMemory = true;
      return;
    }
    Task task(a, scores, values, steps, scratch.data());
    for (int64_t i = first; i < last; ++i) {
      const int64_t part = i % splits;
      task.run(i / splits, a.rows * part / splits, a.rows * (part + 1) / splits);
    }
  };
  const int threads = services.numThreads();
  const double work = static_cast<double>(a.scores.batches) * static_cast<double>(a.rows) *
                      static_cast<double>(a.columns) *
                      static_cast<double>(a.scores.depth + a.depth);
  if (threads == 1 || !worthThreads(work)) {
    runTasks(0, a.scores.batches);
  } else {
    const int64_t wanted = ceilDiv(int64_t{4} * threads, a.scores.batches);
    splits = std::clamp<int64_t>(a.rows / kRowsPerTask, 1, wanted);
    parallelFor(services, a.scores.batches * splits, 1, runTasks);
  }
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

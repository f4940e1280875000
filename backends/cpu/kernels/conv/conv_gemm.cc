// Convolution as matrix multiplication: patches of the input are packed straight into panels.
#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/kernels/gemm/gemm_domains.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

// Steps of the contracted dimension are (tap, input feature), features fastest. Tables over them
// and over the taps, made once per call.
struct Tables {
  int64_t taps;
  int64_t features;
  int64_t* input;       // offset of each step in the input, relative to the window
  int64_t* kernel;      // and in the kernel
  int64_t* coordinate;  // taps x rank: distance of the tap from the window's start
  int64_t inputRun;     // steps in a row that are contiguous in the input
  int64_t kernelRun;
};

// The longest aligned runs of consecutive offsets among features, then among features and taps of
// the last axes.
int64_t contiguousRun(const int64_t* offsets, int64_t count, int64_t features) {
  auto all = [&](int64_t run) {
    for (int64_t i = 1; i < count; ++i) {
      if (i % run != 0 && offsets[i] != offsets[i - 1] + 1) return false;
    }
    return true;
  };
  int64_t first = 1;
  while (first < count && offsets[first] == offsets[first - 1] + 1) ++first;
  if (count > 0 && all(first)) return first;
  return features > 1 && all(features) ? features : 1;
}

class ConvJob : public GemmJob {
 public:
  ConvJob(const ConvProblem& problem, GemmDomain gemmDomain, const Tables& tables,
          bool positionsAreA, bool native)
      : p_(problem), kernels_(gemmKernels(gemmDomain)), t_(tables), positionsAreA_(positionsAreA) {
    domain = gemmDomain;
    // The axes that make up the rows (columns) of patches; those before them count batches.
    firstAxis_ = 0;
    if (!positionsAreA && p_.rank > 1 && p_.axes[0].taps == 1) firstAxis_ = 1;
    int64_t outer = firstAxis_ ? p_.axes[0].outputSize : 1;
    positions_ = p_.positions() / outer;
    batches = p_.groups * outer;
    m = positionsAreA ? positions_ : p_.outputFeatures;
    n = positionsAreA ? p_.outputFeatures : positions_;
    k = t_.taps * t_.features;
    direct_ = native && directLayout(&ld_);
    inputBytes_ = static_cast<int64_t>(storageBytes(p_.conv.lhsType));
    kernelBytes_ = static_cast<int64_t>(storageBytes(p_.conv.rhsType));
    resultBytes_ = static_cast<int64_t>(storageBytes(p_.conv.resultType));
    isLeftInPlace_ = positionsLieInRows(&inputStep_);
  }

  void packA(int64_t batch, void* panel, int width, int64_t lane, int lanes, int64_t k0,
             int64_t kc) const override {
    positionsAreA_ ? packPatches(batch, panel, width, lane, lanes, k0, kc)
                   : packKernel(batch, panel, width, lane, lanes, k0, kc);
  }
  void packB(int64_t batch, void* panel, int width, int64_t lane, int lanes, int64_t k0,
             int64_t kc) const override {
    positionsAreA_ ? packKernel(batch, panel, width, lane, lanes, k0, kc)
                   : packPatches(batch, panel, width, lane, lanes, k0, kc);
  }
  const void* leftInPlace(int64_t batch, int64_t* rowStride) const override {
    if (!isLeftInPlace_) return nullptr;
    *rowStride = inputStep_;
    const int64_t offset = p_.inputOffset + groupOf(batch) * p_.inputGroupStride;
    return static_cast<const char*>(p_.lhs) + offset * inputBytes_;
  }
  void* directResult(int64_t batch, int64_t* ld) const override {
    if (!direct_) return nullptr;
    *ld = ld_;
    return static_cast<char*>(p_.result) + outputBase(batch) * resultBytes_;
  }
  void finish(int64_t batch, int64_t rowBegin, int64_t rowEnd, int64_t colBegin, int64_t colEnd,
              const void* sums, int64_t ldSums) const override {
    if (sums) store(batch, rowBegin, rowEnd, colBegin, colEnd, sums, ldSums);
    if (p_.epilogue) {
      const int64_t column = batch * p_.outputFeatures;
      p_.epilogue(p_.epilogueBuffers, rowBegin, rowEnd, column + colBegin, column + colEnd);
    }
  }

 private:
  int64_t groupOf(int64_t batch) const { return batch % p_.groups; }
  int64_t outerOf(int64_t batch) const { return batch / p_.groups; }

  int64_t outputBase(int64_t batch) const {
    int64_t base = p_.outputOffset + groupOf(batch) * p_.outputGroupStride;
    if (firstAxis_) base += outerOf(batch) * p_.axes[0].outputStride;
    return base;
  }

  // Whether positions lie `*step` apart, where strideOf(axis) is the stride along each; 0 of one.
  template <typename StrideOf>
  bool haveOneStride(StrideOf strideOf, int64_t* step) const {
    *step = 0;
    int64_t stride = 0;
    for (int d = p_.rank; d-- > firstAxis_;) {
      if (p_.axes[d].outputSize == 1) continue;
      if (*step == 0) {
        *step = stride = strideOf(p_.axes[d]);
      } else if (strideOf(p_.axes[d]) != stride) {
        return false;
      }
      stride *= p_.axes[d].outputSize;
    }
    return true;
  }

  // Whether sums can go straight to the result: positions at one stride, features at another, one
  // of them 1.
  bool directLayout(int64_t* ld) const {
    int64_t step;
    if (!haveOneStride([](const ConvAxis& a) { return a.outputStride; }, &step)) return false;
    const int64_t featureStep = p_.conv.outputFeatureStride;
    if (positionsAreA_) {
      *ld = step;
      return featureStep == 1 || p_.outputFeatures == 1;
    }
    *ld = featureStep;
    return step == 1 || positions_ == 1;
  }

  // Whether windows of a single tap, without padding, are rows `*step` apart that begin with cache
  // lines.
  bool positionsLieInRows(int64_t* step) const {
    if (!kernels_.takesRowsInPlace || !positionsAreA_ || t_.taps != 1 ||
        p_.conv.inputFeatureStride != 1) {
      return false;
    }
    for (int d = 0; d < p_.rank; ++d) {
      const ConvAxis& axis = p_.axes[d];
      if (axis.padLow != 0 || (axis.outputSize - 1) * axis.windowStride >= axis.inputSize) {
        return false;
      }
    }
    auto inputStride = [](const ConvAxis& a) { return a.windowStride * a.inputStride; };
    auto isWhole = [&](int64_t elements) { return elements * inputBytes_ % kCacheLineBytes == 0; };
    return haveOneStride(inputStride, step) && isWhole(*step) && isWhole(p_.inputGroupStride) &&
           isWhole(p_.inputOffset) && reinterpret_cast<uintptr_t>(p_.lhs) % kCacheLineBytes == 0;
  }

  void positionAt(int64_t index, int64_t* x) const {
    for (int d = p_.rank; d-- > firstAxis_;) {
      x[d] = index % p_.axes[d].outputSize;
      index /= p_.axes[d].outputSize;
    }
  }
  void nextPosition(int64_t* x) const {
    for (int d = p_.rank; d-- > firstAxis_;) {
      if (++x[d] < p_.axes[d].outputSize) return;
      x[d] = 0;
    }
  }

  void packKernel(int64_t batch, void* panel, int width, int64_t lane, int lanes, int64_t k0,
                  int64_t kc) const {
    int64_t laneOffsets[kMaxGemmLanes];
    for (int i = 0; i < lanes; ++i) laneOffsets[i] = (lane + i) * p_.conv.kernelOutputStride;
    const int64_t base = p_.kernelOffset + groupOf(batch) * p_.kernelGroupStride;
    PanelSource source{static_cast<const char*>(p_.rhs) + base * kernelBytes_,
                       p_.conv.rhsType,
                       lanes,
                       laneOffsets,
                       t_.kernel + k0,
                       kc,
                       lanes > 1 && p_.conv.kernelOutputStride == 1,
                       t_.kernelRun,
                       k0 % t_.kernelRun,
                       !positionsAreA_};
    kernels_.pack(panel, width, source);
  }

  // The windows of the lanes of a panel.
  struct Windows {
    int64_t starts[kMaxGemmLanes][kMaxConvAxes];  // where each begins; not if they are in one row
    int64_t laneOffsets[kMaxGemmLanes];
    int64_t low[kMaxConvAxes], high[kMaxConvAxes];  // of starts
    bool contiguous;
    bool oneRow;  // within a row of the innermost axis, where lanes differ by a constant step
  };

  void findWindows(int64_t batch, int64_t lane, int lanes, Windows& w) const {
    const int rank = p_.rank;
    int64_t x[kMaxConvAxes];
    if (firstAxis_) x[0] = outerOf(batch);
    positionAt(lane, x);
    w.contiguous = lanes > 1;
    const int inner = rank - 1;
    w.oneRow = inner >= firstAxis_ && x[inner] + lanes <= p_.axes[inner].outputSize;
    if (w.oneRow) {
      const ConvAxis& last = p_.axes[inner];
      int64_t offset = 0;
      for (int d = 0; d < rank; ++d) {
        w.low[d] = w.high[d] = x[d] * p_.axes[d].windowStride - p_.axes[d].padLow;
        offset += w.low[d] * p_.axes[d].inputStride;
      }
      w.high[inner] += (lanes - 1) * last.windowStride;
      const int64_t step = last.windowStride * last.inputStride;
      for (int i = 0; i < lanes; ++i) w.laneOffsets[i] = offset + i * step;
      w.contiguous = w.contiguous && step == 1;
      return;
    }
    for (int d = 0; d < rank; ++d) w.low[d] = INT64_MAX, w.high[d] = INT64_MIN;
    for (int i = 0; i < lanes; ++i) {
      int64_t offset = 0;
      for (int d = 0; d < rank; ++d) {
        const int64_t start = x[d] * p_.axes[d].windowStride - p_.axes[d].padLow;
        w.starts[i][d] = start;
        offset += start * p_.axes[d].inputStride;
        w.low[d] = std::min(w.low[d], start);
        w.high[d] = std::max(w.high[d], start);
      }
      w.laneOffsets[i] = offset;
      w.contiguous = w.contiguous && offset == w.laneOffsets[0] + i;
      nextPosition(x);
    }
  }

  // Which lanes have a tap at `coordinate` inside the input.
  enum class Presence { kAll, kNone, kSome };
  Presence presenceOf(const Windows& w, const int64_t* coordinate) const {
    bool all = true;
    for (int d = 0; d < p_.rank; ++d) {
      const int64_t size = p_.axes[d].inputSize;
      if (w.high[d] + coordinate[d] < 0 || w.low[d] + coordinate[d] >= size) {
        return Presence::kNone;
      }
      all = all && w.low[d] + coordinate[d] >= 0 && w.high[d] + coordinate[d] < size;
    }
    return all ? Presence::kAll : Presence::kSome;
  }
  bool isInside(const int64_t* start, const int64_t* coordinate) const {
    for (int d = 0; d < p_.rank; ++d) {
      const int64_t at = start[d] + coordinate[d];
      if (at < 0 || at >= p_.axes[d].inputSize) return false;
    }
    return true;
  }

  void packPatches(int64_t batch, void* panel, int width, int64_t lane, int lanes, int64_t k0,
                   int64_t kc) const {
    Windows windows;
    findWindows(batch, lane, lanes, windows);
    const int64_t base = p_.inputOffset + groupOf(batch) * p_.inputGroupStride;
    PanelSource source{static_cast<const char*>(p_.lhs) + base * inputBytes_,
                       p_.conv.lhsType,
                       lanes,
                       windows.laneOffsets,
                       t_.input + k0,
                       kc,
                       windows.contiguous,
                       t_.inputRun,
                       k0 % t_.inputRun,
                       positionsAreA_};
    bool inside = true;
    for (int d = 0; d < p_.rank; ++d) {
      const int64_t reach = (p_.axes[d].taps - 1) * p_.axes[d].tapStep;
      inside = inside && windows.low[d] >= 0 && windows.high[d] + reach < p_.axes[d].inputSize;
    }
    if (inside) return kernels_.pack(panel, width, source);

    if (windows.oneRow) {
      for (int i = 0; i < lanes; ++i) {
        std::copy(windows.low, windows.low + p_.rank, windows.starts[i]);
        windows.starts[i][p_.rank - 1] += i * p_.axes[p_.rank - 1].windowStride;
      }
    }
    packTaps(windows, source, panel, width, k0);
  }

  // Taps that all lanes have are packed together, as are those that none has.
  void packTaps(const Windows& windows, const PanelSource& source, void* panel, int width,
                int64_t k0) const {
    const int64_t stepBytes = width * kernels_.elementBytes / kernels_.stepsPerElement;
    auto packSteps = [&](int64_t begin, int64_t end, int lanes, const int64_t* laneOffsets) {
      PanelSource part = source;
      part.lanes = lanes;
      part.lanesContiguous = source.lanesContiguous && laneOffsets == source.laneOffsets;
      part.laneOffsets = laneOffsets;
      part.kOffsets = t_.input + begin;
      part.kc = end - begin;
      part.kPhase = begin % t_.inputRun;
      packKeepingNext(static_cast<char*>(panel) + (begin - k0) * stepBytes, width, part);
    };
    auto packRun = [&](int64_t begin, int64_t end, bool present) {
      if (begin == end) return;
      if (present) return packSteps(begin, end, source.lanes, source.laneOffsets);
      // Zeros are bytes of zero in panels of every domain but this one.
      if (domain == GemmDomain::kBytes) return packSteps(begin, end, 0, source.laneOffsets);
      std::memset(static_cast<char*>(panel) + (begin - k0) * stepBytes, 0,
                  static_cast<size_t>((end - begin) * stepBytes));
    };
    int64_t runBegin = k0;
    bool runPresent = true;
    const int64_t end = k0 + source.kc;
    for (int64_t step = k0; step < end;) {
      const int64_t tap = step / t_.features;
      const int64_t tapEnd = std::min(end, (tap + 1) * t_.features);
      const int64_t* coordinate = t_.coordinate + tap * p_.rank;
      const Presence presence = presenceOf(windows, coordinate);
      if (presence != Presence::kSome) {
        const bool present = presence == Presence::kAll;
        if (runPresent != present) {
          packRun(runBegin, step, runPresent);
          runBegin = step;
          runPresent = present;
        }
        step = tapEnd;
        continue;
      }
      packRun(runBegin, step, runPresent);
      int64_t some[kMaxGemmLanes];
      for (int i = 0; i < source.lanes; ++i) {
        some[i] = isInside(windows.starts[i], coordinate) ? windows.laneOffsets[i] : kZeroLane;
      }
      packSteps(step, tapEnd, source.lanes, some);
      step = runBegin = tapEnd;
      runPresent = true;
    }
    packRun(runBegin, end, runPresent);
  }

  // Packing may write past its part, over steps that are packed later: parts go in rising order.
  void packKeepingNext(char* out, int width, const PanelSource& part) const {
    kernels_.pack(out, width, part);
  }

  void store(int64_t batch, int64_t rowBegin, int64_t rowEnd, int64_t colBegin, int64_t colEnd,
             const void* sums, int64_t ldSums) const {
    const int64_t base = outputBase(batch);
    const int64_t featureStep = p_.conv.outputFeatureStride;
    const ElementType type = p_.conv.resultType;
    auto sumAt = [&](int64_t row, int64_t col) {
      return static_cast<const char*>(sums) +
             ((row - rowBegin) * ldSums + col - colBegin) * kernels_.elementBytes;
    };
    int64_t x[kMaxConvAxes];
    positionAt(positionsAreA_ ? rowBegin : colBegin, x);
    const int64_t positionEnd = positionsAreA_ ? rowEnd : colEnd;
    const int64_t featureBegin = positionsAreA_ ? colBegin : rowBegin;
    const int64_t featureEnd = positionsAreA_ ? colEnd : rowEnd;
    for (int64_t at = positionsAreA_ ? rowBegin : colBegin; at < positionEnd; ++at) {
      int64_t offset = base;
      for (int d = firstAxis_; d < p_.rank; ++d) offset += x[d] * p_.axes[d].outputStride;
      nextPosition(x);
      if (positionsAreA_ && featureStep == 1) {
        storeSums(domain, sumAt(at, featureBegin), featureEnd - featureBegin, type, p_.result,
                  offset + featureBegin);
        continue;
      }
      for (int64_t f = featureBegin; f < featureEnd; ++f) {
        storeSums(domain, positionsAreA_ ? sumAt(at, f) : sumAt(f, at), 1, type, p_.result,
                  offset + f * featureStep);
      }
    }
  }

  const ConvProblem& p_;
  const GemmKernels& kernels_;
  const Tables& t_;
  bool positionsAreA_;
  int firstAxis_;
  int64_t positions_;
  bool direct_;
  int64_t ld_ = 0;
  bool isLeftInPlace_;
  int64_t inputStep_ = 0;  // from one position to the next, if so
  int64_t inputBytes_, kernelBytes_, resultBytes_;
};

void fillTables(const ConvProblem& p, Tables& t) {
  int64_t w[kMaxConvAxes] = {};
  for (int64_t tap = 0; tap < t.taps; ++tap) {
    int64_t input = 0, kernel = 0;
    for (int d = 0; d < p.rank; ++d) {
      t.coordinate[tap * p.rank + d] = w[d] * p.axes[d].tapStep;
      input += w[d] * p.axes[d].tapStep * p.axes[d].inputStride;
      kernel += w[d] * p.axes[d].kernelStride;
    }
    for (int64_t f = 0; f < t.features; ++f) {
      t.input[tap * t.features + f] = input + f * p.conv.inputFeatureStride;
      t.kernel[tap * t.features + f] = kernel + f * p.conv.kernelInputStride;
    }
    for (int d = p.rank; d-- > 0;) {
      if (++w[d] < p.axes[d].taps) break;
      w[d] = 0;
    }
  }
  t.inputRun = contiguousRun(t.input, t.taps * t.features, t.features);
  t.kernelRun = contiguousRun(t.kernel, t.taps * t.features, t.features);
}

}  // namespace

GemmDomain patchDomain(const ConvProblem& p, GemmDomain domain) {
  auto fillsBlocks = [&](GemmDomain narrow) {
    return p.inputFeatures % gemmKernels(narrow).stepsPerBlock() == 0;
  };
  const GemmDomain narrow = narrowDomain(domain, p.conv.lhsType, p.conv.rhsType, p.conv.resultType);
  if (fillsBlocks(narrow)) return narrow;
  // Of bytes AMX has blocks of 64.
  const bool arePairs = narrow == GemmDomain::kBytes && fillsBlocks(GemmDomain::kPairs);
  return arePairs ? GemmDomain::kPairs : domain;
}

bool runConvAsGemm(RunServices& services, const ConvProblem& p, GemmDomain domain) {
  const bool nativeResult = isDomainType(domain, p.conv.resultType);
  domain = patchDomain(p, domain);
  Tables tables{};
  tables.taps = p.taps();
  tables.features = p.inputFeatures;
  const int64_t steps = tables.taps * tables.features;
  Scratch<int64_t> memory(services, 2 * steps + tables.taps * p.rank + 1);
  if (!memory) return false;
  tables.input = memory.data();
  tables.kernel = tables.input + steps;
  tables.coordinate = tables.kernel + steps;
  fillTables(p, tables);
  // Features as columns where they are contiguous in the result, else positions.
  const bool positionsAreA =
      p.conv.outputFeatureStride == 1 || p.rank == 0 || p.axes[p.rank - 1].outputStride != 1;
  return runGemm(services, ConvJob(p, domain, tables, positionsAreA, nativeResult));
}

}  // namespace isthmus::cpu

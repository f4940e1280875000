// Convolution without a matrix of patches: tiles of neighbouring positions read their windows where
// they lie, in the input or, where windows reach over its edges, in a padded copy of a part of it
// that stays in the second-level cache. Kernels that few tiles meet are read where they lie, others
// are packed.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "backends/cpu/kernels/cache_sizes.h"
#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/kernels/conv/depthwise_kernels.h"
#include "backends/cpu/kernels/conv/grouped_kernels.h"
#include "backends/cpu/kernels/gemm/gemm_domains.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "base/integer_math.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

// Of an element of the kernel that is spread for groups.
constexpr int64_t kSumBytes = 4;

// A kernel that so few tiles of positions meet is read where it lies: packing it would cost more.
constexpr int64_t kFewTiles = 8;
// Of such a kernel: steps of so many of its rows that they stay near while all tiles meet them, and
// those between which rows of the next columns are prefetched.
constexpr int64_t kRowsAtOnce = 256;
constexpr int64_t kRowsOfRun = 32;

// How far the windows of `count` neighbouring positions reach.
int64_t reach(const ConvAxis& a, int64_t count) {
  return (count - 1) * a.windowStride + (a.taps - 1) * a.tapStep + 1;
}

bool needsPadding(const ConvAxis& a) {
  return a.padLow > 0 || reach(a, a.outputSize) - a.padLow > a.inputSize;
}

class WindowConv {
 public:
  WindowConv(const ConvProblem& problem, GemmDomain domain)
      : p_(problem), kernels_(gemmKernels(domain)) {
    inputBytes_ = static_cast<int64_t>(storageBytes(p_.conv.lhsType));
    resultBytes_ = static_cast<int64_t>(storageBytes(p_.conv.resultType));
    const bool rounds = domain == GemmDomain::kBf16 && p_.conv.resultType == ElementType::kBF16;
    runTile_ = rounds ? kernels_.runTileToBfloats : kernels_.runTile;
    accumulates_ = !rounds;
    rank_ = 0;
    for (int d = 0; d < p_.rank; ++d) {
      const ConvAxis& axis = p_.axes[d];
      if (rank_ > 0 && joins(axes_[rank_ - 1], axis)) {
        const int64_t size = axes_[rank_ - 1].outputSize;
        axes_[rank_ - 1] = axis;
        axes_[rank_ - 1].inputSize *= size;
        axes_[rank_ - 1].outputSize *= size;
        continue;
      }
      axes_[rank_++] = axis;
    }
    for (int d = 0; d < rank_; ++d) pads_ = pads_ || needsPadding(axes_[d]);
    chooseGroupTile();
    chooseFilter();
    readsKernelInPlace_ = suitsKernelInPlace();
  }

  // Whether rows are filtered: vectors run along positions and their few features.
  bool filters() const { return filter_.run != nullptr; }

  // Null if windows can be read in place.
  const char* refusal(Asked asked) const {
    if (rank_ == 0 || !runTile_) return "no kernel of these types";
    if (p_.conv.outputFeatureStride != 1 && p_.outputFeatures != 1) return "features lie apart";
    const bool contiguous = p_.conv.inputFeatureStride == 1 || p_.inputFeatures == 1;
    if (!contiguous) return "features lie apart";
    if (p_.groups > 1 && p_.inputGroupStride != p_.inputFeatures) return "groups lie apart";
    if (p_.inputFeatures == 0 || axes_[rank_ - 1].taps == 0) return "there is nothing to sum";
    if (asked == Asked::kWhetherItCan) return nullptr;
    // Without windows nothing is read twice: only results that lie apart are better written here.
    // Short rows fill few registers.
    const bool liesApart = inner().outputStride > p_.groups * p_.outputFeatures;
    if (p_.taps() == 1 && !liesApart && !groupTile_ && !filters()) return "windows of one element";
    return inner().outputSize >= 4 ? nullptr : "short rows";
  }

  // False for want of scratch memory.
  bool run(RunServices& services) {
    services_ = &services;
    shapeTasks();
    makeRuns();
    const int64_t panels = ceilDiv(p_.outputFeatures, kernels_.nr);
    const double work = static_cast<double>(p_.positions()) * static_cast<double>(p_.groups) *
                        static_cast<double>(p_.outputFeatures) * static_cast<double>(steps_);
    const bool serial = services_->numThreads() == 1 || !worthThreads(work);
    const int64_t features = p_.groups * p_.outputFeatures;
    if (readsKernelInPlace_) {
      // Threads share the kernel, of which each reads its columns.
      const int64_t nr = kernels_.nr;
      forEach(serial, panels, [&](int64_t begin, int64_t end) {
        runTasks(0, tasks_, begin * nr, std::min(end * nr, features));
      });
      return !outOfMemory_;
    }
    Scratch<char> packed(*services_, filters() ? steps_ * filter_.period * filter_.weightBytes
                                     : groupTile_
                                         ? p_.groups * p_.outputFeatures * steps_ * kSumBytes
                                         : p_.groups * panels * panelBytes_);
    if (!packed) return false;
    packed_ = packed.data();
    if (filters()) {
      packFilter();
    } else if (groupTile_) {
      packGroups();
    } else {
      forEach(serial || steps_ * p_.outputFeatures < (32 << 10), p_.groups * panels,
              [&](int64_t begin, int64_t end) { packKernel(begin, end, panels); });
    }
    forEach(serial, tasks_, [&](int64_t begin, int64_t end) { runTasks(begin, end, 0, features); });
    return !outOfMemory_;
  }

 private:
  // Of groups with few features several share a vector.
  void chooseGroupTile() {
    const int64_t features = p_.inputFeatures;
    const GroupKernels& kernels = *forHost(v2::groupKernels, v3::groupKernels, v4::groupKernels)();
    if (features < 2 || features != p_.outputFeatures || kernels.lanes % features != 0 ||
        p_.groups * features % kernels.lanes != 0 || p_.outputGroupStride != features) {
      return;
    }
    groupTile_ = kernels.tileFor(p_.conv.lhsType, p_.conv.resultType, features);
    groupLanes_ = kernels.lanes;
    groupRows_ = kernels.maxRows;
  }

  // Of rows whose positions lie side by side, each with few features that are groups of their own.
  void chooseFilter() {
    constexpr int64_t kMostFeatures = 64;
    const ElementType type = p_.conv.lhsType;
    if (rank_ == 0 || p_.inputFeatures != 1 || p_.outputFeatures != 1 ||
        p_.groups > kMostFeatures || type != p_.conv.rhsType || type != p_.conv.resultType ||
        inner().windowStride != 1 || inner().inputStride != p_.groups ||
        inner().outputStride != p_.groups) {
      return;
    }
    if (p_.groups > 1 && (p_.inputGroupStride != 1 || p_.outputGroupStride != 1)) return;
    const RowFilter filter =
        forHost(v2::rowFilterFor, v3::rowFilterFor, v4::rowFilterFor)(type, p_.groups);
    if (inner().outputSize * p_.groups >= filter.period) filter_ = filter;
  }

  bool suitsKernelInPlace() const {
    if (rank_ == 0 || groupTile_ || filters() || !accumulates_ || kernels_.stepsPerElement != 1 ||
        p_.groups != 1 || p_.conv.kernelOutputStride != 1 ||
        p_.outputFeatures % kernels_.vectorLanes != 0) {
      return false;
    }
    int64_t tiles = ceilDiv(inner().outputSize, kernels_.mr);
    for (int d = 0; d + 1 < rank_; ++d) tiles *= axes_[d].outputSize;
    return tiles <= kFewTiles;
  }

  // Whether positions along both axes lie at one stride, in the input and in the result.
  static bool joins(const ConvAxis& outer, const ConvAxis& inner) {
    return isPlain(outer) && isPlain(inner) &&
           outer.inputStride == inner.inputStride * inner.inputSize &&
           outer.outputStride == inner.outputStride * inner.outputSize;
  }

  const ConvAxis& inner() const { return axes_[rank_ - 1]; }
  bool hasRows() const { return rank_ > 1; }

  template <typename Function>
  void forEach(bool serial, int64_t tiles, Function function) {
    if (serial || tiles <= 1) return function(int64_t{0}, tiles);
    parallelFor(*services_, tiles, 1, function);
  }

  // A task is a block of neighbours along the last two axes, at one position of the others.
  void shapeTasks() {
    const int64_t channels = p_.groups * p_.inputFeatures;
    int64_t rowBytes = reach(inner(), inner().outputSize) * channels;
    for (int d = 0; d + 2 < rank_; ++d) rowBytes *= axes_[d].taps;
    rowBytes = std::max(rowBytes * inputBytes_,
                        inner().outputSize * p_.groups * p_.outputFeatures * resultBytes_);
    const int64_t wanted = readsKernelInPlace_ ? 1 : int64_t{4} * services_->numThreads();
    outer_ = 1;
    for (int d = 0; d + 2 < rank_; ++d) outer_ *= axes_[d].outputSize;
    const int64_t rows = hasRows() ? axes_[rank_ - 2].outputSize : 1;
    const int64_t step = hasRows() ? axes_[rank_ - 2].windowStride : 1;
    int64_t atOnce =
        std::max<int64_t>(1, secondLevelParts().reused / std::max<int64_t>(1, rowBytes * step));
    atOnce = std::min({atOnce, rows, std::max<int64_t>(1, outer_ * rows / wanted)});
    rowBlocks_ = ceilDiv(rows, atOnce);
    blockRows_ = ceilDiv(rows, rowBlocks_);
    rowBlocks_ = ceilDiv(rows, blockRows_);
    // Only a single long row is cut: padded copies of its parts overlap, by little for a filter.
    blockColumns_ = inner().outputSize;
    if (rows == 1 && (!pads_ || filters())) {
      const int64_t positions = std::max<int64_t>(
          kernels_.mr,
          secondLevelParts().reused /
              std::max<int64_t>(1, channels * inputBytes_ + p_.outputFeatures * resultBytes_));
      const int64_t share = ceilDiv(blockColumns_ * outer_, wanted);
      blockColumns_ = std::min(blockColumns_, std::min(positions, share));
      if (filters()) blockColumns_ = std::max(blockColumns_, 2 * reach(inner(), 1));
      blockColumns_ = ceilDiv(blockColumns_, kernels_.mr) * kernels_.mr;
    }
    columnBlocks_ = ceilDiv(inner().outputSize, blockColumns_);
    tasks_ = outer_ * rowBlocks_ * columnBlocks_;

    channels_ = channels;
    boxElements_ = channels;
    for (int d = rank_; d-- > 0;) {
      boxStride_[d] = boxElements_;
      const int64_t count = d == rank_ - 1 ? blockColumns_ : d == rank_ - 2 ? blockRows_ : 1;
      boxSize_[d] = reach(axes_[d], count);
      boxElements_ *= boxSize_[d];
    }
  }

  int64_t strideOf(int d) const { return pads_ ? boxStride_[d] : axes_[d].inputStride; }

  // Windows as runs of contiguous steps. Where results are rounded, sums of several blocks could
  // not be added: there is one.
  void makeRuns() {
    const int64_t features = p_.inputFeatures;
    const int64_t longest =
        readsKernelInPlace_ ? rowsAtOnce()
        : accumulates_ && !groupTile_ && !filters()
            ? std::max<int64_t>(1, kReusedKernelBytes / (kernels_.nr * kernels_.elementBytes)) *
                  kernels_.stepsPerElement
            : INT64_MAX;
    const int64_t longestRun = readsKernelInPlace_ ? kRowsOfRun : INT64_MAX;
    int64_t w[kMaxConvAxes] = {};
    int64_t taps = 1;
    for (int d = 0; d < rank_; ++d) taps *= axes_[d].taps;
    steps_ = taps * features;
    kernelOffsets_.reserve(static_cast<size_t>(steps_));
    blocks_.push_back(0);
    int64_t inBlock = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t input = 0, kernel = 0;
      for (int d = 0; d < rank_; ++d) {
        input += w[d] * axes_[d].tapStep * strideOf(d);
        kernel += w[d] * axes_[d].kernelStride;
      }
      for (int64_t f = 0; f < features; ++f) {
        kernelOffsets_.push_back(kernel + f * p_.conv.kernelInputStride);
      }
      for (int64_t done = 0; done < features;) {
        if (inBlock == longest) {
          blocks_.push_back(static_cast<int64_t>(runs_.size()));
          inBlock = 0;
        }
        const int64_t length = std::min({features - done, longest - inBlock, longestRun});
        const bool continues = !readsKernelInPlace_ &&
                               static_cast<int64_t>(runs_.size()) > blocks_.back() &&
                               runs_.back().a + runs_.back().length == input + done;
        if (continues) {
          runs_.back().length += length;
        } else {
          runs_.push_back({input + done, kernel + done * p_.conv.kernelInputStride, length});
        }
        inBlock += length;
        done += length;
      }
      for (int d = rank_; d-- > 0;) {
        if (++w[d] < axes_[d].taps) break;
        w[d] = 0;
      }
    }
    blocks_.push_back(static_cast<int64_t>(runs_.size()));
    if (!readsKernelInPlace_) placeRuns();
  }

  // Its rows' lines share the sets of the cache: see runDirect of products.
  int64_t rowsAtOnce() const {
    const int64_t apart = std::abs(p_.conv.kernelInputStride) * kernels_.elementBytes;
    return std::clamp<int64_t>(kStripBytes / std::max<int64_t>(1, apart), kRowsOfRun, kRowsAtOnce);
  }

  // Where the kernel of each run lies in a panel: each begins with an element of its own.
  void placeRuns() {
    int64_t elements = 0;
    for (GemmRun& run : runs_) {
      run.b = elements * (groupTile_ ? groupLanes_ : kernels_.nr);
      elements += groupTile_ ? run.length : ceilDiv(run.length, kernels_.stepsPerElement);
    }
    panelBytes_ = kernels_.panelBytes(kernels_.nr, elements * kernels_.stepsPerElement);
  }

  void packKernel(int64_t begin, int64_t end, int64_t panels) {
    int64_t run = 1;
    while (run < steps_ && kernelOffsets_[run] == kernelOffsets_[run - 1] + 1) ++run;
    if (run > p_.inputFeatures && run < steps_) run = p_.inputFeatures;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % panels * kernels_.nr;
      const int lanes =
          static_cast<int>(std::min<int64_t>(kernels_.nr, p_.outputFeatures - column));
      int64_t laneOffsets[kMaxGemmLanes];
      for (int l = 0; l < lanes; ++l) laneOffsets[l] = (column + l) * p_.conv.kernelOutputStride;
      const int64_t base = p_.kernelOffset + i / panels * p_.kernelGroupStride;
      int64_t step = 0;
      for (const GemmRun& steps : runs_) {
        PanelSource source{static_cast<const char*>(p_.rhs) + base * inputBytes_,
                           p_.conv.rhsType,
                           lanes,
                           laneOffsets,
                           kernelOffsets_.data() + step,
                           steps.length,
                           lanes > 1 && p_.conv.kernelOutputStride == 1,
                           run,
                           step % run,
                           false,
                           true};
        kernels_.pack(packed_ + i * panelBytes_ + steps.b * kernels_.elementBytes, kernels_.nr,
                      source);
        step += steps.length;
      }
    }
  }

  // Weights of the features that a period of a row has, for one step after the other.
  void packFilter() {
    auto pack = [&](auto* to) {
      for (int64_t offset : kernelOffsets_) {
        for (int64_t i = 0; i < filter_.period; ++i) {
          *to++ = loadElement<std::remove_reference_t<decltype(*to)>>(
              p_.rhs, p_.conv.rhsType,
              p_.kernelOffset + i % p_.groups * p_.kernelGroupStride + offset);
        }
      }
    };
    if (p_.conv.rhsType == ElementType::kF64) return pack(reinterpret_cast<double*>(packed_));
    pack(reinterpret_cast<float*>(packed_));
  }

  // Vectors of all taps and features in, for one vector of features out after the other.
  void packGroups() {
    auto* to = reinterpret_cast<float*>(packed_);
    for (int64_t first = 0; first < p_.groups * p_.outputFeatures; first += groupLanes_) {
      for (int64_t offset : kernelOffsets_) {
        for (int64_t out = first; out < first + groupLanes_; ++out) {
          const int64_t group = out / p_.outputFeatures;
          *to++ =
              loadElement<float>(p_.rhs, p_.conv.rhsType,
                                 p_.kernelOffset + group * p_.kernelGroupStride +
                                     out % p_.outputFeatures * p_.conv.kernelOutputStride + offset);
        }
      }
    }
  }

  // Copies axes [d, rank) of the part of the input that begins at `start`, zeros outside of it.
  void copyBox(int d, const int64_t* start, const char* from, char* to) const {
    const ConvAxis& axis = axes_[d];
    const int64_t stride = boxStride_[d] * inputBytes_;
    const int64_t size = boxSize_[d];
    const int64_t before = std::clamp<int64_t>(-start[d], 0, size);
    const int64_t end = std::clamp<int64_t>(axis.inputSize - start[d], before, size);
    std::memset(to, 0, static_cast<size_t>(before * stride));
    std::memset(to + end * stride, 0, static_cast<size_t>((size - end) * stride));
    if (before == end) return;
    const char* source = from + (start[d] + before) * axis.inputStride * inputBytes_;
    if (d == rank_ - 1 && axis.inputStride == channels_) {
      std::memcpy(to + before * stride, source, static_cast<size_t>((end - before) * stride));
      return;
    }
    for (int64_t i = before; i < end; ++i, source += axis.inputStride * inputBytes_) {
      if (d == rank_ - 1) {
        std::memcpy(to + i * stride, source, static_cast<size_t>(stride));
      } else {
        copyBox(d + 1, start, source, to + i * stride);
      }
    }
  }

  // Of the features [firstFeature, featureEnd): of all of them, but where the kernel is in place.
  void runTasks(int64_t begin, int64_t end, int64_t firstFeature, int64_t featureEnd) {
    std::optional<Scratch<char>> box;
    if (pads_ && !box.emplace(*services_, boxElements_ * inputBytes_)) {
      outOfMemory_ = true;
      return;
    }
    const TilesInUse tiles(kernels_);
    for (int64_t task = begin; task < end; ++task) {
      runTask(task, box ? box->data() : nullptr, firstFeature, featureEnd);
    }
  }

  void runTask(int64_t task, char* box, int64_t firstFeature, int64_t featureEnd) {
    const int64_t firstColumn = task % columnBlocks_ * blockColumns_;
    const int64_t columns = std::min(blockColumns_, inner().outputSize - firstColumn);
    int64_t rest = task / columnBlocks_;
    const int64_t firstRow = rest % rowBlocks_ * blockRows_;
    const int64_t rows =
        hasRows() ? std::min(blockRows_, axes_[rank_ - 2].outputSize - firstRow) : 1;
    rest /= rowBlocks_;
    int64_t x[kMaxConvAxes] = {};
    for (int d = rank_ - 2; d-- > 0;) {
      x[d] = rest % axes_[d].outputSize;
      rest /= axes_[d].outputSize;
    }
    if (hasRows()) x[rank_ - 2] = firstRow;
    x[rank_ - 1] = firstColumn;

    int64_t start[kMaxConvAxes];
    int64_t inputStart = 0, output = p_.outputOffset;
    for (int d = 0; d < rank_; ++d) {
      start[d] = x[d] * axes_[d].windowStride - axes_[d].padLow;
      inputStart += start[d] * axes_[d].inputStride;
      output += x[d] * axes_[d].outputStride;
    }
    const char* input = static_cast<const char*>(p_.lhs) + p_.inputOffset * inputBytes_;
    if (box) {
      copyBox(0, start, input, box);
      input = box;
    } else {
      input += inputStart * inputBytes_;
    }
    char* result = static_cast<char*>(p_.result) + output * resultBytes_;
    if (filters()) {
      filterRows(input, result, rows, columns);
    } else if (groupTile_) {
      computeGroups(input, result, rows, columns);
    } else if (readsKernelInPlace_) {
      computeInPlace(input, result, rows, columns, firstFeature, featureEnd);
    } else {
      for (int64_t group = 0; group < p_.groups; ++group) {
        const int64_t groupInput = box ? group * p_.inputFeatures : group * p_.inputGroupStride;
        computeGroup(group, input + groupInput * inputBytes_,
                     result + group * p_.outputGroupStride * resultBytes_, rows, columns);
      }
    }
    if (!p_.epilogue) return;
    int64_t position = 0;
    for (int d = 0; d < rank_; ++d) position = position * axes_[d].outputSize + x[d];
    p_.epilogue(p_.epilogueBuffers, position, position + rows * columns, firstFeature, featureEnd);
  }

  void filterRows(const char* input, char* result, int64_t rows, int64_t columns) const {
    const int64_t rowInput = hasRows() ? axes_[rank_ - 2].windowStride * strideOf(rank_ - 2) : 0;
    const int64_t rowOutput = hasRows() ? axes_[rank_ - 2].outputStride : 0;
    for (int64_t row = 0; row < rows; ++row) {
      filter_.run(runs_.data(), static_cast<int64_t>(runs_.size()),
                  input + row * rowInput * inputBytes_, packed_,
                  result + row * rowOutput * resultBytes_, columns * p_.groups);
    }
  }

  void computeGroups(const char* input, char* result, int64_t rows, int64_t columns) const {
    const int64_t tiles = ceilDiv(columns, groupRows_);
    const int64_t inputStep = inner().windowStride * strideOf(rank_ - 1);
    const int64_t rowInput = hasRows() ? axes_[rank_ - 2].windowStride * strideOf(rank_ - 2) : 0;
    const int64_t rowOutput = hasRows() ? axes_[rank_ - 2].outputStride : 0;
    const int64_t ldc = inner().outputStride;
    for (int64_t feature = 0; feature < channels_; feature += groupLanes_) {
      const float* kernel = reinterpret_cast<const float*>(packed_) + feature * steps_;
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t tile = 0; tile < tiles; ++tile) {
          const int64_t first = columns * tile / tiles, last = columns * (tile + 1) / tiles;
          groupTile_(runs_.data(), static_cast<int64_t>(runs_.size()),
                     input + (row * rowInput + first * inputStep + feature) * inputBytes_,
                     inputStep, kernel,
                     result + (row * rowOutput + first * ldc + feature) * resultBytes_, ldc,
                     static_cast<int>(last - first));
        }
      }
    }
  }

  void computeGroup(int64_t group, const char* input, char* result, int64_t rows,
                    int64_t columns) const {
    const int nr = kernels_.nr;
    const int64_t panels = ceilDiv(p_.outputFeatures, nr);
    const int64_t tiles = ceilDiv(columns, kernels_.mr);
    for (int64_t panel = 0; panel < panels; ++panel) {
      const char* b = packed_ + (group * panels + panel) * panelBytes_;
      for (size_t block = 0; block + 1 < blocks_.size(); ++block) {
        const GemmRun* runs = runs_.data() + blocks_[block];
        const int64_t count = blocks_[block + 1] - blocks_[block];
        for (int64_t tile = 0; tile < rows * tiles; ++tile) {
          computeTile(tile, tiles, columns, {runs, static_cast<size_t>(count)}, input, b, nr,
                      result, panel * nr, block > 0);
        }
      }
    }
  }

  // The same of features [firstFeature, featureEnd), with rows of the kernel where they lie, some
  // of them for all panels.
  void computeInPlace(const char* input, char* result, int64_t rows, int64_t columns,
                      int64_t firstFeature, int64_t featureEnd) const {
    const int64_t nr = kernels_.nr;
    const int64_t tiles = ceilDiv(columns, kernels_.mr), allTiles = rows * tiles;
    const int64_t ldb = p_.conv.kernelInputStride;
    const char* kernel = static_cast<const char*>(p_.rhs) + p_.kernelOffset * inputBytes_;
    GemmRun ahead[kRowsAtOnce];  // at least one row each
    for (size_t block = 0; block + 1 < blocks_.size(); ++block) {
      const std::span<const GemmRun> runs(runs_.data() + blocks_[block],
                                          static_cast<size_t>(blocks_[block + 1] - blocks_[block]));
      for (int64_t feature = firstFeature; feature < featureEnd; feature += nr) {
        const char* b = kernel + feature * inputBytes_;
        const bool isLast = feature + nr >= featureEnd;
        for (int64_t tile = 0; tile < allTiles; ++tile) {
          // Of the next panel's rows, each tile prefetches a part.
          for (size_t i = 0; i < runs.size() && !isLast; ++i) {
            const int64_t begin = runs[i].length * tile / allTiles;
            ahead[i] = runs[i];
            ahead[i].ahead = b + (runs[i].b + begin * ldb + nr) * inputBytes_;
            ahead[i].aheadCount = runs[i].length * (tile + 1) / allTiles - begin;
          }
          computeTile(tile, tiles, columns, isLast ? runs : std::span(ahead).first(runs.size()),
                      input, b, ldb, result, feature, block > 0);
        }
      }
    }
  }

  // One of the tiles of nearly equal size, `tiles` in each row of `columns` positions, with the
  // panel of features from `feature` on, whose steps are `ldb` elements apart.
  void computeTile(int64_t tile, int64_t tiles, int64_t columns, std::span<const GemmRun> runs,
                   const char* input, const char* b, int64_t ldb, char* result, int64_t feature,
                   bool accumulate) const {
    const int64_t inputStep = inner().windowStride * strideOf(rank_ - 1);
    const int64_t rowInput = hasRows() ? axes_[rank_ - 2].windowStride * strideOf(rank_ - 2) : 0;
    const int64_t rowOutput = hasRows() ? axes_[rank_ - 2].outputStride : 0;
    const int64_t ldc = inner().outputStride;
    const int64_t row = tile / tiles, part = tile % tiles;
    const int64_t first = columns * part / tiles, last = columns * (part + 1) / tiles;
    const auto lanes =
        static_cast<int>(std::min<int64_t>(kernels_.nr, p_.outputFeatures - feature));
    runTile_(runs.data(), static_cast<int64_t>(runs.size()),
             input + (row * rowInput + first * inputStep) * inputBytes_, inputStep,
             kernels_.stepsPerElement, b, ldb,
             result + (row * rowOutput + first * ldc + feature) * resultBytes_, ldc,
             static_cast<int>(last - first), lanes, accumulate);
  }

  RunServices* services_ = nullptr;
  const ConvProblem& p_;
  const GemmKernels& kernels_;
  RunTile runTile_;
  GroupTile groupTile_ = nullptr;  // if several groups share a vector, of so many lanes
  int groupLanes_ = 0, groupRows_ = 0;
  RowFilter filter_;  // if rows are filtered
  bool readsKernelInPlace_ = false;
  bool accumulates_;                  // whether runTile_ can add to what is in the result
  int64_t inputBytes_, resultBytes_;  // of an element
  int rank_;
  ConvAxis axes_[kMaxConvAxes];  // those that lie at one stride joined
  bool pads_ = false;
  int64_t outer_ = 1, rowBlocks_ = 1, blockRows_ = 1, columnBlocks_ = 1, blockColumns_ = 1;
  int64_t tasks_ = 0;
  int64_t channels_ = 0, boxElements_ = 0;
  int64_t boxSize_[kMaxConvAxes], boxStride_[kMaxConvAxes];
  int64_t steps_ = 0;
  std::vector<int64_t> kernelOffsets_;
  std::vector<GemmRun> runs_;
  std::vector<int64_t> blocks_;  // of runs: where each begins, and the end
  char* packed_ = nullptr;
  int64_t panelBytes_ = 0;
  std::atomic<bool> outOfMemory_{false};
};

}  // namespace

const char* windowRefusal(const ConvProblem& p, GemmDomain domain, Asked asked) {
  const ConvDescriptor& c = p.conv;
  domain = narrowDomain(domain, c.lhsType, c.rhsType, c.resultType);
  if (domain == GemmDomain::kBf16) {
    if (c.resultType != ElementType::kBF16 && c.resultType != ElementType::kF32) {
      return "another type of results";
    }
  } else {
    const ElementType type = floatTypeOf(domain);
    if (c.lhsType != type || c.rhsType != type || c.resultType != type) return "mixed types";
  }
  return WindowConv(p, domain).refusal(asked);
}

bool windowsAreFiltered(const ConvProblem& p, GemmDomain domain) {
  return !windowRefusal(p, domain, Asked::kWhetherItSuits) && WindowConv(p, domain).filters();
}

bool runWindowConv(RunServices& services, const ConvProblem& p, GemmDomain domain) {
  return WindowConv(p, narrowDomain(domain, p.conv.lhsType, p.conv.rhsType, p.conv.resultType))
      .run(services);
}

}  // namespace isthmus::cpu

// Convolutions that sum over many positions and give few, as gradients with respect to the kernel
// do, on machines whose tiles want steps of rows side by side: rows of the input are transposed
// once, into lines along one axis in which the steps of all images and taps that a position of the
// window meets are neighbours; the other operand is packed once. Every position of the window then
// reads both where they lie.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/cache_sizes.h"
#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/kernels/gemm/gemm_domains.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "base/integer_math.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

constexpr int64_t kLineAlignment = 32;  // elements
// Places of a line, as a multiple of what lies along it.
constexpr int64_t kMaxPadding = 4;

class TransposedSums {
 public:
  explicit TransposedSums(const ConvProblem& problem)
      : p_(problem), kernels_(gemmKernels(GemmDomain::kBf16)) {}

  // Null if it fits, which is to be asked before it runs.
  const char* refusal() {
    if (!kernels_.transpose) return "tiles do not want steps side by side";
    if (p_.rank < 2 || p_.groups != 1 || p_.inputFeatures == 0) return "groups, or no images";
    if (!isPlain(rows()) || rows().inputStride != 1 || p_.conv.outputFeatureStride != 1 ||
        p_.conv.kernelOutputStride != 1) {
      return "rows are no images that lie side by side";
    }
    if (rows().outputSize * p_.outputFeatures < 64) return "few results of a position";
    if (p_.taps() * p_.inputFeatures < 64) return "few terms";
    chooseAxes();
    return makeLines() ? nullptr : "taps lie far apart";
  }

  // Once it fits; false for want of scratch memory.
  bool run(RunServices& services) {
    services_ = &services;
    const auto places = static_cast<int64_t>(places_.size());
    const int64_t imageElements =
        inputLines_ * rows().outputSize * places + tapLines_ * along().taps * panels_ * kernels_.nr;
    const int64_t most = std::max<int64_t>(1, kPreparedBytes / (2 * imageElements));
    const int64_t images = ceilDiv(p_.inputFeatures, ceilDiv(p_.inputFeatures, most));
    // A line has the images of one place side by side.
    rowStride_ = roundUp(places * images, kLineAlignment);
    leftLine_ = rows().outputSize * rowStride_;
    rightPanelBytes_ = kernels_.panelBytes(kernels_.nr, along().taps * images);
    const int64_t leftBytes = roundUp(inputLines_ * leftLine_ * 2, 64);
    Scratch<char> memory(*services_, leftBytes + tapLines_ * panels_ * rightPanelBytes_);
    const bool rounds = p_.conv.resultType == ElementType::kBF16;
    Scratch<float> collected(*services_, rounds ? resultSpan(p_) : 1);
    if (!memory || !collected) return false;
    left_ = memory.data();
    right_ = left_ + leftBytes;
    sums_ = rounds ? collected.data() : static_cast<float*>(p_.result);
    for (int64_t image = 0; image < p_.inputFeatures; image += images) {
      // The last images may be fewer: the layout stays.
      images_ = std::min(images, p_.inputFeatures - image);
      prepare(image);
      addAll(image > 0);
    }
    finish(rounds ? collected.data() : nullptr);
    return true;
  }

 private:
  const ConvAxis& rows() const { return p_.axes[p_.rank - 1]; }
  const ConvAxis& along() const { return p_.axes[along_]; }

  void chooseAxes() {
    along_ = axisOfMostTaps(p_);
    inputLines_ = tapLines_ = windowLines_ = 1;
    for (int d = p_.rank - 1; d-- > 0;) {
      if (d == along_) continue;
      lineAxes_.push_back(d);
      inputLines_ *= p_.axes[d].inputSize;
      tapLines_ *= p_.axes[d].taps;
      windowLines_ *= p_.axes[d].outputSize;
    }
    panels_ = ceilDiv(p_.outputFeatures, kernels_.nr);
  }

  // Lines hold the input positions of one residue after the other, since the taps of one position
  // of the window have the same. False if they would be padding for the most part: it may be of any
  // length.
  bool makeLines() {
    const int64_t step = std::max<int64_t>(1, along().tapStep);
    auto startOf = [&](int64_t x) {
      const int64_t start = x * along().windowStride - along().padLow;
      const int64_t quotient = floorDiv(start, step);
      return std::pair(start - quotient * step, quotient);
    };
    struct Stretch {
      int64_t first, last;  // quotients at which windows begin
      int64_t place = 0;
    };
    std::map<int64_t, Stretch> stretches;  // by residue
    for (int64_t x = 0; x < along().outputSize; ++x) {
      const auto [residue, quotient] = startOf(x);
      stretches.try_emplace(residue, Stretch{quotient, quotient}).first->second.last = quotient;
    }
    const int64_t most = kMaxPadding * (along().inputSize + along().taps);
    for (auto& [residue, stretch] : stretches) {
      stretch.place = static_cast<int64_t>(places_.size());
      if (stretch.last - stretch.first > most - stretch.place - along().taps) return false;
      for (int64_t q = stretch.first; q < stretch.last + along().taps; ++q) {
        const int64_t at = q * step + residue;
        places_.push_back(at >= 0 && at < along().inputSize ? at : -1);
      }
    }
    for (int64_t x = 0; x < along().outputSize; ++x) {
      const auto [residue, quotient] = startOf(x);
      const Stretch& stretch = stretches.at(residue);
      starts_.push_back(stretch.place + quotient - stretch.first);
    }
    return true;
  }

  // The coordinates of line `index` along the axes of lines, of which each has `size`.
  void coordinatesOf(int64_t index, int64_t ConvAxis::* size, int64_t* x) const {
    for (int d : lineAxes_) {
      x[d] = index % (p_.axes[d].*size);
      index /= p_.axes[d].*size;
    }
  }
  // How far the line lies behind the first.
  int64_t offsetOf(int64_t index, int64_t ConvAxis::* size, int64_t ConvAxis::* stride) const {
    int64_t x[kMaxConvAxes], offset = 0;
    coordinatesOf(index, size, x);
    for (int d : lineAxes_) offset += x[d] * (p_.axes[d].*stride);
    return offset;
  }

  void prepare(int64_t image) {
    std::vector<int64_t> leftOffsets, rightOffsets;
    for (int64_t at : places_) {
      for (int64_t i = 0; i < images_; ++i) {
        leftOffsets.push_back(at < 0 ? kZeroLane
                                     : at * along().inputStride +
                                           (image + i) * p_.conv.inputFeatureStride);
      }
    }
    for (int64_t tap = 0; tap < along().taps; ++tap) {
      for (int64_t i = 0; i < images_; ++i) {
        rightOffsets.push_back(tap * along().kernelStride +
                               (image + i) * p_.conv.kernelInputStride);
      }
    }
    parallelFor(*services_, inputLines_ + tapLines_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        if (line < inputLines_) {
          transposeLine(line, leftOffsets);
        } else {
          packLine(line - inputLines_, rightOffsets);
        }
      }
    });
  }

  void transposeLine(int64_t line, const std::vector<int64_t>& offsets) const {
    const int64_t from =
        p_.inputOffset + offsetOf(line, &ConvAxis::inputSize, &ConvAxis::inputStride);
    kernels_.transpose(static_cast<const uint16_t*>(p_.lhs) + from, offsets.data(),
                       static_cast<int64_t>(offsets.size()), rows().outputSize,
                       left_ + line * leftLine_ * 2, rowStride_);
  }

  void packLine(int64_t line, const std::vector<int64_t>& offsets) const {
    const int64_t from = p_.kernelOffset + offsetOf(line, &ConvAxis::taps, &ConvAxis::kernelStride);
    int64_t lanes[kMaxGemmLanes];
    for (int64_t panel = 0; panel < panels_; ++panel) {
      const int64_t column = panel * kernels_.nr;
      const int count =
          static_cast<int>(std::min<int64_t>(kernels_.nr, p_.outputFeatures - column));
      for (int i = 0; i < count; ++i) lanes[i] = i;
      const PanelSource source{static_cast<const uint16_t*>(p_.rhs) + from + column,
                               ElementType::kBF16,
                               count,
                               lanes,
                               offsets.data(),
                               static_cast<int64_t>(offsets.size()),
                               count > 1,
                               1,
                               0};
      kernels_.pack(right_ + (line * panels_ + panel) * rightPanelBytes_, kernels_.nr, source);
    }
  }

  // A task is a rectangle of rows and columns at one position of the window but for the axis of
  // lines.
  void addAll(bool accumulate) const {
    const int64_t rowTiles = ceilDiv(rows().outputSize, kernels_.mr);
    const int64_t tasks = windowLines_ * panels_ * rowTiles;
    parallelFor(*services_, tasks, 1, [&](int64_t begin, int64_t end) {
      const TilesInUse tiles(kernels_);
      for (int64_t task = begin; task < end; ++task) {
        addTo(task / (panels_ * rowTiles), task / rowTiles % panels_, task % rowTiles, rowTiles,
              accumulate);
      }
    });
  }

  void addTo(int64_t windowLine, int64_t panel, int64_t rowTile, int64_t rowTiles,
             bool accumulate) const {
    const int64_t steps = along().taps * images_;
    const int64_t firstRow = rows().outputSize * rowTile / rowTiles;
    const auto rowCount = static_cast<int>(rows().outputSize * (rowTile + 1) / rowTiles - firstRow);
    const auto columns =
        static_cast<int>(std::min<int64_t>(kernels_.nr, p_.outputFeatures - panel * kernels_.nr));
    int64_t x[kMaxConvAxes];
    coordinatesOf(windowLine, &ConvAxis::outputSize, x);
    const int64_t output =
        p_.outputOffset + offsetOf(windowLine, &ConvAxis::outputSize, &ConvAxis::outputStride);
    std::vector<GemmRun> runs;
    for (int64_t tapLine = 0; tapLine < tapLines_; ++tapLine) {
      if (const int64_t line = inputLineOf(x, tapLine); line >= 0) {
        runs.push_back({line * leftLine_ + firstRow * rowStride_,
                        (tapLine * panels_ + panel) * (rightPanelBytes_ / 4), steps});
      }
    }
    const int64_t atOnce = std::max<int64_t>(
        1, kAddedRunsBytes / (2 * (kernels_.mr * rowStride_ + kernels_.nr * steps)));
    const auto count = static_cast<int64_t>(runs.size());
    // Once where there are none, for zeros.
    for (int64_t first = 0; first == 0 || first < count; first += atOnce) {
      for (int64_t at = 0; at < along().outputSize; ++at) {
        float* c = sums_ + output + at * along().outputStride + firstRow * rows().outputStride +
                   panel * kernels_.nr;
        kernels_.runTile(runs.data() + first, std::min(atOnce, count - first),
                         left_ + starts_[at] * images_ * 2, rowStride_, kernels_.stepsPerElement,
                         right_, kernels_.nr, c, rows().outputStride, rowCount, columns,
                         accumulate || first > 0);
      }
    }
  }

  // The line of the input that taps `tapLine` of a window at x meet, or -1 outside of it.
  int64_t inputLineOf(const int64_t* x, int64_t tapLine) const {
    int64_t taps[kMaxConvAxes], line = 0, size = 1;
    coordinatesOf(tapLine, &ConvAxis::taps, taps);
    for (int d : lineAxes_) {
      const ConvAxis& a = p_.axes[d];
      const int64_t at = x[d] * a.windowStride - a.padLow + taps[d] * a.tapStep;
      if (at < 0 || at >= a.inputSize) return -1;
      line += at * size;
      size *= a.inputSize;
    }
    return line;
  }

  // Rounds sums, if the result is not of their type, and calls the epilogue.
  void finish(const float* sums) const {
    if (!sums && !p_.epilogue) return;
    const int64_t positions = p_.positions() / rows().outputSize;
    const int64_t grain = ceilDiv(16384, rows().outputSize * p_.outputFeatures);
    parallelFor(*services_, positions, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (sums) {
          int64_t x[kMaxConvAxes];
          const int64_t at = outputOf(p_, i, x);
          storeSumRows(GemmDomain::kBf16, sums + at, rows().outputStride, rows().outputSize,
                       p_.outputFeatures, p_.conv.resultType, p_.result, at, rows().outputStride);
        }
        if (p_.epilogue) {
          p_.epilogue(p_.epilogueBuffers, i * rows().outputSize, (i + 1) * rows().outputSize, 0,
                      p_.outputFeatures);
        }
      }
    });
  }

  RunServices* services_ = nullptr;
  const ConvProblem& p_;
  const GemmKernels& kernels_;
  int along_ = 0;                                // the axis along which lines go
  std::vector<int> lineAxes_;                    // the others but that of rows, the innermost first
  int64_t inputLines_, tapLines_, windowLines_;  // combinations of lineAxes_
  int64_t panels_;
  std::vector<int64_t> places_;   // the input position of each place in a line, or -1 for a zero
  std::vector<int64_t> starts_;   // in places, of each position of the window along a line
  int64_t images_;                // at hand
  int64_t rowStride_, leftLine_;  // of transposed rows and lines, in elements
  int64_t rightPanelBytes_;
  char* left_;
  char* right_;
  float* sums_;
};

}  // namespace

// What it can compute suits it.
const char* transposedSumsRefusal(const ConvProblem& p, GemmDomain domain, Asked) {
  const ConvDescriptor& c = p.conv;
  if (narrowDomain(domain, c.lhsType, c.rhsType, c.resultType) != GemmDomain::kBf16 ||
      (c.resultType != ElementType::kBF16 && c.resultType != ElementType::kF32)) {
    return "not of bf16, or no kernels of it";
  }
  return TransposedSums(p).refusal();
}

bool runTransposedSums(RunServices& services, const ConvProblem& p, GemmDomain) {
  TransposedSums sums(p);
  sums.refusal();
  return sums.run(services);
}

}  // namespace isthmus::cpu

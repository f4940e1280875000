// Convolutions that sum over many positions and give few, as gradients with respect to the kernel
// do, on machines whose tiles want steps of rows side by side: rows of the input are transposed
// once, into lines along one axis in which the steps of all images and taps that a position of the
// window meets are neighbours; the other operand is packed once. Every position of the window then
// reads both where they lie.
#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/kernels/gemm/gemm_domains.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

constexpr int kMaxAxes = kMaxConvSpatialDimensions + 1;
// Of both operands, prepared at a time: what threads find in a shared cache.
constexpr int64_t kPreparedBytes = 6 << 20;
// Of both operands, what all positions along a line meet before the next lines are read.
constexpr int64_t kNearBytes = 256 << 10;
constexpr int64_t kLineAlignment = 32;  // elements

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t roundUp(int64_t a, int64_t b) { return ceilDiv(a, b) * b; }
int64_t floorDiv(int64_t a, int64_t b) { return a >= 0 ? a / b : -ceilDiv(-a, b); }

class TransposedSums {
 public:
  TransposedSums(RunServices& services, const ConvProblem& problem)
      : services_(services), p_(problem), kernels_(gemmKernels(GemmDomain::kBf16)) {}

  bool fits() const {
    if (!kernels_.transpose || p_.rank < 2 || p_.groups != 1 || p_.inputFeatures == 0) return false;
    const ConvAxis& r = rows();
    return r.taps == 1 && r.inputStride == 1 && r.windowStride == 1 && r.padLow == 0 &&
           r.outputSize == r.inputSize && r.outputSize * p_.outputFeatures >= 64 &&
           p_.conv.outputFeatureStride == 1 && p_.conv.kernelOutputStride == 1 &&
           p_.taps() * p_.inputFeatures >= 64;
  }

  // False for want of scratch memory.
  bool run() {
    chooseAxes();
    const int64_t imageElements = inputLines_ * rows().outputSize * linePositions_ +
                                  tapLines_ * along().taps * panels_ * kernels_.nr;
    const int64_t most = std::max<int64_t>(1, kPreparedBytes / (2 * imageElements));
    const int64_t images = ceilDiv(p_.inputFeatures, ceilDiv(p_.inputFeatures, most));
    layOut(images);
    const int64_t leftBytes = roundUp(inputLines_ * leftLine_ * 2, 64);
    Scratch<char> memory(services_, leftBytes + tapLines_ * panels_ * rightPanelBytes_);
    const bool rounds = p_.conv.resultType == ElementType::kBF16;
    Scratch<float> collected(services_, rounds ? resultSpan(p_) : 1);
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
  int64_t tapStep() const { return std::max<int64_t>(1, along().tapStep); }

  // Lines go along the axis with most taps, and of such along the one with the nearest. Positions
  // of the input are sorted by their residues: taps of one position of the window have the same.
  void chooseAxes() {
    along_ = 0;
    for (int d = 0; d + 1 < p_.rank; ++d) {
      if (p_.axes[d].taps >= along().taps) along_ = d;
    }
    inputLines_ = tapLines_ = windowLines_ = 1;
    for (int d = 0; d + 1 < p_.rank; ++d) {
      if (d == along_) continue;
      inputLines_ *= p_.axes[d].inputSize;
      tapLines_ *= p_.axes[d].taps;
      windowLines_ *= p_.axes[d].outputSize;
    }
    panels_ = ceilDiv(p_.outputFeatures, kernels_.nr);
    const int64_t step = tapStep();
    std::vector<int64_t> first(step, INT64_MAX), last(step, INT64_MIN);
    for (int64_t x = 0; x < along().outputSize; ++x) {
      const int64_t start = x * along().windowStride - along().padLow;
      const int64_t quotient = floorDiv(start, step);
      const int64_t residue = start - quotient * step;
      first[residue] = std::min(first[residue], quotient);
      last[residue] = std::max(last[residue], quotient);
    }
    // The input position of each place in a line, or -1 for a zero.
    std::vector<int64_t> base(step);
    for (int64_t residue = 0; residue < step; ++residue) {
      base[residue] = static_cast<int64_t>(places_.size());
      for (int64_t q = first[residue]; q < last[residue] + along().taps; ++q) {
        const int64_t at = q * step + residue;
        places_.push_back(at >= 0 && at < along().inputSize ? at : -1);
      }
    }
    for (int64_t x = 0; x < along().outputSize; ++x) {
      const int64_t start = x * along().windowStride - along().padLow;
      const int64_t quotient = floorDiv(start, step);
      const int64_t residue = start - quotient * step;
      starts_.push_back(base[residue] + quotient - first[residue]);
    }
    linePositions_ = static_cast<int64_t>(places_.size());
  }

  // For so many images at a time: a line has the images of one place side by side.
  void layOut(int64_t images) {
    lineImages_ = images;
    rowStride_ = roundUp(linePositions_ * images, kLineAlignment);
    leftLine_ = rows().outputSize * rowStride_;
    rightPanelBytes_ = kernels_.panelBytes(kernels_.nr, along().taps * images);
  }

  // Calls place(axis, x) with the coordinate x of line `index` along each axis but those of rows
  // and of lines, of which size(axis) says how many there are. Ends where `place` is false, and is
  // then.
  template <typename Size, typename Place>
  bool forLine(int64_t index, Size size, Place place) const {
    for (int d = p_.rank - 1; d-- > 0;) {
      if (d == along_) continue;
      const int64_t extent = size(p_.axes[d]);
      if (!place(d, index % extent)) return false;
      index /= extent;
    }
    return true;
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
    parallelFor(services_, inputLines_ + tapLines_, 1, [&](int64_t begin, int64_t end) {
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
    int64_t from = p_.inputOffset;
    forLine(
        line, [](const ConvAxis& a) { return a.inputSize; },
        [&](int d, int64_t x) {
          from += x * p_.axes[d].inputStride;
          return true;
        });
    kernels_.transpose(static_cast<const uint16_t*>(p_.lhs) + from, offsets.data(),
                       static_cast<int64_t>(offsets.size()), rows().outputSize,
                       left_ + line * leftLine_ * 2, rowStride_);
  }

  void packLine(int64_t line, const std::vector<int64_t>& offsets) const {
    int64_t from = p_.kernelOffset;
    forLine(
        line, [](const ConvAxis& a) { return a.taps; },
        [&](int d, int64_t tap) {
          from += tap * p_.axes[d].kernelStride;
          return true;
        });
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
    parallelFor(services_, tasks, 1, [&](int64_t begin, int64_t end) {
      kernels_.begin();
      for (int64_t task = begin; task < end; ++task) {
        addTo(task / (panels_ * rowTiles), task / rowTiles % panels_, task % rowTiles, rowTiles,
              accumulate);
      }
      kernels_.end();
    });
  }

  void addTo(int64_t windowLine, int64_t panel, int64_t rowTile, int64_t rowTiles,
             bool accumulate) const {
    const int64_t steps = along().taps * images_;
    const int64_t firstRow = rows().outputSize * rowTile / rowTiles;
    const auto rowCount = static_cast<int>(rows().outputSize * (rowTile + 1) / rowTiles - firstRow);
    const auto columns =
        static_cast<int>(std::min<int64_t>(kernels_.nr, p_.outputFeatures - panel * kernels_.nr));
    int64_t x[kMaxAxes], output = p_.outputOffset;
    forLine(
        windowLine, [](const ConvAxis& a) { return a.outputSize; },
        [&](int d, int64_t at) {
          x[d] = at;
          output += at * p_.axes[d].outputStride;
          return true;
        });
    std::vector<GemmRun> runs;
    for (int64_t tapLine = 0; tapLine < tapLines_; ++tapLine) {
      if (const int64_t line = inputLineOf(x, tapLine); line >= 0) {
        runs.push_back({line * leftLine_ + firstRow * rowStride_,
                        (tapLine * panels_ + panel) * (rightPanelBytes_ / 4), steps});
      }
    }
    const int64_t atOnce =
        std::max<int64_t>(1, kNearBytes / (2 * (kernels_.mr * rowStride_ + kernels_.nr * steps)));
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
    int64_t line = 0, size = 1;
    const bool inside = forLine(
        tapLine, [](const ConvAxis& a) { return a.taps; },
        [&](int d, int64_t tap) {
          const ConvAxis& a = p_.axes[d];
          const int64_t at = x[d] * a.windowStride - a.padLow + tap * a.tapStep;
          line += at * size;
          size *= a.inputSize;
          return at >= 0 && at < a.inputSize;
        });
    return inside ? line : -1;
  }

  // Rounds sums, if the result is not of their type, and calls the epilogue.
  void finish(const float* sums) const {
    if (!sums && !p_.epilogue) return;
    const int64_t positions = p_.positions() / rows().outputSize;
    const int64_t grain = ceilDiv(16384, rows().outputSize * p_.outputFeatures);
    parallelFor(services_, positions, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (sums) {
          const int64_t at = outputOf(i);
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

  int64_t outputOf(int64_t index) const {
    int64_t output = p_.outputOffset;
    for (int d = p_.rank - 1; d-- > 0;) {
      output += index % p_.axes[d].outputSize * p_.axes[d].outputStride;
      index /= p_.axes[d].outputSize;
    }
    return output;
  }

  RunServices& services_;
  const ConvProblem& p_;
  const GemmKernels& kernels_;
  int along_ = 0;                                // the axis of lines
  int64_t inputLines_, tapLines_, windowLines_;  // combinations of the others
  int64_t panels_;
  std::vector<int64_t> places_;
  std::vector<int64_t> starts_;  // in places, of each position of the window along a line
  int64_t linePositions_;
  int64_t lineImages_, images_;
  int64_t rowStride_, leftLine_;  // of transposed rows and lines, in elements
  int64_t rightPanelBytes_;
  char* left_;
  char* right_;
  float* sums_;
};

}  // namespace

std::optional<bool> runTransposedSums(RunServices& services, const ConvProblem& p,
                                      GemmDomain domain) {
  const ConvDescriptor& c = p.conv;
  if (narrowDomain(domain, c.lhsType, c.rhsType) != GemmDomain::kBf16 ||
      (c.resultType != ElementType::kBF16 && c.resultType != ElementType::kF32)) {
    return std::nullopt;
  }
  TransposedSums sums(services, p);
  if (!sums.fits()) return std::nullopt;
  return sums.run();
}

}  // namespace isthmus::cpu

// Convolutions to few output features, as the last of a decoder: too few to fill a vector. Lines of
// the input are transposed, so that vectors run along positions, once for all taps that read them.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <vector>

#include "backends/cpu/kernels/cache_sizes.h"
#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/kernels/gemm/gemm_domains.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "base/integer_math.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

// For less, transposing is most of the work.
constexpr int64_t kMinTaps = 4, kMinFeatures = 8;
// Of the lines of a position, transposed.
constexpr int64_t kMaxLinesBytes = 4 << 20;
// Added up before they are added to those before them: one long sum would lose digits to rounding.
constexpr int64_t kTermsOfSum = 512;

// A problem of images: lines of positions of the last axis.
class Planes {
 public:
  Planes(const ConvProblem& problem, GemmDomain domain)
      : p_(problem),
        kernels_(gemmKernels(domain)),
        domain_(domain),
        positions_(p_.axes[p_.rank - 1]),
        lines_(p_.rank == 3 ? p_.axes[1] : ConvAxis{1, 0, 1, 0, 1, 0, 1, 1, 0}) {
    if (refusal(Asked::kWhetherItCan)) return;
    const int64_t tiles = ceilDiv(positions_.outputSize, kernels_.nr);
    const int64_t reach = (positions_.taps - 1) * positions_.tapStep;
    width_ = tiles * kernels_.nr + reach;
    lineElements_ = p_.inputFeatures * width_;
    linesReach_ = (lines_.taps - 1) * lines_.tapStep + 1;
  }

  const char* refusal(Asked asked) const {
    if (!kernels_.runTile || floatTypeOf(domain_) == ElementType::kInvalid) return "no floats";
    if (storageBytes(p_.conv.resultType) < 2) return "narrow results";
    if (p_.groups != 1) return "several groups";
    if (p_.rank < 2 || p_.rank > 3 || !isPlain(p_.axes[0])) return "no images of lines";
    if (positions_.windowStride != 1 || p_.conv.inputFeatureStride != 1 || p_.taps() == 0) {
      return "positions are apart, or features";
    }
    if (p_.outputFeatures > kernels_.mr) return "many features";
    if (isTooLong()) return "long lines";
    if (asked == Asked::kWhetherItCan) return nullptr;
    // Vectors of more compute little that nobody reads.
    if (2 * p_.outputFeatures > kernels_.vectorLanes) return "features that fill vectors";
    if (p_.taps() < kMinTaps || p_.inputFeatures < kMinFeatures) return "few terms";
    const int64_t computed = roundUp(positions_.outputSize, kernels_.nr);
    return 4 * positions_.outputSize < 3 * computed ? "short lines" : nullptr;
  }

  bool run(RunServices& services) {
    const int64_t weights = p_.taps() * p_.inputFeatures * p_.outputFeatures;
    Scratch<char> memory(services, weights * kernels_.elementBytes);
    if (!memory) return false;
    weights_ = memory.data();
    featureOffsets_.resize(static_cast<size_t>(p_.inputFeatures));
    std::iota(featureOffsets_.begin(), featureOffsets_.end(), int64_t{0});
    if (domain_ == GemmDomain::kF64) {
      copyWeights<double>();
    } else {
      copyWeights<float>();
    }
    const int64_t images = p_.axes[0].outputSize, lines = lines_.outputSize;
    const int64_t most = std::max<int64_t>(1, linesThatFit() / lines_.windowStride);
    const int threads = services.numThreads();
    const int64_t wanted = ceilDiv(int64_t{4} * threads, images);
    linesAtOnce_ = std::clamp<int64_t>(ceilDiv(lines, wanted), std::min(lines_.taps, most), most);
    const int64_t parts = ceilDiv(lines, linesAtOnce_);
    const double work = static_cast<double>(p_.positions()) * static_cast<double>(weights);
    std::atomic<bool> outOfMemory{false};
    auto compute = [&](int64_t begin, int64_t end) {
      Scratch<char> planes(services, linesHeld() * lineElements_ * kernels_.elementBytes +
                                         kernels_.panelBytes(kernels_.nr, p_.inputFeatures));
      if (!planes) {
        outOfMemory = true;
        return;
      }
      for (int64_t task = begin; task < end; ++task) {
        const int64_t first = task % parts * linesAtOnce_;
        computeLines(task / parts, first, std::min(lines, first + linesAtOnce_), planes.data());
      }
    };
    if (threads == 1 || !worthThreads(work)) {
      compute(0, images * parts);
    } else {
      parallelFor(services, images * parts, 1, compute);
    }
    return !outOfMemory;
  }

 private:
  // Beyond what lines a position of each needs, how many there is room for.
  int64_t linesThatFit() const {
    const int64_t near = nearCacheBytes() / 2 / (lineElements_ * kernels_.elementBytes);
    return std::max<int64_t>(1, near - linesReach_ + 1);
  }
  int64_t linesHeld() const { return (linesAtOnce_ - 1) * lines_.windowStride + linesReach_; }
  // Sizes of far taps are compared before they are multiplied.
  bool isTooLong() const {
    auto isFar = [](const ConvAxis& axis) {
      return axis.taps > kMaxLinesBytes || axis.tapStep > kMaxLinesBytes ||
             axis.windowStride > kMaxLinesBytes || axis.inputSize > kMaxLinesBytes ||
             axis.outputSize > kMaxLinesBytes;
    };
    if (isFar(positions_) || isFar(lines_) || p_.inputFeatures > kMaxLinesBytes) return true;
    const double width = static_cast<double>(positions_.outputSize + kernels_.nr) +
                         static_cast<double>(positions_.taps) * double(positions_.tapStep);
    const double lines = static_cast<double>(lines_.taps) * double(lines_.tapStep);
    return width * lines * static_cast<double>(p_.inputFeatures * kernels_.elementBytes) >
           static_cast<double>(kMaxLinesBytes);
  }

  // To [taps][input features][output features], as numbers of the sums' type.
  template <typename T>
  void copyWeights() const {
    T* to = reinterpret_cast<T*>(weights_);
    for (int64_t line = 0; line < lines_.taps; ++line) {
      for (int64_t tap = 0; tap < positions_.taps; ++tap) {
        const int64_t base =
            p_.kernelOffset + line * lines_.kernelStride + tap * positions_.kernelStride;
        for (int64_t i = 0; i < p_.inputFeatures; ++i) {
          for (int64_t o = 0; o < p_.outputFeatures; ++o) {
            *to++ = loadElement<T>(
                p_.rhs, p_.conv.rhsType,
                base + i * p_.conv.kernelInputStride + o * p_.conv.kernelOutputStride);
          }
        }
      }
    }
  }

  // The line of an image as planes of features: [features][width_], zeros outside.
  void transposeLine(int64_t image, int64_t line, char* planes, char* panel) const {
    const int64_t bytes = kernels_.elementBytes, features = p_.inputFeatures;
    const int nr = kernels_.nr;
    const int64_t begin = std::clamp<int64_t>(positions_.padLow, 0, width_);
    const int64_t first = begin - positions_.padLow;  // of the input
    const int64_t count = std::clamp<int64_t>(positions_.inputSize - first, 0, width_ - begin);
    for (int64_t f = 0; f < features; ++f) {
      char* row = planes + f * width_ * bytes;
      std::memset(row, 0, static_cast<size_t>(begin * bytes));
      std::memset(row + (begin + count) * bytes, 0,
                  static_cast<size_t>((width_ - begin - count) * bytes));
    }
    const auto inputBytes = static_cast<int64_t>(storageBytes(p_.conv.lhsType));
    const char* from = static_cast<const char*>(p_.lhs) +
                       (p_.inputOffset + image * p_.axes[0].inputStride +
                        line * lines_.inputStride + first * positions_.inputStride) *
                           inputBytes;
    int64_t laneOffsets[kMaxGemmLanes];
    for (int i = 0; i < nr; ++i) laneOffsets[i] = i * positions_.inputStride;
    for (int64_t at = 0; at < count; at += nr) {
      const auto lanes = static_cast<int>(std::min<int64_t>(nr, count - at));
      kernels_.pack(panel, nr,
                    {from + at * positions_.inputStride * inputBytes, p_.conv.lhsType, lanes,
                     laneOffsets, featureOffsets_.data(), features, false, features, 0});
      for (int64_t f = 0; f < features; ++f) {
        std::memcpy(planes + (f * width_ + begin + at) * bytes, panel + f * nr * bytes,
                    static_cast<size_t>(lanes * bytes));
      }
    }
  }

  void computeLines(int64_t image, int64_t begin, int64_t end, char* planes) const {
    const int64_t bytes = kernels_.elementBytes;
    const int64_t firstLine = begin * lines_.windowStride - lines_.padLow;
    const int64_t held = (end - begin - 1) * lines_.windowStride + linesReach_;
    char* panel = planes + linesHeld() * lineElements_ * bytes;
    for (int64_t i = 0; i < held; ++i) {
      const int64_t line = firstLine + i;
      if (line < 0 || line >= lines_.inputSize) continue;
      transposeLine(image, line, planes + i * lineElements_ * bytes, panel);
    }
    std::vector<GemmRun> runs;
    for (int64_t line = begin; line < end; ++line) {
      runs.clear();
      for (int64_t tap = 0; tap < lines_.taps; ++tap) {
        const int64_t at = (line - begin) * lines_.windowStride + tap * lines_.tapStep;
        if (firstLine + at < 0 || firstLine + at >= lines_.inputSize) continue;
        for (int64_t w = 0; w < positions_.taps; ++w) {
          const int64_t weight = (tap * positions_.taps + w) * p_.inputFeatures;
          runs.push_back({weight * p_.outputFeatures, at * lineElements_ + w * positions_.tapStep,
                          p_.inputFeatures});
        }
      }
      computeLine(image, line, runs, planes);
    }
  }

  // Results [output feature][position] to the result from element `at` on.
  template <typename Bits>
  void storeTransposed(const char* results, int64_t at, int64_t positions) const {
    const auto* from = reinterpret_cast<const Bits*>(results);
    auto* to = static_cast<Bits*>(p_.result) + at;
    for (int64_t o = 0; o < p_.outputFeatures; ++o) {
      for (int64_t i = 0; i < positions; ++i) {
        to[i * positions_.outputStride + o * p_.conv.outputFeatureStride] =
            from[o * kernels_.nr + i];
      }
    }
  }

  void computeLine(int64_t image, int64_t line, const std::vector<GemmRun>& runs,
                   const char* planes) const {
    const int64_t bytes = kernels_.elementBytes;
    const int nr = kernels_.nr;
    const int64_t output =
        p_.outputOffset + image * p_.axes[0].outputStride + line * lines_.outputStride;
    const auto rows = static_cast<int>(p_.outputFeatures);
    const auto runsAtOnce =
        static_cast<size_t>(std::max<int64_t>(1, kTermsOfSum / p_.inputFeatures));
    constexpr size_t kBytes = kMaxGemmLanes * kMaxGemmLanes * sizeof(double);
    alignas(64) char sums[kBytes], results[kBytes];
    for (int64_t column = 0; column < positions_.outputSize; column += nr) {
      const int64_t count = std::min<int64_t>(nr, positions_.outputSize - column);
      size_t first = 0;
      do {
        const size_t atOnce = std::min(runsAtOnce, runs.size() - first);
        kernels_.runTile(runs.data() + first, static_cast<int64_t>(atOnce), weights_, 1,
                         p_.outputFeatures, planes + column * bytes, width_, sums, nr, rows, nr,
                         first > 0);
        first += runsAtOnce;
      } while (first < runs.size());
      storeSums(domain_, sums, rows * nr, p_.conv.resultType, results, 0);
      const int64_t at = output + column * positions_.outputStride;
      switch (storageBytes(p_.conv.resultType)) {
        case 2:
          storeTransposed<uint16_t>(results, at, count);
          break;
        case 4:
          storeTransposed<uint32_t>(results, at, count);
          break;
        default:
          storeTransposed<uint64_t>(results, at, count);
      }
    }
    if (!p_.epilogue) return;
    const int64_t row = (image * lines_.outputSize + line) * positions_.outputSize;
    p_.epilogue(p_.epilogueBuffers, row, row + positions_.outputSize, 0, p_.outputFeatures);
  }

  const ConvProblem& p_;
  const GemmKernels& kernels_;
  GemmDomain domain_;
  const ConvAxis& positions_;
  const ConvAxis lines_;
  int64_t width_ = 0;         // of a plane's line, with what taps reach beside it
  int64_t lineElements_ = 0;  // of a line of all planes
  int64_t linesReach_ = 1;    // lines from a position's first to its last
  int64_t linesAtOnce_ = 1;
  char* weights_ = nullptr;
  std::vector<int64_t> featureOffsets_;
};

}  // namespace

const char* planesRefusal(const ConvProblem& p, GemmDomain domain, Asked asked) {
  return Planes(p, domain).refusal(asked);
}

bool runPlanes(RunServices& services, const ConvProblem& p, GemmDomain domain) {
  return Planes(p, domain).run(services);
}

}  // namespace isthmus::cpu

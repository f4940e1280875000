// Convolutions that sum over many positions and give few, as gradients with respect to the kernel
// do: both operands are read where they lie, and only the taps that meet the input.
#include <algorithm>
#include <vector>

#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/kernels/parallel_for.h"

namespace isthmus::cpu {
namespace {

constexpr int kMaxAxes = kMaxConvSpatialDimensions + 1;
// Of both operands, what all tiles meet before the next part is read.
constexpr int64_t kBlockBytes = 512 << 10;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

class PositionSums {
 public:
  PositionSums(const ConvProblem& problem, GemmDomain domain)
      : p_(problem), kernels_(gemmKernels(domain)), bytes_(kernels_.elementBytes) {}

  // Neighbours along the last axis are the rows of tiles, output features their columns.
  bool fits() const {
    if (p_.rank < 2) return false;
    const ConvAxis& rows = p_.axes[p_.rank - 1];
    return rows.taps == 1 && rows.inputStride == 1 && rows.windowStride == 1 && rows.padLow == 0 &&
           rows.outputSize >= 4 && rows.outputSize == rows.inputSize &&
           p_.conv.outputFeatureStride == 1 && p_.conv.kernelOutputStride == 1 &&
           p_.outputFeatures % kernels_.vectorLanes == 0 && p_.taps() * p_.inputFeatures >= 64;
  }

  void run(RunServices& services) {
    const ConvAxis& rows = p_.axes[p_.rank - 1];
    rowTiles_ = ceilDiv(rows.outputSize, kernels_.mr);
    panels_ = ceilDiv(p_.outputFeatures, kernels_.nr);
    positions_ = p_.positions() / rows.outputSize;
    // Runs go along the axis with most taps.
    runAxis_ = 0;
    for (int d = 0; d + 1 < p_.rank; ++d) {
      if (p_.axes[d].taps > p_.axes[runAxis_].taps) runAxis_ = d;
    }
    const int64_t length = p_.axes[runAxis_].taps;
    combinations_ = p_.inputFeatures * p_.taps() / length;
    combinationsAtOnce_ = std::clamp<int64_t>(
        kBlockBytes / (length * (rows.outputSize + p_.outputFeatures) * bytes_), 1, combinations_);

    const int64_t tiles = p_.groups * positions_ * rowTiles_ * panels_;
    const double work = static_cast<double>(p_.positions()) * static_cast<double>(p_.groups) *
                        static_cast<double>(p_.outputFeatures) *
                        static_cast<double>(combinations_ * length);
    const int threads = services.numThreads();
    if (threads == 1 || !worthThreads(work)) return (*this)(0, tiles);
    // Each part of the tiles reads both operands once.
    parallelFor(services, tiles, ceilDiv(tiles, int64_t{2} * threads),
                [this](int64_t begin, int64_t end) { (*this)(begin, end); });
  }

 private:
  struct Tile {
    int64_t group, position, row, rows, column;
    int columns;
  };

  Tile tileAt(int64_t index) const {
    const int64_t size = p_.axes[p_.rank - 1].outputSize;
    Tile tile;
    const int64_t panel = index % panels_;
    tile.column = panel * kernels_.nr;
    tile.columns =
        static_cast<int>(std::min<int64_t>(kernels_.nr, p_.outputFeatures - tile.column));
    index /= panels_;
    const int64_t rowTile = index % rowTiles_;
    tile.row = size * rowTile / rowTiles_;
    tile.rows = size * (rowTile + 1) / rowTiles_ - tile.row;
    index /= rowTiles_;
    tile.position = index % positions_;
    tile.group = index / positions_;
    return tile;
  }

  // The steps of a position that lie in the input, of some combinations of input feature and taps
  // of all axes but one.
  void makeRuns(const int64_t* x, int64_t begin, int64_t end, std::vector<GemmRun>& runs) const {
    runs.clear();
    const ConvAxis& along = p_.axes[runAxis_];
    const int64_t start = x[runAxis_] * along.windowStride - along.padLow;
    const int64_t step = std::max<int64_t>(along.tapStep, 1);
    const int64_t first = start >= 0 ? 0 : ceilDiv(-start, step);
    const int64_t last = start >= along.inputSize
                             ? 0
                             : std::min(along.taps, (along.inputSize - 1 - start) / step + 1);
    if (first >= last) return;
    for (int64_t combination = begin; combination < end; ++combination) {
      int64_t rest = combination;
      int64_t input = (start + first * step) * along.inputStride;
      int64_t kernel = first * along.kernelStride;
      bool inside = true;
      for (int d = p_.rank - 1; d-- > 0;) {
        if (d == runAxis_) continue;
        const ConvAxis& axis = p_.axes[d];
        const int64_t tap = rest % axis.taps;
        rest /= axis.taps;
        const int64_t at = x[d] * axis.windowStride - axis.padLow + tap * axis.tapStep;
        inside = inside && at >= 0 && at < axis.inputSize;
        input += at * axis.inputStride;
        kernel += tap * axis.kernelStride;
      }
      if (!inside) continue;
      input += rest * p_.conv.inputFeatureStride;
      kernel += rest * p_.conv.kernelInputStride;
      runs.push_back({input, kernel, last - first});
    }
  }

  void operator()(int64_t begin, int64_t end) const {
    std::vector<GemmRun> runs;
    const ConvAxis& along = p_.axes[runAxis_];
    const int64_t stepStride = along.tapStep * along.inputStride;
    for (int64_t block = 0; block < combinations_; block += combinationsAtOnce_) {
      const int64_t blockEnd = std::min(combinations_, block + combinationsAtOnce_);
      int64_t known = -1;
      int64_t output = 0;
      for (int64_t index = begin; index < end; ++index) {
        const Tile tile = tileAt(index);
        if (tile.position != known) {
          known = tile.position;
          int64_t x[kMaxAxes];
          int64_t rest = tile.position;
          output = p_.outputOffset;
          for (int d = p_.rank - 1; d-- > 0;) {
            x[d] = rest % p_.axes[d].outputSize;
            rest /= p_.axes[d].outputSize;
            output += x[d] * p_.axes[d].outputStride;
          }
          makeRuns(x, block, blockEnd, runs);
        }
        const int64_t ldc = p_.axes[p_.rank - 1].outputStride;
        const int64_t a = p_.inputOffset + tile.group * p_.inputGroupStride + tile.row;
        const int64_t b = p_.kernelOffset + tile.group * p_.kernelGroupStride + tile.column;
        const int64_t c = output + tile.group * p_.outputGroupStride + tile.row * ldc + tile.column;
        kernels_.runTile(runs.data(), static_cast<int64_t>(runs.size()),
                         static_cast<const char*>(p_.lhs) + a * bytes_, 1, stepStride,
                         static_cast<const char*>(p_.rhs) + b * bytes_, along.kernelStride,
                         static_cast<char*>(p_.result) + c * bytes_, ldc,
                         static_cast<int>(tile.rows), tile.columns, block > 0);
      }
    }
    if (!p_.epilogue) return;
    for (int64_t index = begin; index < end; ++index) {
      const Tile tile = tileAt(index);
      const int64_t row = tile.position * p_.axes[p_.rank - 1].outputSize + tile.row;
      const int64_t column = tile.group * p_.outputFeatures + tile.column;
      p_.epilogue(p_.epilogueBuffers, row, row + tile.rows, column, column + tile.columns);
    }
  }

  const ConvProblem& p_;
  const GemmKernels& kernels_;
  int64_t bytes_;
  int64_t rowTiles_ = 1, panels_ = 1, positions_ = 1;
  int runAxis_ = 0;
  int64_t combinations_ = 1, combinationsAtOnce_ = 1;
};

}  // namespace

bool runPositionSums(RunServices& services, const ConvProblem& p, GemmDomain domain) {
  const ElementType type = floatTypeOf(domain);
  const ConvDescriptor& c = p.conv;
  if (c.lhsType != type || c.rhsType != type || c.resultType != type) return false;
  PositionSums sums(p, domain);
  if (!sums.fits()) return false;
  sums.run(services);
  return true;
}

}  // namespace isthmus::cpu

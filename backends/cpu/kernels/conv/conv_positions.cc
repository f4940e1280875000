// Convolutions that sum over many positions and give few, as gradients with respect to the kernel
// do: both operands are read where they lie, and only the taps that meet the input. Of bf16, whose
// products are summed in pairs, pairs of images are interleaved first: then the same holds.
#include <algorithm>
#include <vector>

#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/kernels/gemm/gemm_domains.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

constexpr int kMaxAxes = kMaxConvSpatialDimensions + 1;
// Of both operands, what all tiles meet before the next part is read.
constexpr int64_t kBlockBytes = 512 << 10;
// Of both operands, interleaved at a time: what threads find in a shared cache.
constexpr int64_t kInterleavedBytes = 6 << 20;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

class PositionSums {
 public:
  PositionSums(const ConvProblem& problem, GemmDomain domain)
      : p_(problem), kernels_(gemmKernels(domain)), bytes_(kernels_.elementBytes) {
    setOperands(p_.lhs, p_.rhs, p_.inputFeatures);
    steps_ = kernels_.stepsPerElement;
    sums_ = static_cast<char*>(p_.result);
  }

  // Neighbours along the last axis are the rows of tiles, output features their columns.
  bool fits() const {
    if (p_.rank < 2 || !kernels_.runTile) return false;
    // A single position meets each step once: a product that packs reads them in their order.
    if (p_.positions() == p_.axes[p_.rank - 1].outputSize) return false;
    const ConvAxis& rows = p_.axes[p_.rank - 1];
    return rows.taps == 1 && rows.inputStride == 1 && rows.windowStride == 1 && rows.padLow == 0 &&
           rows.outputSize >= 4 && rows.outputSize == rows.inputSize &&
           p_.conv.outputFeatureStride == 1 && p_.conv.kernelOutputStride == 1 &&
           p_.outputFeatures % kernels_.vectorLanes == 0 && p_.taps() * p_.inputFeatures >= 64;
  }

  // Sums over all input features that the operands have; with `accumulate` added to those there.
  void run(RunServices& services, bool accumulate) {
    accumulate_ = accumulate;
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
    combinations_ = inputFeatures_ * p_.taps() / length;
    combinationsAtOnce_ = std::clamp<int64_t>(
        kBlockBytes / (length * (rows.outputSize + p_.outputFeatures) * bytes_), 1, combinations_);
    const double multiplyAdds = static_cast<double>(p_.positions()) *
                                static_cast<double>(p_.groups * p_.outputFeatures) *
                                static_cast<double>(combinations_ * length);
    forTiles(services, multiplyAdds, [this](int64_t begin, int64_t end) { addTiles(begin, end); });
  }

  // Calls the epilogue, if there is one, for all tiles.
  void finish(RunServices& services) {
    if (!p_.epilogue) return;
    forTiles(services, 0, [this](int64_t begin, int64_t end) {
      for (int64_t index = begin; index < end; ++index) {
        const Tile tile = tileAt(index);
        const int64_t row = tile.position * p_.axes[p_.rank - 1].outputSize + tile.row;
        const int64_t column = tile.group * p_.outputFeatures + tile.column;
        p_.epilogue(p_.epilogueBuffers, row, row + tile.rows, column, column + tile.columns);
      }
    });
  }

  // Operands whose offsets and strides are the problem's, and how many input features they have.
  void setOperands(const void* lhs, const void* rhs, int64_t inputFeatures) {
    lhs_ = static_cast<const char*>(lhs);
    rhs_ = static_cast<const char*>(rhs);
    inputFeatures_ = inputFeatures;
  }
  // Where sums are added up, in the layout of the result.
  void setSums(void* sums) { sums_ = static_cast<char*>(sums); }

  // Calls visit(offset) for each row of output features, from which offset of the result on.
  template <typename Visit>
  void forRows(RunServices& services, Visit visit) const {
    const ConvAxis& rows = p_.axes[p_.rank - 1];
    const int64_t positions = p_.positions() / rows.outputSize;
    const int64_t grain = ceilDiv(16384, rows.outputSize * p_.outputFeatures);
    parallelFor(services, p_.groups * positions, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t x[kMaxAxes];
        const int64_t base = outputOf(i % positions, x) + i / positions * p_.outputGroupStride;
        for (int64_t row = 0; row < rows.outputSize; ++row) visit(base + row * rows.outputStride);
      }
    });
  }

 private:
  struct Tile {
    int64_t group, position, row, rows, column;
    int columns;
  };

  // Each part of the tiles reads both operands once.
  template <typename Function>
  void forTiles(RunServices& services, double multiplyAdds, Function function) const {
    const int64_t tiles = p_.groups * positions_ * rowTiles_ * panels_;
    const int threads = services.numThreads();
    if (threads == 1 || !worthThreads(multiplyAdds)) return function(int64_t{0}, tiles);
    parallelFor(services, tiles, ceilDiv(tiles, int64_t{2} * threads), function);
  }

  // The offset in the result of position `index` of all axes but the last, and its coordinates.
  int64_t outputOf(int64_t index, int64_t* x) const {
    int64_t output = p_.outputOffset;
    for (int d = p_.rank - 1; d-- > 0;) {
      x[d] = index % p_.axes[d].outputSize;
      index /= p_.axes[d].outputSize;
      output += x[d] * p_.axes[d].outputStride;
    }
    return output;
  }

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
      runs.push_back({input * steps_, kernel, (last - first) * steps_});
    }
  }

  void addTiles(int64_t begin, int64_t end) const {
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
          output = outputOf(tile.position, x);
          makeRuns(x, block, blockEnd, runs);
        }
        const int64_t ldc = p_.axes[p_.rank - 1].outputStride;
        const int64_t a = p_.inputOffset + tile.group * p_.inputGroupStride + tile.row;
        const int64_t b = p_.kernelOffset + tile.group * p_.kernelGroupStride + tile.column;
        const int64_t c = output + tile.group * p_.outputGroupStride + tile.row * ldc + tile.column;
        kernels_.runTile(runs.data(), static_cast<int64_t>(runs.size()), lhs_ + a * bytes_, steps_,
                         stepStride * steps_, rhs_ + b * bytes_, along.kernelStride,
                         sums_ + c * bytes_, ldc, static_cast<int>(tile.rows), tile.columns,
                         accumulate_ || block > 0);
      }
    }
  }

  const ConvProblem& p_;
  const GemmKernels& kernels_;
  int64_t bytes_;  // of sums, and of elements of the operands
  const char* lhs_;
  const char* rhs_;
  int64_t steps_;  // of bf16, which are interleaved, in an element
  int64_t inputFeatures_;
  char* sums_;
  bool accumulate_ = false;
  int64_t rowTiles_ = 1, panels_ = 1, positions_ = 1;
  int runAxis_ = 0;
  int64_t combinations_ = 1, combinationsAtOnce_ = 1;
};

// out[i] = the pair of a[i] and b[i], of which b may be null: zeros.
void interleave(const uint16_t* a, const uint16_t* b, int64_t count, uint32_t* out) {
  if (!b) {
    for (int64_t i = 0; i < count; ++i) out[i] = a[i];
    return;
  }
  for (int64_t i = 0; i < count; ++i) out[i] = a[i] | uint32_t{b[i]} << 16;
}

// How many elements of one image lie between its first and its last, if images follow each other.
int64_t spanOf(const ConvProblem& p, bool isKernel) {
  int64_t span = 1;
  for (int d = 0; d < p.rank; ++d) {
    const ConvAxis& a = p.axes[d];
    if (!isKernel) span += (a.inputSize - 1) * a.inputStride;
    if (isKernel) span += (a.taps - 1) * a.kernelStride;
  }
  if (!isKernel) return span + (p.groups - 1) * p.inputGroupStride;
  return span + (p.groups - 1) * p.kernelGroupStride +
         (p.outputFeatures - 1) * p.conv.kernelOutputStride;
}

// The input features that are summed over are the images of a gradient's batch: pairs of them are
// interleaved, some at a time. Nothing if the problem is not of this kind.
std::optional<bool> runPairs(RunServices& services, const ConvProblem& p) {
  const ConvDescriptor& c = p.conv;
  if (c.resultType != ElementType::kBF16 && c.resultType != ElementType::kF32) return std::nullopt;
  PositionSums sums(p, GemmDomain::kBf16);
  if (p.inputFeatures < 2 || !sums.fits()) return std::nullopt;
  const int64_t input = spanOf(p, false), kernel = spanOf(p, true);
  if (input > c.inputFeatureStride || kernel > c.kernelInputStride) return std::nullopt;
  for (int d = 0; d < p.rank; ++d) {
    if (p.axes[d].kernelStride < 0) return std::nullopt;
  }
  // Whole images, so that the problem's strides hold between the pairs.
  const int64_t inputStride = c.inputFeatureStride, kernelStride = c.kernelInputStride;
  const int64_t pairs = ceilDiv(p.inputFeatures, 2);
  const int64_t pairBytes = 4 * (inputStride + kernelStride);
  const int64_t atOnce = std::clamp<int64_t>(kInterleavedBytes / pairBytes, 1, pairs);
  Scratch<uint32_t> memory(services, atOnce * (inputStride + kernelStride) + kMaxGemmLanes);
  if (!memory) return false;
  uint32_t* lhs = memory.data();
  uint32_t* rhs = lhs + atOnce * inputStride;

  const bool rounds = c.resultType == ElementType::kBF16;
  int64_t last = 0;
  for (int d = 0; d < p.rank; ++d) last += (p.axes[d].outputSize - 1) * p.axes[d].outputStride;
  last += p.outputOffset + (p.groups - 1) * p.outputGroupStride + p.outputFeatures;
  Scratch<float> collected(services, rounds ? last : 1);
  if (!collected) return false;
  if (rounds) sums.setSums(collected.data());

  const auto* images = static_cast<const uint16_t*>(p.lhs) + p.inputOffset;
  const auto* gradients = static_cast<const uint16_t*>(p.rhs) + p.kernelOffset;
  for (int64_t pair = 0; pair < pairs; pair += atOnce) {
    const int64_t count = std::min(atOnce, pairs - pair);
    constexpr int64_t piece = 16 << 10;
    const int64_t inputPieces = ceilDiv(input, piece), kernelPieces = ceilDiv(kernel, piece);
    const int64_t pieces = inputPieces + kernelPieces;
    parallelFor(services, count * pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const bool isInput = i % pieces < inputPieces;
        const int64_t from = (isInput ? i % pieces : i % pieces - inputPieces) * piece;
        const int64_t stride = isInput ? inputStride : kernelStride;
        const int64_t elements = std::min(piece, (isInput ? input : kernel) - from);
        const int64_t image = 2 * (pair + i / pieces);
        const uint16_t* a = (isInput ? images : gradients) + image * stride + from;
        interleave(a, image + 1 < p.inputFeatures ? a + stride : nullptr, elements,
                   (isInput ? lhs : rhs) + i / pieces * stride + from);
      }
    });
    sums.setOperands(lhs - p.inputOffset, rhs - p.kernelOffset, count);
    sums.run(services, pair > 0);
  }
  if (rounds) {
    auto* result = static_cast<uint16_t*>(p.result);
    const auto store = gemmKernels(GemmDomain::kBf16).storeBfloats;
    sums.forRows(services, [&](int64_t offset) {
      store(collected.data() + offset, p.outputFeatures, result + offset);
    });
  }
  sums.finish(services);
  return true;
}

}  // namespace

std::optional<bool> runPositionSums(RunServices& services, const ConvProblem& p,
                                    GemmDomain domain) {
  const ConvDescriptor& c = p.conv;
  if (narrowDomain(domain, c.lhsType, c.rhsType) == GemmDomain::kBf16) return runPairs(services, p);
  const ElementType type = floatTypeOf(domain);
  if (c.lhsType != type || c.rhsType != type || c.resultType != type) return std::nullopt;
  PositionSums sums(p, domain);
  if (!sums.fits()) return std::nullopt;
  sums.run(services, false);
  sums.finish(services);
  return true;
}

}  // namespace isthmus::cpu

// Convolutions that sum over many positions and give few, as gradients with respect to the kernel
// do: both operands are read where they lie, and only the taps that meet the input. Of bf16, whose
// products are summed in pairs, pairs of images are interleaved first, images of few features get
// zeros around their rows, and where output features fill no vector, both are copied to where
// there is room to read whole ones: then the same holds. Of groups with few features several share
// a vector.
#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/kernels/cache_sizes.h"
#include "backends/cpu/kernels/conv/conv_problem.h"
#include "backends/cpu/kernels/conv/grouped_kernels.h"
#include "backends/cpu/kernels/gemm/gemm_domains.h"
#include "backends/cpu/kernels/isa.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "base/integer_math.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

// Of tiles, worth reading features anew.
constexpr int64_t kMinRowSize = 3;

// Added up before they are added to those before them: one long sum would lose three digits to
// rounding.
constexpr int64_t kTermsOfSum = 1024;

// For threads to share.
constexpr int64_t kEnoughTiles = 16;

// Whether the last vector of output features is not full.
bool hasPartOfVector(const ConvProblem& p, const GemmKernels& kernels) {
  return p.outputFeatures % kernels.vectorLanes != 0;
}

class PositionSums {
 public:
  PositionSums(const ConvProblem& problem, GemmDomain domain)
      : p_(problem), kernels_(gemmKernels(domain)), bytes_(kernels_.elementBytes) {
    setOperands(p_.lhs, p_.rhs, p_.inputFeatures);
    groupTiles_ = p_.groups;
    runTile_ = domain == GemmDomain::kBf16 ? kernels_.runTileOfPairs : kernels_.runTile;
    sums_ = static_cast<char*>(p_.result);
  }

  // Neighbours along the last axis are the rows of tiles, output features their columns. Null if
  // they can be.
  const char* refusal(Asked asked) const {
    const bool mustSuit = asked == Asked::kWhetherItSuits;
    if (p_.rank < 2 || !runTile_) return "no kernel of these types";
    // A single position meets each step once: a product that packs reads them in their order.
    if (mustSuit && !isJoined_ && p_.positions() == p_.axes[p_.rank - 1].outputSize) {
      return "one position";
    }
    const ConvAxis& rows = p_.axes[p_.rank - 1];
    if (!isPlain(rows) || rows.inputStride != 1 || p_.conv.outputFeatureStride != 1 ||
        p_.conv.kernelOutputStride != 1) {
      return "rows are no images that lie side by side";
    }
    if (mustSuit && rows.outputSize < kMinRowSize) return "short rows";
    if (!hasRoomBehindKernel_ && hasPartOfVector(p_, kernels_)) {
      return "no whole vectors of features";
    }
    if (p_.taps() * p_.inputFeatures == 0) return "there is nothing to sum";
    return mustSuit && p_.taps() * p_.inputFeatures < 64 ? "few terms" : nullptr;
  }

  // The same where each group has few features: operands as they are. False if they are others.
  bool chooseGroups() {
    if (p_.rank < 2 || p_.taps() == 0 || p_.inputFeatures == 0) return false;
    const ConvAxis& rows = p_.axes[p_.rank - 1];
    const int64_t features = p_.outputFeatures;
    const GroupKernels& kernels = *forHost(v2::groupKernels, v3::groupKernels, v4::groupKernels)();
    if (!isPlain(rows) || rows.inputStride != 1 || rows.outputSize != features ||
        p_.groups * features % kernels.lanes != 0 || p_.conv.outputFeatureStride != 1 ||
        p_.conv.kernelOutputStride != 1 || p_.inputGroupStride != features) {
      return false;
    }
    groupSums_ = kernels.sumsFor(p_.conv.lhsType, p_.conv.resultType, features);
    if (!groupSums_) return false;
    groupLanes_ = kernels.lanes;
    groupTiles_ = p_.groups * features / groupLanes_;
    bytes_ = static_cast<int64_t>(storageBytes(p_.conv.lhsType));
    sumBytes_ = static_cast<int64_t>(storageBytes(p_.conv.resultType));
    return true;
  }

  // Sums over all input features that the operands have; with `accumulate` added to those there.
  // False for want of scratch memory.
  bool run(RunServices& services, bool accumulate) {
    accumulate_ = accumulate;
    const ConvAxis& rows = p_.axes[p_.rank - 1];
    rowTiles_ = groupSums_ ? 1 : ceilDiv(rows.outputSize, kernels_.mr);
    panels_ = groupSums_ ? 1 : ceilDiv(p_.outputFeatures, kernels_.nr);
    positions_ = p_.positions() / rows.outputSize;
    // Runs go along the axis with most taps, and of such along the one with the nearest.
    runAxis_ = axisOfMostTaps(p_);
    const int64_t length = p_.axes[runAxis_].taps;
    combinations_ = inputFeatures_ * p_.taps() / length;
    const int64_t features = rows.outputSize + p_.outputFeatures;
    const int64_t near = kBlockBytes / (length * features * (groupSums_ ? p_.groups : 1) * bytes_);
    combinationsAtOnce_ =
        std::clamp<int64_t>(std::min(near, kTermsOfSum / length), 1, combinations_);
    // Sums that are rounded could not be added to.
    if (sumBytes_ < 4) combinationsAtOnce_ = combinations_;
    if (!groupSums_) {
      const int64_t most = std::min(combinations_, combinations_ * length / kTermsOfSum);
      parts_ = std::clamp<int64_t>(kEnoughTiles / tilesOfPart(), 1, std::max<int64_t>(1, most));
    }
    partBytes_ = resultSpan(p_) * bytes_;
    Scratch<char> partSums(services, std::max<int64_t>(1, (parts_ - 1) * partBytes_));
    if (!partSums) return false;
    partSums_ = partSums.data();
    const double multiplyAdds = static_cast<double>(p_.positions()) *
                                static_cast<double>(p_.groups * p_.outputFeatures) *
                                static_cast<double>(combinations_ * length);
    const int64_t tiles = tilesOfPart();
    forTiles(services, parts_ * tiles, multiplyAdds, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin / tiles; part * tiles < end; ++part) {
        addTiles(part, std::max(begin, part * tiles) - part * tiles,
                 std::min(end, (part + 1) * tiles) - part * tiles);
      }
    });
    if (parts_ > 1) addParts(services);
    return true;
  }

  // Calls the epilogue, if there is one, for all tiles.
  void finish(RunServices& services) {
    if (!p_.epilogue) return;
    forTiles(services, tilesOfPart(), 0, [this](int64_t begin, int64_t end) {
      for (int64_t index = begin; index < end; ++index) {
        const Tile tile = tileAt(index);
        const int64_t row = tile.position * p_.axes[p_.rank - 1].outputSize + tile.row;
        const int64_t column =
            tile.group * (groupSums_ ? groupLanes_ : p_.outputFeatures) + tile.column;
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
  // Operands are copies: whole vectors may be read behind the last features of the kernel, and if
  // `isJoined`, rows are of neighbours along two axes.
  void setPrepared(bool isJoined) {
    hasRoomBehindKernel_ = true;
    isJoined_ = isJoined;
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
        int64_t x[kMaxConvAxes];
        const int64_t base = outputOf(p_, i % positions, x) + i / positions * p_.outputGroupStride;
        for (int64_t row = 0; row < rows.outputSize; ++row) visit(base + row * rows.outputStride);
      }
    });
  }

 private:
  struct Tile {
    int64_t group, position, row, rows, column;
    int columns;
  };

  int64_t tilesOfPart() const { return groupTiles_ * positions_ * rowTiles_ * panels_; }

  // A thread's tiles, which follow each other, share what they read of both operands.
  template <typename Function>
  void forTiles(RunServices& services, int64_t tiles, double multiplyAdds,
                Function function) const {
    const int threads = services.numThreads();
    if (threads == 1 || !worthThreads(multiplyAdds)) return function(int64_t{0}, tiles);
    parallelFor(services, tiles, ceilDiv(tiles, int64_t{2} * threads), function);
  }

  Tile tileAt(int64_t index) const {
    const int64_t size = p_.axes[p_.rank - 1].outputSize;
    Tile tile;
    const int64_t panel = index % panels_;
    tile.column = panel * kernels_.nr;
    tile.columns =
        groupSums_
            ? groupLanes_
            : static_cast<int>(std::min<int64_t>(kernels_.nr, p_.outputFeatures - tile.column));
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

  void addParts(RunServices& services) const {
    forRows(services, [this](int64_t offset) {
      for (int64_t part = 1; part < parts_; ++part) {
        const char* more = partSums_ + (part - 1) * partBytes_;
        if (bytes_ == sizeof(float)) {
          addFeatures<float>(more, offset);
        } else {
          addFeatures<double>(more, offset);
        }
      }
    });
  }
  template <typename T>
  void addFeatures(const char* more, int64_t offset) const {
    T* to = reinterpret_cast<T*>(sums_) + offset;
    const T* from = reinterpret_cast<const T*>(more) + offset;
    for (int64_t o = 0; o < p_.outputFeatures; ++o) to[o] += from[o];
  }

  // Tiles [begin, end) of a part, whose sums of any but the first are in memory of their own.
  void addTiles(int64_t part, int64_t begin, int64_t end) const {
    std::vector<GemmRun> runs;
    const ConvAxis& along = p_.axes[runAxis_];
    const int64_t stepStride = along.tapStep * along.inputStride;
    const int64_t first = combinations_ * part / parts_, last = combinations_ * (part + 1) / parts_;
    char* const partSums = part == 0 ? sums_ : partSums_ + (part - 1) * partBytes_;
    for (int64_t block = first; block < last; block += combinationsAtOnce_) {
      const int64_t blockEnd = std::min(last, block + combinationsAtOnce_);
      const bool adds = block > first || (part == 0 && accumulate_);
      int64_t known = -1;
      int64_t output = 0;
      for (int64_t index = begin; index < end; ++index) {
        const Tile tile = tileAt(index);
        if (tile.position != known) {
          known = tile.position;
          int64_t x[kMaxConvAxes];
          output = outputOf(p_, tile.position, x);
          makeRuns(x, block, blockEnd, runs);
        }
        const int64_t ldc = p_.axes[p_.rank - 1].outputStride;
        if (groupSums_) {
          const int64_t feature = tile.group * groupLanes_;
          groupSums_(runs.data(), static_cast<int64_t>(runs.size()),
                     lhs_ + (p_.inputOffset + feature) * bytes_, stepStride,
                     rhs_ + (p_.kernelOffset + feature) * bytes_, along.kernelStride,
                     partSums + (output + feature) * sumBytes_, ldc, adds);
          continue;
        }
        const int64_t a = p_.inputOffset + tile.group * p_.inputGroupStride + tile.row;
        const int64_t b = p_.kernelOffset + tile.group * p_.kernelGroupStride + tile.column;
        const int64_t c = output + tile.group * p_.outputGroupStride + tile.row * ldc + tile.column;
        runTile_(runs.data(), static_cast<int64_t>(runs.size()), lhs_ + a * bytes_, 1, stepStride,
                 rhs_ + b * bytes_, along.kernelStride, partSums + c * bytes_, ldc,
                 static_cast<int>(tile.rows), tile.columns, adds);
      }
    }
  }

  const ConvProblem& p_;
  const GemmKernels& kernels_;
  int64_t bytes_;         // of sums, and of elements of the operands
  int64_t sumBytes_ = 4;  // of groups that share a vector, as follows
  GroupSums groupSums_ = nullptr;
  int groupLanes_ = 0;
  int64_t groupTiles_;  // groups, or vectors of such
  const char* lhs_;
  const char* rhs_;
  RunTile runTile_;
  bool hasRoomBehindKernel_ = false;
  bool isJoined_ = false;
  int64_t inputFeatures_;
  char* sums_;
  bool accumulate_ = false;
  int64_t rowTiles_ = 1, panels_ = 1, positions_ = 1;
  int runAxis_ = 0;
  int64_t combinations_ = 1, combinationsAtOnce_ = 1;
  // Of the combinations, where there are few tiles for threads: each part has sums of its own.
  int64_t parts_ = 1;
  int64_t partBytes_ = 0;
  char* partSums_ = nullptr;
};

// Operands as PositionSums reads them best: pairs of images of bf16 interleaved, and where rows of
// tiles would be short (images of three colours), images with zeros around their rows, so that
// neighbours along the last window dimension are more rows. Some images are prepared at a time.
class PreparedSums {
 public:
  PreparedSums(const ConvProblem& problem, GemmDomain domain)
      : p_(problem),
        isNarrow_(domain == GemmDomain::kBf16),
        joins_(rowsCanJoin()),
        isPartOfVector_(hasPartOfVector(problem, gemmKernels(domain))),
        conv_(problem.conv),
        prepared_(joins_ ? joined() : problem),
        sums_(prepared_, domain) {
    sums_.setPrepared(joins_);
  }

  // Of bf16 there must be several images, since each takes the place of two. Null if it fits.
  const char* refusal(Asked asked) const {
    if (p_.inputFeatures < (isNarrow_ ? 2 : 1)) return "few images";
    if (const char* why = sums_.refusal(asked)) return why;
    for (int d = 0; d < p_.rank; ++d) {
      if (p_.axes[d].kernelStride < 0) return "reversed windows";
    }
    const bool liesTogether =
        inputSpan() <= p_.conv.inputFeatureStride && kernelSpan() <= p_.conv.kernelInputStride;
    return liesTogether ? nullptr : "images overlap";
  }
  bool suits() const { return !refusal(Asked::kWhetherItSuits); }
  bool pays() const { return joins_ || isPartOfVector_; }

  // False for want of scratch memory.
  bool run(RunServices& services) {
    services_ = &services;
    const int64_t inputStride = conv_.inputFeatureStride, kernelStride = conv_.kernelInputStride;
    const int64_t images = isNarrow_ ? ceilDiv(p_.inputFeatures, 2) : p_.inputFeatures;
    const int64_t imageBytes = 4 * (inputStride + kernelStride);
    const int64_t atOnce = std::clamp<int64_t>(kPreparedBytes / imageBytes, 1, images);
    Scratch<uint32_t> memory(*services_, atOnce * (inputStride + kernelStride) + kMaxGemmLanes);
    const bool rounds = p_.conv.resultType == ElementType::kBF16;
    Scratch<float> collected(*services_, rounds ? resultSpan(p_) : 1);
    if (!memory || !collected) return false;
    if (rounds) sums_.setSums(collected.data());
    uint32_t* lhs = memory.data();
    uint32_t* rhs = lhs + atOnce * inputStride;
    for (int64_t image = 0; image < images; image += atOnce) {
      const int64_t count = std::min(atOnce, images - image);
      prepare(image, count, lhs, rhs);
      sums_.setOperands(lhs - prepared_.inputOffset, rhs - prepared_.kernelOffset, count);
      if (!sums_.run(*services_, image > 0)) return false;
    }
    if (rounds) {
      auto* result = static_cast<uint16_t*>(p_.result);
      const auto store = gemmKernels(GemmDomain::kBf16).storeBfloats;
      sums_.forRows(*services_, [&](int64_t offset) {
        store(collected.data() + offset, p_.outputFeatures, result + offset);
      });
    }
    sums_.finish(*services_);
    return true;
  }

 private:
  // The axis whose neighbours become rows.
  const ConvAxis& columns() const { return p_.axes[p_.rank - 2]; }
  const ConvAxis& rows() const { return p_.axes[p_.rank - 1]; }

  // Whether rows are short, and positions along the axis before lie behind them everywhere.
  bool rowsCanJoin() const {
    if (p_.rank < 2 || p_.groups != 1) return false;
    const ConvAxis& c = columns();
    const ConvAxis& r = rows();
    return r.outputSize < 8 && c.outputSize > 1 && r.taps == 1 && r.inputStride == 1 &&
           r.inputSize == r.outputSize && r.padLow == 0 && c.windowStride == 1 && c.tapStep > 0 &&
           c.inputStride == r.outputSize && c.outputStride == r.outputSize * r.outputStride;
  }

  // Of an image with zeros before and after its rows, which all taps of all positions meet.
  int64_t paddedColumns() const {
    return columns().outputSize + (columns().taps - 1) * columns().tapStep;
  }

  // The problem with positions along columns() as rows, and only taps left of that axis.
  ConvProblem joined() {
    const int64_t features = rows().outputSize;
    conv_.inputFeatureStride = linesOfImage() * paddedColumns() * features;
    ConvProblem q{conv_,
                  p_.lhs,
                  p_.rhs,
                  p_.result,
                  0,
                  p_.kernelOffset,
                  p_.outputOffset,
                  1,
                  0,
                  p_.kernelGroupStride,
                  p_.outputGroupStride,
                  p_.inputFeatures,
                  p_.outputFeatures,
                  p_.rank,
                  {},
                  p_.epilogue,
                  p_.epilogueBuffers};
    std::copy(p_.axes, p_.axes + p_.rank, q.axes);
    int64_t stride = paddedColumns() * features;
    for (int d = p_.rank - 2; d-- > 0;) {
      q.axes[d].inputStride = stride;
      stride *= q.axes[d].inputSize;
    }
    ConvAxis& taps = q.axes[p_.rank - 2];
    ConvAxis& all = q.axes[p_.rank - 1];
    all.outputSize = all.inputSize = features * taps.outputSize;
    taps.outputSize = 1;
    taps.padLow = 0;
    taps.inputSize = (taps.taps - 1) * taps.tapStep + 1;
    return q;
  }

  int64_t linesOfImage() const {
    int64_t lines = 1;
    for (int d = 0; d + 2 < p_.rank; ++d) lines *= p_.axes[d].inputSize;
    return lines;
  }

  // How many elements lie between the first and the last of an image, of a gradient.
  int64_t inputSpan() const {
    int64_t span = 1 + (p_.groups - 1) * p_.inputGroupStride;
    for (int d = 0; d < p_.rank; ++d) span += (p_.axes[d].inputSize - 1) * p_.axes[d].inputStride;
    return span;
  }
  int64_t kernelSpan() const {
    int64_t span = 1 + (p_.groups - 1) * p_.kernelGroupStride +
                   (p_.outputFeatures - 1) * p_.conv.kernelOutputStride;
    for (int d = 0; d < p_.rank; ++d) span += (p_.axes[d].taps - 1) * p_.axes[d].kernelStride;
    return span;
  }

  // Elements [from, from + count) of image `image` of `data`, whose images are `stride` apart: of
  // bf16, pairs of two images, of which the last may be missing.
  void copy(const void* data, int64_t stride, int64_t image, int64_t from, int64_t count,
            uint32_t* out) const {
    if (!isNarrow_) {
      std::memcpy(out, static_cast<const uint32_t*>(data) + image * stride + from,
                  static_cast<size_t>(count) * sizeof(uint32_t));
      return;
    }
    const uint16_t* a = static_cast<const uint16_t*>(data) + 2 * image * stride + from;
    if (2 * image + 1 == p_.inputFeatures) {
      for (int64_t i = 0; i < count; ++i) out[i] = a[i];
      return;
    }
    const uint16_t* b = a + stride;
    for (int64_t i = 0; i < count; ++i) out[i] = a[i] | uint32_t{b[i]} << 16;
  }

  // The line of a padded image.
  void copyLine(int64_t image, int64_t line, uint32_t* out) const {
    const int64_t features = rows().outputSize, low = columns().padLow;
    int64_t offset = p_.inputOffset;
    for (int d = p_.rank - 2; d-- > 0;) {
      offset += line % p_.axes[d].inputSize * p_.axes[d].inputStride;
      line /= p_.axes[d].inputSize;
    }
    const int64_t padded = paddedColumns();
    const int64_t begin = std::clamp<int64_t>(low, 0, padded);
    const int64_t end = std::clamp<int64_t>(low + columns().inputSize, begin, padded);
    std::fill(out, out + begin * features, 0u);
    if (begin < end) {
      copy(p_.lhs, p_.conv.inputFeatureStride, image, offset + (begin - low) * features,
           (end - begin) * features, out + begin * features);
    }
    std::fill(out + end * features, out + padded * features, 0u);
  }

  void prepare(int64_t image, int64_t count, uint32_t* lhs, uint32_t* rhs) const {
    constexpr int64_t piece = 16 << 10;
    const int64_t kernel = kernelSpan();
    const int64_t lines = joins_ ? linesOfImage() : 1, input = joins_ ? 1 : inputSpan();
    const int64_t inputPieces =
        joins_ ? ceilDiv(lines * paddedColumns(), piece) : ceilDiv(input, piece);
    const int64_t pieces = inputPieces + ceilDiv(kernel, piece);
    parallelFor(*services_, count * pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = i / pieces, part = i % pieces;
        uint32_t* toLhs = lhs + at * conv_.inputFeatureStride;
        if (part >= inputPieces) {
          const int64_t from = (part - inputPieces) * piece;
          copy(p_.rhs, p_.conv.kernelInputStride, image + at, p_.kernelOffset + from,
               std::min(piece, kernel - from), rhs + at * conv_.kernelInputStride + from);
        } else if (!joins_) {
          copy(p_.lhs, p_.conv.inputFeatureStride, image + at, p_.inputOffset + part * piece,
               std::min(piece, input - part * piece), toLhs + part * piece);
        } else {
          const int64_t last = lines * (part + 1) / inputPieces;
          for (int64_t line = lines * part / inputPieces; line < last; ++line) {
            copyLine(image + at, line, toLhs + line * paddedColumns() * rows().outputSize);
          }
        }
      }
    });
  }

  RunServices* services_ = nullptr;
  const ConvProblem& p_;
  bool isNarrow_;
  bool joins_;
  bool isPartOfVector_;
  ConvDescriptor conv_;   // of prepared_
  ConvProblem prepared_;  // with the layout of the prepared operands
  PositionSums sums_;
};

// Whether several groups share a vector, if chooseGroups() says so too.
bool isOfGroups(const ConvDescriptor& c, const ConvProblem& p) {
  return c.lhsType == c.rhsType && p.groups > 1;
}

// Of f32, whether operands are prepared although they could be read in place.
bool isPrepared(const ConvProblem& p, GemmDomain domain) {
  if (domain != GemmDomain::kF32) return false;
  const PreparedSums sums(p, domain);
  return sums.pays() && sums.suits();
}

}  // namespace

const char* positionSumsRefusal(const ConvProblem& p, GemmDomain domain, Asked asked) {
  const ConvDescriptor& c = p.conv;
  if (isOfGroups(c, p) && PositionSums(p, GemmDomain::kF32).chooseGroups()) return nullptr;
  domain = narrowDomain(domain, c.lhsType, c.rhsType, c.resultType);
  if (domain == GemmDomain::kBf16) {
    if (c.resultType != ElementType::kBF16 && c.resultType != ElementType::kF32) {
      return "another type of results";
    }
    return PreparedSums(p, domain).refusal(asked);
  }
  const ElementType type = floatTypeOf(domain);
  if (c.lhsType != type || c.rhsType != type || c.resultType != type) return "mixed types";
  if (isPrepared(p, domain)) return nullptr;
  return PositionSums(p, domain).refusal(asked);
}

bool runPositionSums(RunServices& services, const ConvProblem& p, GemmDomain domain) {
  const ConvDescriptor& c = p.conv;
  if (isOfGroups(c, p)) {
    PositionSums sums(p, GemmDomain::kF32);
    if (sums.chooseGroups()) {
      if (!sums.run(services, false)) return false;
      sums.finish(services);
      return true;
    }
  }
  domain = narrowDomain(domain, c.lhsType, c.rhsType, c.resultType);
  if (domain == GemmDomain::kBf16 || isPrepared(p, domain)) {
    return PreparedSums(p, domain).run(services);
  }
  PositionSums sums(p, domain);
  if (!sums.run(services, false)) return false;
  sums.finish(services);
  return true;
}

}  // namespace isthmus::cpu

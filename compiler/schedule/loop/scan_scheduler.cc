// Schedules of running reductions.
#include <algorithm>

#include "compiler/cost/scan_lines.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/facts/scan.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/loop/reduction_axes.h"
#include "compiler/schedule/loop/update_scheduler.h"
#include "compiler/target/element_kind.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus {
namespace {

// Neighbours that a thread of a group sums for itself.
constexpr int64_t kThreadElements = 4;
// Lines that lie so far apart are read by threads side by side, each a line of its own.
constexpr int64_t kMinInner = 8;
// Below, a line is not worth to be cut among threads that have one each.
constexpr int64_t kMinThreadChunk = 16;

bool canCut(mlir::Operation* op) {
  auto reduce = mlir::cast<shlo::ReduceWindowOp>(op);
  if (reduce.getInputs().size() != 1) return false;
  auto kind = elementKind(tensorTypeOf(reduce.getInputs()[0]).getElementType());
  return kind && hasNeutralValue(reduce.getBody(), *kind);
}

unsigned threadsFor(int64_t elements, const TargetModel& target) {
  unsigned threads = target.subgroupSize;
  while (threads < target.groupSize && threads * kThreadElements < elements) threads *= 2;
  return threads;
}

// Whether what is combined is rounded, so that errors add up along a line.
bool rounds(shlo::ReduceWindowOp reduce) {
  mlir::Operation* op = soleOperation(reduce.getBody());
  return !(op && isIdempotent(op)) && llvm::any_of(reduce.getInputs(), [](mlir::Value input) {
    return llvm::isa<mlir::FloatType, mlir::ComplexType>(tensorTypeOf(input).getElementType());
  });
}

// Elements of a block, blocks of a larger one and larger blocks of a line, about as many of each.
// Short lines are left whole: blocks would cost a third of their time.
int64_t chunkOfLine(int64_t size) {
  constexpr int64_t kShortLine = 256;
  if (size <= kShortLine) return 1;
  int64_t chunk = 32;
  while (chunk * chunk * chunk < size) chunk *= 2;
  return chunk;
}

// As many blocks as make work enough, each a multiple of `unit`.
int64_t chunkFor(const ScanLines& all, int64_t unit, const TargetModel& target) {
  const int64_t chunk = llvm::divideCeilSigned(all.size, wantedScanParts(all, target));
  return std::min<int64_t>(all.size, llvm::divideCeilSigned(chunk, unit) * unit);
}

class ScanScheduler {
 public:
  ScanScheduler(const ScanStage& stage, const ScanLines& all, const TargetModel& target)
      : stage_(stage), all_(all), target_(target) {}

  llvm::SmallVector<ScanStage, 3> run(bool canBeCut) {
    const bool hasGroups = target_.hasGroups();
    const bool isForGroups =
        canBeCut && hasGroups && all_.inner < kMinInner && all_.size >= target_.subgroupSize;
    unsigned threads = isForGroups ? threadsFor(all_.size, target_) : 1;
    int64_t unit = isForGroups ? threads * kThreadElements : kMinThreadChunk;
    // Few lines of more than a group sums at once; of threads, fewer than keep the device busy.
    int64_t chunk = canBeCut ? chunkFor(all_, unit, target_) : all_.size;
    if (isForGroups && all_.size <= 2 * unit) chunk = all_.size;
    const int64_t blocks = llvm::divideCeilSigned(all_.size, chunk);
    if (blocks == 1) {
      add(ScanPart::kWhole, threads, all_.size, 1, 1);
      return std::move(stages_);
    }
    add(ScanPart::kBlocks, threads, chunk, blocks, 1);
    const bool isForGroup = hasGroups && blocks >= target_.subgroupSize;
    add(ScanPart::kTotals, isForGroup ? threadsFor(blocks, target_) : 1, chunk, 1,
        static_cast<double>(blocks) / static_cast<double>(all_.size));
    add(ScanPart::kOffsets, threads, chunk, blocks, 1);
    return std::move(stages_);
  }

 private:
  // `share`: of all elements, those that the part reads.
  void add(ScanPart part, unsigned threads, int64_t chunk, int64_t tilesOfLine, double share) {
    ScanStage stage = stage_;
    stage.scanPart = part;
    stage.groupThreads = threads;
    stage.chunk = chunk;
    stage.grain = threads > 1 ? kThreadElements : 1;
    stage.tileSpace = TileSpace::kIndices;
    stage.tileCount = all_.lines * tilesOfLine;
    const auto elements = static_cast<double>(all_.lines * all_.size) * share;
    stage.ns = elements / target_.scalarOpsPerNs + 10;
    stages_.push_back(std::move(stage));
  }

  const ScanStage& stage_;
  ScanLines all_;
  const TargetModel& target_;
  llvm::SmallVector<ScanStage, 3> stages_;
};

}  // namespace

llvm::SmallVector<ScanStage, 3> scheduleScan(ir::FusionOp fusion, const TargetModel& target,
                                             const ScanStage& given) {
  mlir::Operation* op = wholeOpOf(fusion, given);
  int64_t dim = given.scanDim;
  auto type = tensorTypeOf(op->getResult(0));
  if (target.device == DeviceKind::kGpu && type.getNumElements() > 0) {
    return ScanScheduler(given, scanLinesOf(type, dim), target).run(canCut(op));
  }
  ScanStage stage = given;
  int64_t rank = type.getRank();
  if (rounds(mlir::cast<shlo::ReduceWindowOp>(op))) stage.chunk = chunkOfLine(type.getDimSize(dim));
  // Lanes run along the innermost dimension, beside each other.
  if (dim != rank - 1) {
    stage.lanes = lanesFor(target, op->getResults(), type.getDimSize(rank - 1));
  }
  // Rows of the outermost dimension do not depend on each other.
  if (dim != 0) {
    tileBy(&stage, TileSpace::kIndices, 0, type.getDimSize(0), 1, type.getDimSize(0));
  }
  double perElement = stage.lanes > 1 ? 0.5 : 1.5;
  stage.ns = static_cast<double>(type.getNumElements()) * perElement / target.scalarOpsPerNs + 10;
  return {stage};
}

}  // namespace isthmus

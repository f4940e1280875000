// Schedules of stages that are one op with all its results.
#include "compiler/schedule/loop/update_scheduler.h"

#include <algorithm>

#include "compiler/cost/private_copies.h"
#include "compiler/cost/time.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/schedule/loop/scatter_dims.h"
#include "compiler/target/element_kind.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus {
namespace {

unsigned computeBits(mlir::ValueRange values) {
  unsigned widest = 8;
  for (mlir::Value value : values) {
    if (auto kind = elementKind(tensorTypeOf(value).getElementType())) {
      widest = std::max(widest, kind->computeBits());
    }
  }
  return widest;
}

// All updates side by side, a thread each, where there are more of them than tiles so far and those
// leave threads idle.
void tileByUpdates(UpdateStage* stage, mlir::RankedTensorType updates, const TargetModel& target,
                   unsigned lanes = 1) {
  int64_t count = updates.getNumElements();
  const int64_t enough = target.enoughRows * static_cast<int64_t>(target.groupSize);
  if (stage->tileCount >= std::min(count, enough)) return;
  stage->lanes = lanes;
  stage->tileCount = 1;
  tileBy(stage, TileSpace::kIndices, kAllUpdates, count,
         std::max<int64_t>(target.minScatterUpdates, lanes), target.maxScatterTiles);
}

// How many neighbours one instruction adds to the operand.
unsigned lanesAtOnce(shlo::ScatterOp scatter, const ScatterDims& dims, const TargetModel& target) {
  constexpr unsigned kBits = 32;
  if (target.atomicVectorBits <= kBits || scatter->getNumResults() != 1 ||
      !dims.isInnermostWindow ||
      dims.isMovedByIndex(static_cast<int64_t>(dims.windowDims.size()) - 1) ||
      !llvm::isa_and_nonnull<shlo::AddOp>(soleOperation(scatter.getUpdateComputation()))) {
    return 1;
  }
  auto to = tensorTypeOf(scatter->getResult(0)), from = tensorTypeOf(scatter.getUpdates()[0]);
  if (!to.getElementType().isF32()) return 1;
  // An address is a multiple of what is added there.
  const int64_t lanes = target.atomicVectorBits / kBits;
  const bool isAligned = to.getShape().back() % lanes == 0 && from.getShape().back() % lanes == 0 &&
                         target.bufferBytes * 8 % target.atomicVectorBits == 0;
  return isAligned ? static_cast<unsigned>(lanes) : 1;
}

// All updates side by side, those of each copy for a group of threads.
void tileByCopies(UpdateStage* stage, int64_t count, int64_t copies, const TargetModel& target) {
  stage->groupThreads = target.groupSize;
  stage->lanes = 1;
  stage->tileCount = 1;
  tileBy(stage, TileSpace::kIndices, kAllUpdates, count, stage->groupThreads, copies);
}

}  // namespace

unsigned lanesFor(const TargetModel& target, mlir::ValueRange values, int64_t size) {
  unsigned lanes = target.vectorLanes(computeBits(values));
  while (lanes > 1 && lanes > size) lanes /= 2;
  return lanes;
}

void tileBy(WholeStage* stage, TileSpace space, int64_t dim, int64_t size, int64_t least,
            int64_t most) {
  if (size == 0 || most == 0) return;
  int64_t unit = std::max<int64_t>(
      least, static_cast<int64_t>(llvm::alignTo((size + most - 1) / most, least)));
  int64_t count = (size + unit - 1) / unit;
  if (count <= stage->tileCount) return;
  stage->tileSpace = space;
  stage->tileDim = dim;
  stage->tileUnit = unit;
  stage->tileCount = count;
}

void scheduleScatter(ir::FusionOp fusion, const TargetModel& target, UpdateStage* stage) {
  auto scatter = mlir::cast<shlo::ScatterOp>(wholeOpOf(fusion, *stage));
  ScatterDims dims(scatter);
  auto updates = tensorTypeOf(scatter.getUpdates()[0]);
  if (dims.isInnermostWindow) {
    stage->lanes =
        lanesFor(target, scatter->getResults(), updates.getDimSize(updates.getRank() - 1));
  }
  // Tiles must not meet in the operand: they are parts of a batch, of windows along a dimension
  // that no index moves, or of updates that are promised to be to different places.
  for (int64_t d : dims.batchingOfIndices) {
    tileBy(stage, TileSpace::kIndices, d, dims.indexSizes[d], 1, target.maxScatterTiles);
  }
  int64_t innerBytes = computeBits(scatter->getResults()) / 8;
  bool isBatched = stage->tileSpace == TileSpace::kIndices;
  for (auto w = static_cast<int64_t>(dims.windowSizes.size()); w-- > 0 && !isBatched;) {
    auto least = std::max<int64_t>(
        stage->lanes, static_cast<int64_t>(llvm::divideCeil(target.minTileBytes, innerBytes)));
    innerBytes *= dims.windowSizes[w];
    if (dims.isMovedByIndex(w)) continue;
    least = static_cast<int64_t>(llvm::alignTo(least, stage->lanes));
    tileBy(stage, TileSpace::kWindow, w, dims.windowSizes[w], least, target.maxScatterTiles);
  }
  if (stage->tileSpace == TileSpace::kNone && scatter.getUniqueIndices() &&
      !dims.indexSizes.empty()) {
    int64_t inner = 1;
    for (int64_t size : llvm::drop_begin(dims.indexSizes)) inner *= size;
    int64_t least = std::max<int64_t>(1, target.minScatterUpdates / std::max<int64_t>(1, inner));
    tileBy(stage, TileSpace::kIndices, 0, dims.indexSizes[0], least, target.maxScatterTiles);
  }
  bool canMeet = !scatter.getUniqueIndices();
  bool isOne = scatter->getNumResults() == 1;
  // Where lanes are threads, an update needs no neighbours.
  if (target.device == DeviceKind::kGpu &&
      (!canMeet || (isOne && canExchange(tensorTypeOf(scatter->getResult(0)), target)))) {
    tileByUpdates(stage, updates, target, canMeet ? lanesAtOnce(scatter, dims, target) : 1);
  }
  if (const int64_t copies = privateCopies(scatter, target); copies > 0) {
    tileByCopies(stage, updates.getNumElements(), copies, target);
  }
  double places = 1;
  for (int64_t size : dims.indexSizes) places *= static_cast<double>(size);
  double ns = static_cast<double>(updates.getNumElements()) * (stage->lanes > 1 ? 0.25 : 1.0);
  // Tiles of windows each read all indices.
  bool repeats = stage->tileSpace == TileSpace::kWindow;
  places *= repeats ? static_cast<double>(stage->tileCount) : 1;
  stage->ns = (ns + places) / target.scalarOpsPerNs + 10;
}

void scheduleUpdateSlice(ir::FusionOp fusion, const TargetModel& target, UpdateStage* stage) {
  auto update = mlir::cast<shlo::DynamicUpdateSliceOp>(wholeOpOf(fusion, *stage));
  auto block = tensorTypeOf(update.getUpdate());
  stage->ns = kernelNs(target, fusion, {update.getUpdate()});
  if (block.getRank() == 0) return;
  const int64_t last = block.getRank() - 1;
  stage->lanes = lanesFor(target, update.getUpdate(), block.getDimSize(last));
  if (target.device == DeviceKind::kGpu) return tileByUpdates(stage, block, target);
  // Constant bounds are better than tiles for one thread.
  if (stage->ns < target.parallelNs) return;
  // Parts of the outermost dimension that there are enough of: each is the longest run of memory.
  int64_t innerBytes = computeBits(update.getUpdate()) / 8 * block.getNumElements();
  for (int64_t d = 0; d <= last && innerBytes > 0; ++d) {
    innerBytes /= block.getDimSize(d);
    auto least = static_cast<int64_t>(llvm::divideCeil(target.minTileBytes, innerBytes));
    if (d == last) least = static_cast<int64_t>(llvm::alignTo(least, stage->lanes));
    tileBy(stage, TileSpace::kWindow, d, block.getDimSize(d), std::max<int64_t>(1, least),
           target.maxScatterTiles);
  }
}

void scheduleSelectAndScatter(ir::FusionOp fusion, const TargetModel& target, UpdateStage* stage) {
  auto select = mlir::cast<shlo::SelectAndScatterOp>(wholeOpOf(fusion, *stage));
  auto to = tensorTypeOf(select->getResult(0)), source = tensorTypeOf(select.getSource());
  SelectWindow window(select);
  int64_t rank = to.getRank();
  // Dimensions that windows do not extend over: lanes, and tiles whose windows never meet.
  auto isPlain = [&](int64_t d) {
    return window.size[d] == 1 && window.stride[d] == 1 && window.low[d] == 0 &&
           to.getDimSize(d) == source.getDimSize(d);
  };
  if (rank > 0 && isPlain(rank - 1)) {
    stage->lanes = lanesFor(target, select->getResults(), source.getDimSize(rank - 1));
  }
  if (rank > 1 && isPlain(0)) {
    tileBy(stage, TileSpace::kIndices, 0, source.getDimSize(0), 1, source.getDimSize(0));
  }
  if (target.device == DeviceKind::kGpu && (!window.meet() || canExchange(to, target))) {
    tileByUpdates(stage, source, target);
  }
  int64_t elements = 1;
  for (int64_t extent : window.size) elements *= extent;
  stage->ns =
      static_cast<double>(source.getNumElements() * elements) / 2 / target.scalarOpsPerNs + 10;
}

}  // namespace isthmus

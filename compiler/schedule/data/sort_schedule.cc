#include "compiler/schedule/data/sort_schedule.h"

#include "llvm/Support/MathExtras.h"
#include "mlir/Transforms/RegionUtils.h"

namespace isthmus {
namespace {

constexpr int64_t kMaxSortTile = 4096, kMinSortTile = 256;
// Elements that a thread sorts in registers.
constexpr int64_t kSortedRun = 8;
// Tiles of less than this are not made smaller to have more of them.
constexpr int64_t kEnoughTile = 1024;
// Of a work-item in global memory: elements that are sorted by insertion, and of what is merged.
constexpr int64_t kInsertedRun = 16, kStretch = 16;
// What an edited schedule may say: a thread has as many values in registers at a time.
constexpr int64_t kMaxSortedRun = 16, kMaxGrain = 32;
constexpr int64_t kMaxInsertedRun = 64, kMaxStretch = 4096;
// Of larger arrays, the arithmetic on sizes need not fit.
constexpr int64_t kMaxSorted = int64_t{1} << 40;

int64_t wholeRow(const SortShape& shape) {
  return static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(shape.length)));
}

// Of a group's memory: elements before and after a merge, and where it begins in both runs.
int64_t sortBytesOf(const SortShape& shape, int64_t elements) {
  constexpr int64_t kBuffers = 2, kBoundBytes = 16;
  int64_t bytes = 0;
  for (const ElementKind& kind : shape.kinds) bytes += kind.storageBytes;
  return kBuffers * sortPlacesOf(elements) * bytes + kBoundBytes;
}

bool isPower(int64_t value) {
  return value > 0 && llvm::isPowerOf2_64(static_cast<uint64_t>(value));
}

// Why groups do not sort; empty if they do. All numbers are powers of two.
std::string chooseTile(const SortShape& shape, const TargetModel& target, SortStage* stage,
                       std::string* reason) {
  if (!target.hasGroups()) return "the device has none";
  int64_t elements = kMaxSortTile;
  while (sortBytesOf(shape, elements) > target.localBytes) elements /= 2;
  const int64_t fitting = elements;
  const int64_t all = shape.rows() * wholeRow(shape);
  while (elements > kEnoughTile && all / elements < target.enoughRows) elements /= 2;
  if (elements < kMinSortTile) return "a tile of " + std::to_string(kMinSortTile) + " does not fit";
  stage->chunk = std::min(elements, wholeRow(shape));
  stage->lines = elements / stage->chunk;
  stage->grain = elements > 2048 ? 16 : elements > 512 ? 8 : 4;
  stage->run = std::min({kSortedRun, stage->grain, stage->chunk});
  if (elements / stage->grain > target.groupSize) return "they have too few threads";
  stage->groupThreads = static_cast<unsigned>(elements / stage->grain);
  if (reason) {
    *reason =
        elements < fitting
            ? "small tiles, since of " + std::to_string(fitting) + " there were " +
                  std::to_string(all / fitting) + " of " + std::to_string(target.enoughRows)
            : "tiles are as large as groups' memory holds, up to " + std::to_string(kMaxSortTile);
  }
  return "";
}

std::string tileRefusalOf(const SortShape& shape, const SortStage& stage,
                          const TargetModel& target) {
  for (int64_t number : {stage.chunk, stage.grain, stage.run, stage.lines}) {
    if (!isPower(number)) return "chunk, grain, run and lines must be powers of two";
  }
  if (stage.chunk > wholeRow(shape)) {
    return "a row has " + std::to_string(shape.length) + " elements";
  }
  if (stage.grain > kMaxGrain) return "grain must be at most " + std::to_string(kMaxGrain);
  if (stage.run > std::min({kMaxSortedRun, stage.grain, stage.chunk})) {
    return "run must be at most grain, chunk and " + std::to_string(kMaxSortedRun);
  }
  // Runs of one row only are merged.
  if (stage.grain > stage.chunk && stage.run != stage.chunk) {
    return "a thread's elements must be of one row, unless it sorts whole rows";
  }
  if (stage.lines != 1 && stage.chunk < shape.length) return "rows that are cut have groups apart";
  if (stage.lines > target.localBytes / stage.chunk ||
      sortBytesOf(shape, stage.lines * stage.chunk) > target.localBytes) {
    return "a tile does not fit a group's memory";
  }
  if (int64_t{stage.groupThreads} * stage.grain != stage.lines * stage.chunk) {
    return "threads times grain must be lines times chunk";
  }
  return "";
}

}  // namespace

StatusOr<SortShape> sortShapeOf(shlo::SortOp op) {
  SortShape shape;
  auto type = llvm::cast<mlir::RankedTensorType>(op->getOperand(0).getType());
  const auto dimension = static_cast<int64_t>(op.getDimension());
  const int64_t sorted = dimension < 0 ? dimension + type.getRank() : dimension;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    int64_t& part = d < sorted ? shape.outer : d == sorted ? shape.length : shape.inner;
    part *= type.getDimSize(d);
  }
  if (type.getNumElements() > kMaxSorted) return unimplemented("a sort of so many elements");
  for (mlir::Value operand : op->getOperands()) {
    auto kind = elementKind(llvm::cast<mlir::RankedTensorType>(operand.getType()).getElementType());
    if (!kind) return unimplemented("no kernel sorts elements of this type");
    shape.kinds.push_back(*kind);
  }
  bool isAlone = true;
  mlir::visitUsedValuesDefinedAbove(op.getComparator(), [&](mlir::OpOperand* operand) {
    isAlone &= operand->get().getDefiningOp<shlo::ConstantOp>() != nullptr;
  });
  if (!isAlone) return unimplemented("its comparator uses a value from outside");
  return shape;
}

void scheduleSort(const SortShape& shape, const TargetModel& target, SortStage* stage,
                  std::string* reason) {
  SortStage tiled = *stage;
  const std::string why = chooseTile(shape, target, &tiled, reason);
  if (why.empty()) {
    *stage = std::move(tiled);
    return;
  }
  stage->chunk = stage->run = kInsertedRun;
  stage->grain = kStretch;
  if (reason) *reason = "groups: " + why;
}

std::string sortRefusal(const SortShape& shape, const SortStage& stage, const TargetModel& target) {
  if (stage.groupThreads > 1) return tileRefusalOf(shape, stage, target);
  if (stage.lines != 1) return "work-items sort rows apart";
  if (stage.chunk != stage.run || !isPower(stage.run) || stage.run > kMaxInsertedRun) {
    return "work-items sort runs of one size, chunk and run: a power of two up to " +
           std::to_string(kMaxInsertedRun);
  }
  if (stage.grain < stage.run || stage.grain % stage.run != 0 || stage.grain > kMaxStretch) {
    return "grain must be a multiple of run, up to " + std::to_string(kMaxStretch);
  }
  return "";
}

}  // namespace isthmus

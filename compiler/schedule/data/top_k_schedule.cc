#include "compiler/schedule/data/top_k_schedule.h"

#include <algorithm>
#include <bit>

namespace isthmus {
namespace {

constexpr int64_t kLanes = 4, kUnrolled = 4;
// A group has so many elements at least, where there are enough rows.
constexpr int64_t kMinPart = 4096;
// What an edited schedule may say of loads at a time.
constexpr int64_t kMaxLoads = 16;

// Lanes and loads that suit a part of this size.
TopKStage partOf(const SelectionShape& shape, const TargetModel& target, const TopKStage& base,
                 int64_t part) {
  TopKStage stage = base;
  stage.groupThreads = target.groupSize;
  stage.chunk = part;
  const bool isWhole = shape.readsOperand && shape.length % kLanes == 0 && part % kLanes == 0;
  stage.lanes = isWhole && kLanes <= target.neighboursOf(shape.kind.storageBytes) ? kLanes : 1;
  const int64_t loads = llvm::divideCeilSigned(part, int64_t{stage.groupThreads} * stage.lanes);
  stage.grain = std::min<int64_t>(kUnrolled, std::bit_floor(static_cast<uint64_t>(loads)));
  return stage;
}

// How a row is shared out. Nothing where a group has no memory for so many candidates.
std::optional<TopKStage> chooseParts(const SelectionShape& shape, const TargetModel& target,
                                     const TopKStage& base) {
  TopKStage stage = partOf(shape, target, base, shape.length);
  auto isFit = [&] { return Selection(shape, stage).localBytes() <= target.localBytes; };
  auto isEnough = [&] {
    return shape.rows * Selection(shape, stage).parts() >= target.enoughRows ||
           stage.chunk <= kMinPart;
  };
  while (!isFit() || !isEnough()) {
    const int64_t half =
        llvm::divideCeilSigned(llvm::divideCeilSigned(stage.chunk, 2), kLanes) * kLanes;
    // Each kernel leaves less than it finds.
    if (half >= stage.chunk || half < 2 * shape.k) break;
    stage = partOf(shape, target, base, half);
  }
  if (!isFit()) return std::nullopt;
  return stage;
}

std::string partRefusal(const SelectionShape& shape, const TopKStage& stage,
                        const TargetModel& target) {
  if (int64_t{stage.groupThreads} < shape.k || stage.groupThreads < 2) {
    return "there must be threads for the " + std::to_string(shape.k) + " largest";
  }
  if (stage.chunk < 1 || stage.chunk > shape.length) {
    return "chunk must be from 1 to " + std::to_string(shape.length);
  }
  // Each kernel leaves less than it finds.
  if (stage.chunk < shape.length && stage.chunk < 2 * shape.k) {
    return "a part of a row must have twice as many elements as are selected";
  }
  if (stage.grain < 1 || stage.grain > kMaxLoads) {
    return "grain must be from 1 to " + std::to_string(kMaxLoads);
  }
  const int64_t lanes = stage.lanes;
  if (lanes != 1 && (!shape.readsOperand || !llvm::isPowerOf2_64(static_cast<uint64_t>(lanes)) ||
                     lanes > target.neighboursOf(shape.kind.storageBytes) ||
                     shape.length % lanes != 0 || stage.chunk % lanes != 0)) {
    return "rows and parts are not of vectors of so many lanes";
  }
  return Selection(shape, stage).localBytes() > target.localBytes
             ? "what may be among the largest does not fit a group's memory"
             : "";
}

}  // namespace

StatusOr<SelectionShape> selectionShapeOf(shlo::CompositeOp op, const TargetModel& target) {
  auto operand = llvm::cast<mlir::RankedTensorType>(op->getOperand(0).getType());
  auto values = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  std::optional<ElementKind> kind = kindOf(op->getOperand(0));
  SelectionShape shape;
  shape.length = operand.getShape().back();
  shape.k = values.getShape().back();
  shape.rows = shape.length == 0 ? 0 : operand.getNumElements() / shape.length;
  if (!kind || shape.k > target.largestTopK() ||
      int64_t{8} * kind->storageBytes > target.widestTopK() || shape.length >= UINT32_MAX) {
    return unimplemented("no kernel selects so many of these");
  }
  shape.kind = *kind;
  return shape;
}

StatusOr<KernelSchedule> scheduleTopK(const SelectionShape& shape, const TargetModel& target,
                                      const TopKStage& base, std::string* reason) {
  KernelSchedule schedule;
  SelectionShape now = shape;
  for (bool isDone = false; !isDone;) {
    std::optional<TopKStage> stage = chooseParts(now, target, base);
    if (!stage) return unimplemented("a group has no memory to select ", shape.k);
    const Selection selection(now, *stage);
    isDone = selection.isLast();
    now = selection.next();
    schedule.stages.push_back(*std::move(stage));
  }
  if (reason) {
    const bool isWhole = schedule.stages.size() == 1;
    *reason = isWhole ? "whole rows"
                      : "parts of rows, since of rows there were " + std::to_string(shape.rows) +
                            " of " + std::to_string(target.enoughRows) +
                            ", or they had more candidates than a group's memory";
  }
  return schedule;
}

std::string topKRefusal(const SelectionShape& shape, llvm::ArrayRef<TopKStage> stages,
                        const TargetModel& target) {
  SelectionShape now = shape;
  bool isDone = false;
  for (const TopKStage& stage : stages) {
    if (isDone) return "a stage follows that which has whole rows";
    if (std::string why = partRefusal(now, stage, target); !why.empty()) return why;
    const Selection selection(now, stage);
    isDone = selection.isLast();
    now = selection.next();
  }
  return isDone ? ""
                : "a stage must follow for the rows of parts, of " + std::to_string(now.length) +
                      " elements";
}

}  // namespace isthmus

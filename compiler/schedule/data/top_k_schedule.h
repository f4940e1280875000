// How kernels of a device select the k largest of rows: groups of threads read parts of rows, and
// what they find in the parts are rows of the next kernel, until a part is a row.
#pragma once

#include <string>

#include "compiler/dialect/dialect.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/element_kind.h"
#include "compiler/target/target_model.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus {

// What is selected from, by the whole operation or by one kernel of it.
struct SelectionShape {
  ElementKind kind;
  int64_t rows = 1, length = 1, k = 1;
  bool readsOperand = true;  // else what the kernel before it has left

  bool isEmpty() const { return rows * k == 0; }
};

// An element and its place as one number, which is what groups sort.
inline constexpr int64_t kRankedBytes = 8;

// One kernel: a shape, and what the stage says of it.
struct Selection : SelectionShape {
  Selection(const SelectionShape& shape, const TopKStage& stage)
      : SelectionShape(shape),
        threads(stage.groupThreads),
        part(stage.chunk),
        lanes(stage.lanes),
        unrolled(stage.grain) {}

  int64_t threads;
  int64_t part;  // of a row, for a group
  // Elements that a thread loads at once, and how often before it compares.
  int64_t lanes, unrolled;

  int64_t parts() const { return llvm::divideCeilSigned(length, part); }
  bool isLast() const { return part >= length; }
  int64_t share() const {
    return llvm::divideCeilSigned(part, threads * lanes * unrolled) * lanes * unrolled;
  }
  int64_t candidates() const {
    return static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(k * share())));
  }
  int64_t localBytes() const { return (threads + candidates()) * kRankedBytes + k * 4; }
  // What the next kernel has, of one that is not the last.
  SelectionShape next() const { return {kind, rows, parts() * k, k, false}; }
};

// kUnimplemented of what no kernel selects.
StatusOr<SelectionShape> selectionShapeOf(shlo::CompositeOp op, const TargetModel& target);

// The stages of a selection that is not empty, each of which begins as `base`. kUnimplemented where
// a group has no memory for what may be among the largest. `reason`, if not null: why parts are as
// large as they are.
StatusOr<KernelSchedule> scheduleTopK(const SelectionShape& shape, const TargetModel& target,
                                      const TopKStage& base, std::string* reason = nullptr);
// Why it cannot be done so; empty if it can. A part of a sentence.
std::string topKRefusal(const SelectionShape& shape, llvm::ArrayRef<TopKStage> stages,
                        const TargetModel& target);

}  // namespace isthmus

// How kernels of a device sort: by groups of threads that have tiles of rows in their memory, or by
// work-items in global memory; in both, rounds merge what was sorted two by two.
#pragma once

#include <algorithm>
#include <string>

#include "compiler/dialect/dialect.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/element_kind.h"
#include "compiler/target/target_model.h"

namespace isthmus {

// The arrays of a sort: rows of `length` elements, `inner` elements apart.
struct SortShape {
  int64_t outer = 1, length = 1, inner = 1;
  llvm::SmallVector<ElementKind, 4> kinds;  // of each array

  int64_t rows() const { return outer * inner; }
  bool isEmpty() const { return rows() * length == 0; }
};

// kUnimplemented of what no kernel sorts.
StatusOr<SortShape> sortShapeOf(shlo::SortOp op);

// After so many elements in a group's memory, one is left out: what threads access that lie apart
// by a power of two is then in different banks.
inline constexpr int64_t kSortBanks = 32;
inline int64_t sortPlacesOf(int64_t elements) { return elements + elements / kSortBanks; }

// Fills in what `stage` says of a sort that is not empty. `reason`, if not null: why work-items do
// it, or why tiles are as large as they are.
void scheduleSort(const SortShape& shape, const TargetModel& target, SortStage* stage,
                  std::string* reason = nullptr);
// Why it cannot be done so; empty if it can. A part of a sentence.
std::string sortRefusal(const SortShape& shape, const SortStage& stage, const TargetModel& target);

}  // namespace isthmus

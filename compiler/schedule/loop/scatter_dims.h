// The dimension numbers of scatter and select_and_scatter, from the updates' point of view.
#pragma once

#include "compiler/dialect/dialect.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target_model.h"

namespace isthmus {

struct ScatterDims {
  explicit ScatterDims(shlo::ScatterOp scatter);

  // Whether an index moves the windows along their dimension `window`.
  bool isMovedByIndex(int64_t window) const;

  llvm::SmallVector<int64_t> windowOf;           // of each operand dimension: the updates', or -1
  llvm::SmallVector<int64_t> windowDims;         // of the updates
  llvm::SmallVector<int64_t> windowSizes;        // of those
  llvm::SmallVector<int64_t> indexSizes;         // of the updates' other dimensions, in order
  llvm::SmallVector<int64_t> batchingOfIndices;  // numbers among those
  llvm::SmallVector<int64_t> operandDimsOfIndex;
  bool isInnermostWindow = false;  // the operand's innermost dimension is the updates'
};

// Whether the tiles of a scatter or select_and_scatter are runs of all updates in their order in
// memory (TileSpace::kIndices of dimension kAllUpdates), which may meet in the result.
inline constexpr int64_t kAllUpdates = -1;
inline bool tilesAreUpdates(const UpdateStage& stage) {
  return stage.tileSpace == TileSpace::kIndices && stage.tileDim == kAllUpdates;
}

// Whether threads that update the same elements of the array can exchange them.
bool canExchange(mlir::RankedTensorType array, const TargetModel& target);

// The attributes with their defaults filled in.
struct SelectWindow {
  explicit SelectWindow(shlo::SelectAndScatterOp select);

  // Whether two windows may have an element in common.
  bool meet() const;

  llvm::SmallVector<int64_t> size, stride, low;
};

}  // namespace isthmus

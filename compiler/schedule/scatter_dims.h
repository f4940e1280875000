// The dimension numbers of scatter and select_and_scatter, from the updates' point of view.
#pragma once

#include "compiler/dialect/dialect.h"

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

// The attributes with their defaults filled in.
struct SelectWindow {
  explicit SelectWindow(shlo::SelectAndScatterOp select);

  llvm::SmallVector<int64_t> size, stride, low;
};

}  // namespace isthmus

// Windows of reduce_window, and those that make a running reduction.
#pragma once

#include <optional>

#include "compiler/dialect/dialect.h"

namespace isthmus {

// The attributes with their defaults filled in, a number per dimension of the operand.
struct WindowShape {
  llvm::SmallVector<int64_t> size, stride, baseDilation, dilation, low, high;

  explicit WindowShape(shlo::ReduceWindowOp op);
};

// A reduction over all elements before (after) each one along one dimension.
struct Scan {
  int64_t dim;
  bool fromEnd;
};

// Nothing for other ops, and for null.
std::optional<Scan> scanOf(mlir::Operation* op);

}  // namespace isthmus

// Shapes of contractions, which follow from those of their operands.
#pragma once

#include <optional>

#include "compiler/dialect/dialect.h"
#include "llvm/ADT/SmallVector.h"

namespace isthmus {

// Of valid operations; nothing if an operand's shape is not static, or sizes are too large.
std::optional<llvm::SmallVector<int64_t>> shapeOfResult(shlo::DotGeneralOp dot);
std::optional<llvm::SmallVector<int64_t>> shapeOfResult(shlo::ConvolutionOp convolution);

}  // namespace isthmus

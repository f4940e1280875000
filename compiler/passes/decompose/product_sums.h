// What the terms of a product are multiplied and added in, where a kernel of sums computes it.
#pragma once

#include "compiler/dialect/dialect.h"

namespace isthmus {

// The element type to which both operands are converted, in which terms are multiplied and added,
// and from which sums are converted to the result's: f32 at least for floats, the result's for
// integers, whose sums wrap around alike, and for complex numbers, which must have one type.
// Null if no type gives what the operation does, as for quantized and very narrow integers.
mlir::Type sumTypeOf(shlo::DotGeneralOp dot);

}  // namespace isthmus

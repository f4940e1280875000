// What operations cost for each element, in additions of 4-byte elements.
#pragma once

#include "mlir/IR/Operation.h"

namespace isthmus {

// Of computing one element of the first result from the operands, without loads and without what
// the op's regions compute: vector instructions (the op table's `cost`, or one for each element of
// a window and its mask) times the share of a 4-byte lane that the element fills. 0 for operations
// of other dialects.
double elementCost(mlir::Operation* op);

// Of evaluating the regions of `op` once. A loop counts as very long.
double bodyCost(mlir::Operation* op);

// How often the regions of `op` are evaluated for an element of the result: for each element of a
// window, else once.
double windowElements(mlir::Operation* op);

}  // namespace isthmus

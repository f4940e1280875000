// What operations cost for each element, in additions of 4-byte elements.
#pragma once

#include "mlir/IR/Operation.h"

namespace isthmus {

// Of computing one element of the first result from the operands, without loads and without what
// the op's regions compute: vector instructions (the op table's `cost`, or one for each element of
// a window and its mask) times the share of a 4-byte lane that the element fills. 0 for operations
// of other dialects.
double elementCost(mlir::Operation* op);

// What one vector of the elements of values with so many elements takes in `body`.
struct InstructionChain {
  double instructions = 0;
  // Of the longest chain of these, each of which waits for the one before, in cycles of latency.
  double cycles = 0;
};
InstructionChain instructionChainOf(mlir::Block& body, int64_t elements);

// Of evaluating the regions of `op` once. A loop counts as very long.
double bodyCost(mlir::Operation* op);

// How often the regions of `op` are evaluated for an element of the result: for each element of a
// window, else once.
double windowElements(mlir::Operation* op);

}  // namespace isthmus

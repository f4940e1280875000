// Whether operations are of the same code, so that what is emitted of one serves the other.
#pragma once

#include <cstddef>

#include "mlir/IR/Operation.h"

namespace isthmus {

// Of what the code depends on: kind, types, attributes and regions, but not operands and locations.
size_t codeHash(mlir::Operation* op);

// The operations' own operands may differ, in all but their types; inside of their regions, each
// operand must be the counterpart of the other's.
bool haveSameCode(mlir::Operation* op, mlir::Operation* other);

}  // namespace isthmus

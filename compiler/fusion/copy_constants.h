// Constants of outer blocks, where they are used.
#pragma once

#include "mlir/IR/Block.h"

namespace isthmus {

// Copies into `block` what its own operations use of rematerialized operations on constants (see
// isRematerializable) that stand in blocks around it, such as a number in the body of a loop:
// fusion looks at one block, and kernels compute faster with a number that is known to them than
// with one that they are handed.
void copyConstantsInto(mlir::Block& block);

}  // namespace isthmus

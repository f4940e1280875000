// Removal of operations whose results nobody reads.
#pragma once

#include "mlir/IR/Block.h"

namespace isthmus {

// Erases what has no users and no effects, and what dies with it, in this block alone. Users must
// come after what they use.
void eraseDead(mlir::Block& block);

}  // namespace isthmus

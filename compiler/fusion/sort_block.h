// Orders the operations of a block so that definitions precede uses.
#pragma once

#include "isthmus/status.h"
#include "mlir/IR/Block.h"

namespace isthmus {

// Moves operations of `block`, its terminator excepted, so that each comes after what it uses, in
// regions below it too. Stays close to the order that they have, and keeps what communicates or
// calls back (BlockGraph::isOrdered) in that order exactly. Error: kInternal if some of them wait
// for each other; it names them, and `block` is as it was.
Status sortBlock(mlir::Block& block);

}  // namespace isthmus

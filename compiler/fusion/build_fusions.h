// Rewrites a block so that each fusion group is one isthmus.fusion operation.
#pragma once

#include <vector>

#include "compiler/fusion/grouping.h"
#include "isthmus/status.h"
#include "mlir/IR/Block.h"

namespace isthmus {

// Replaces the groups' operations in `block`, copies rematerialized operations into the regions
// that use them, erases what is dead and orders the block so that definitions precede uses.
// Operations with side effects keep their order. Error: kInternal if groups wait for each other.
Status buildFusions(mlir::Block& block, const BlockGraph& graph,
                    const std::vector<FusionGroup>& groups);

}  // namespace isthmus

// Decides which operations of a block become one kernel together.
#pragma once

#include <vector>

#include "compiler/fusion/block_graph.h"
#include "compiler/fusion/legality.h"

namespace isthmus {

struct FusionGroup {
  llvm::SmallVector<int>
      members;  // indices into the graph, ascending; no rematerialized operations
  KernelShape shape;
};

// Every kernel operation of the block is in exactly one group; rematerialized operations that must
// exist in memory are groups of one. The groups have no cyclic dependences, so an order of
// execution exists.
std::vector<FusionGroup> groupOperations(const BlockGraph& graph, const FusionOptions& options);

}  // namespace isthmus

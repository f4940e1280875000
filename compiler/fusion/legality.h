// Which sets of operations can be one kernel, and what computing them costs.
#pragma once

#include <optional>

#include "compiler/dialect/isthmus.h"
#include "compiler/fusion/block_graph.h"
#include "compiler/fusion/fusion_options.h"
#include "llvm/ADT/ArrayRef.h"

namespace isthmus {

struct KernelShape {
  // What is computed: elementCost times evaluations.
  double work = 0;
  // Values that the kernel writes, as operations of the graph (each has one result or all of a
  // reduce's).
  llvm::SmallVector<int> outputs;
};

// How operations would be computed by one kernel, or why they cannot be.
struct Legality {
  std::optional<KernelShape> shape;
  const char* refusal = nullptr;  // a part of a sentence, static; null if there is a shape
};

// Of `members`: indices into `graph`, ascending, none of them rematerialized.
Legality analyzeLegality(const BlockGraph& graph, llvm::ArrayRef<int> members,
                         const FusionOptions& options);

}  // namespace isthmus

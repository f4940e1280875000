// Decides which arrays share memory: groups of arrays that are never needed at the same time.
#pragma once

#include <vector>

#include "compiler/plan/memory_plan.h"

namespace isthmus {

// Arrays of one size that share memory.
struct ArrayGroup {
  int64_t bytes = 0;
  int parameter = -1;       // the parameter whose memory it is
  bool isReadOnly = false;  // a constant, or a parameter that the caller keeps
  bool touchesLoop = false;
  Lifetime extent;
  std::vector<int> members;  // arrays
};

struct Grouping {
  std::vector<ArrayGroup> groups;
  std::vector<int> groupOf;  // by array
};

Grouping groupArrays(mlir::func::FuncOp main, const Liveness& liveness, const PlanOptions& options);

}  // namespace isthmus

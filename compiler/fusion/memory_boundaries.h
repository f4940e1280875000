// Why values go through memory between a kernel and what no kernel may contain: library operations,
// loops and branches.
#pragma once

#include <memory>

#include "mlir/Pass/Pass.h"

namespace isthmus {

// A pass that changes nothing and tells the log (logCompilation) of each two operations of a fused
// program of which one feeds the other and one at least is neither kernel, view nor constant.
// `hasEpilogues`: products have been tried with the kernels that read them, and refusals told.
std::unique_ptr<mlir::Pass> createLogMemoryBoundariesPass(bool hasEpilogues);
void registerLogMemoryBoundariesPass();

}  // namespace isthmus

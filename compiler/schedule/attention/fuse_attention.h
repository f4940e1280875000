// The pass that makes one kernel of attention.
#pragma once

#include <memory>

#include "compiler/schedule/products/product_scheduler.h"
#include "compiler/target/target_model.h"
#include "mlir/Pass/Pass.h"

namespace isthmus {

// Runs on fused modules: a fusion that works on rows of a product of which another product is made,
// and both products, become one fusion, so that the scores between are never stored. Those that
// `isOfLibrary` says of that a library computes them do so in any case; if `hasKernels`, the others
// do that have kernels which are faster than their parts'.
std::unique_ptr<mlir::Pass> createFuseAttentionPass(const TargetModel& target,
                                                    IsOfLibrary isOfLibrary = nullptr,
                                                    bool hasKernels = true);

}  // namespace isthmus

// The pass that makes one kernel of attention.
#pragma once

#include <memory>

#include "compiler/target/target_model.h"
#include "mlir/Pass/Pass.h"

namespace isthmus {

// Runs on fused modules: a fusion that works on rows of a product of which another product is made,
// and both products, become one fusion, so that the scores between are never stored.
std::unique_ptr<mlir::Pass> createFuseAttentionPass(const TargetModel& target);

// For command line tools.
void registerFuseAttentionPass();

}  // namespace isthmus

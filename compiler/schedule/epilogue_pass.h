// The pass that puts elementwise work into the kernel of the product that it works on.
#pragma once

#include <memory>

#include "compiler/target/target_model.h"
#include "mlir/Pass/Pass.h"

namespace isthmus {

// Runs on fused modules: a fusion that works on each element of a dot_general's result by itself
// takes the dot_general in, and becomes the epilogue of its kernel.
std::unique_ptr<mlir::Pass> createFuseEpiloguesPass(const TargetModel& target);

// For command line tools.
void registerFuseEpiloguesPass();

}  // namespace isthmus

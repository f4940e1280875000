// The pass that puts elementwise work into the kernel of the product that it works on.
#pragma once

#include <functional>
#include <memory>

#include "compiler/schedule/products/product_scheduler.h"
#include "compiler/target/target_model.h"
#include "mlir/Pass/Pass.h"

namespace isthmus {

// Whether the device may have a kernel of an operation or a fusion; empty: of all.
using HasKernel = std::function<bool(mlir::Operation*)>;

// Runs on fused modules: a fusion that works on each element of a dot_general's result by itself
// takes the dot_general in, and becomes the epilogue of its kernel, unless the device lacks a
// kernel of either. Where a library computes the dot_general, that is so only if it computes the
// fusion that this becomes, too.
std::unique_ptr<mlir::Pass> createFuseEpiloguesPass(const TargetModel& target,
                                                    IsOfLibrary isOfLibrary = nullptr,
                                                    HasKernel hasKernel = nullptr);

}  // namespace isthmus

// The schedule pass: each fusion, product, sort, selection and Fourier transform gets the schedule
// that its kernels will have.
#pragma once

#include <memory>

#include "compiler/schedule/products/product_scheduler.h"
#include "compiler/target/target_model.h"
#include "mlir/Pass/Pass.h"

namespace isthmus {

// A fusion that no kernel can compute is left without one; code generation says why. Products that
// are no fusions get one where the target's kernels multiply, or `functionFormOf` says in which
// form its functions do; sorts and the like where it has kernels of them.
std::unique_ptr<mlir::Pass> createSchedulePass(const TargetModel& target,
                                               IsOfLibrary isOfLibrary = nullptr,
                                               FunctionFormOf functionFormOf = nullptr);

}  // namespace isthmus

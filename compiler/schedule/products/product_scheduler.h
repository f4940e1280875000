// Who computes a dot_general or a convolution on a device whose kernels multiply, and by which
// tiles.
#pragma once

#include <functional>
#include <string>

#include "compiler/dialect/dialect.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target_model.h"

namespace isthmus {

// Of one product, by its types: 256 threads as a square.
inline constexpr int64_t kProductSide = 16;

// Whether a library of the device computes an operation, or a fusion of a product and an epilogue;
// empty where there is none.
using IsOfLibrary = std::function<bool(mlir::Operation*)>;

// The form that the backend's own function (CPUs) computes a product or a convolution in, of which
// the stage says the rest. `reason`, if not null: which forms were refused.
using FunctionFormOf = std::function<FunctionForm(mlir::Operation* product, const DotStage& stage,
                                                  std::string* reason)>;

// Fills in the product of `stage`, its lanes, threads, grain and time. `reason`, if not null: which
// forms were refused, and why the tiles are as large as they are.
void scheduleProduct(mlir::Operation* op, const TargetModel& target, const IsOfLibrary& isOfLibrary,
                     DotStage* stage, std::string* reason = nullptr);

// Why `op` cannot be computed as `stage` says; empty if it can. A part of a sentence.
std::string productRefusal(mlir::Operation* op, const DotStage& stage, const TargetModel& target);

// The one stage of a product outside of fusions.
DotStage chooseProduct(mlir::Operation* op, const TargetModel& target,
                       const IsOfLibrary& isOfLibrary = nullptr, std::string* reason = nullptr);
// What the operation carries, verified, or else what is chosen. kInvalidArgument says what is
// wrong.
StatusOr<DotStage> productScheduleOf(mlir::Operation* op, const TargetModel& target);

// The one stage of a product outside of fusions that a function of the backend computes.
DotStage functionCallOf(mlir::Operation* op, const TargetModel& target,
                        const FunctionFormOf& formOf, std::string* reason);
// The form that such an operation carries, which the backend is to verify; without a name if it
// carries none. kInvalidArgument if what it carries is not the schedule of such a call.
StatusOr<FunctionForm> functionFormCarriedBy(mlir::Operation* op);

}  // namespace isthmus

// The compiler's passes (see passes.td for what each does).
#pragma once

#include <functional>
#include <memory>

#include "compiler/fusion/fusion_options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace isthmus {

#define GEN_PASS_DECL
#include "compiler/passes/passes.h.inc"

// Discardable attribute of @main's arguments and results (DenseI64ArrayAttr): their dimensions in
// the order in which they vary in memory, the contiguous one first. Their type in the program is
// then the row-major one of that memory.
inline constexpr char kLayoutAttribute[] = "isthmus.layout";

// Discardable attribute of @main's arguments (DenseI64ArrayAttr): the shape that the caller gives
// to one whose type leaves dimensions open. refine-shapes makes it the type.
inline constexpr char kShapeAttribute[] = "isthmus.shape";

// As the passes of these names, for a device other than the default one.
// `wants`: of which convolutions; null: of all.
std::unique_ptr<mlir::Pass> createChannelsLastPass(
    const TargetModel& target, std::function<bool(mlir::Operation*)> wants = nullptr);
std::unique_ptr<mlir::Pass> createFusePass(const FusionOptions& options);
std::unique_ptr<mlir::Pass> createOverlapCollectivesPass(const TargetModel& target);
std::unique_ptr<mlir::Pass> createSimplifyPass(const TargetModel& target);
std::unique_ptr<mlir::Pass> createSplitDilatedConvolutionsPass(const TargetModel& target);
std::unique_ptr<mlir::Pass> createSplitReductionsPass(const TargetModel& target);
std::unique_ptr<mlir::Pass> createSplitTransposesPass(const TargetModel& target);
std::unique_ptr<mlir::Pass> createSumVectorProductsPass(const TargetModel& target);
std::unique_ptr<mlir::Pass> createExpandShortReductionsPass(const TargetModel& target);
std::unique_ptr<mlir::Pass> createSplitScattersPass(const TargetModel& target);

// Makes the passes known to command lines and to mlir::parsePassPipeline.
#define GEN_PASS_REGISTRATION
#include "compiler/passes/passes.h.inc"

}  // namespace isthmus

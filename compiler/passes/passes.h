// The compiler's passes (see passes.td for what each does).
#pragma once

#include <memory>

#include "compiler/fusion/fusion_options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace isthmus {

#define GEN_PASS_DECL
#include "compiler/passes/passes.h.inc"

std::unique_ptr<mlir::Pass> createFusePass(const FusionOptions& options);

// Makes the passes known to command lines and to mlir::parsePassPipeline.
#define GEN_PASS_REGISTRATION
#include "compiler/passes/passes.h.inc"

}  // namespace isthmus

// Custom calls that stand for what StableHLO has no operation of: those whose attributes are
// computed, and assertions about sizes. JAX writes them when it exports symbolic shapes.
#pragma once

#include "compiler/dialect/dialect.h"
#include "compiler/passes/shapes/known_integers.h"
#include "mlir/IR/Builders.h"
#include "mlir/Support/LogicalResult.h"

namespace isthmus {

bool isDynamicCall(mlir::Operation* op);

// Whether the call stands for an operation of the CHLO dialect on elements: @mhlo.erf.
bool isElementwiseCall(mlir::Operation& op);

// The operation that does what `call` does; null if it is no such call, or not all is known.
mlir::Operation* knownForm(shlo::CustomCallOp call, KnownIntegers& known, mlir::OpBuilder& builder);

// Whether `call` asserts something that is known to hold. Fails, with the program's own message, if
// it is known not to.
mlir::FailureOr<bool> holds(shlo::CustomCallOp call, KnownIntegers& known);

}  // namespace isthmus

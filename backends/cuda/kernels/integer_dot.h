// Products of integers of 8 bits, whose operands tensor cores and cuBLASLt want along the sums.
#pragma once

#include <functional>

#include "compiler/dialect/dialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus::cuda {

// Rewrites the module's products of i8 in i32 that have operands which lie across the sums: behind
// transposes they lie along them. Those stay that `accepts` does not take so; it is asked with the
// product as it would be.
void arrangeIntegerProducts(mlir::ModuleOp module,
                            const std::function<bool(shlo::DotGeneralOp)>& accepts);

}  // namespace isthmus::cuda

// How often fusion computes an operand, beside the facts of the op table.
#pragma once

#include "compiler/dialect/array_shape.h"
#include "compiler/dialect/op_facts.h"
#include "compiler/dialect/rematerialization.h"
#include "mlir/IR/Operation.h"

namespace isthmus {

// How many elements of operand `index` are computed for one evaluation of the whole result.
double operandEvaluations(mlir::Operation* op, unsigned index);

}  // namespace isthmus

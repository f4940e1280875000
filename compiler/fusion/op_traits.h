// What fusion asks of an op beside the facts of the op table.
#pragma once

#include "compiler/cost/rematerialization.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/fusion/fusion_options.h"
#include "mlir/IR/Operation.h"

namespace isthmus {

// How many elements of operand `index` are computed for one evaluation of the whole result.
double operandEvaluations(mlir::Operation* op, unsigned index);

// Whether `op` joins so many arrays that copying each is better than a kernel that selects among
// all of them for each element, and whose code grows with their number.
bool isLeftToCopies(mlir::Operation* op, const FusionOptions& options);

}  // namespace isthmus

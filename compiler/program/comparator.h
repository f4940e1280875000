// What the comparator of a sort means.
#pragma once

#include <optional>
#include <vector>

#include "base/program/sort_key.h"
#include "compiler/dialect/isthmus.h"
#include "isthmus/status.h"
#include "mlir/IR/Region.h"

namespace isthmus {

// The keys if the comparator compares the first operands one after another, as JAX's do: integers
// by value, floats in total order or with zeros and NaNs made equal first. Nothing otherwise.
std::optional<std::vector<SortKey>> recognizeKeys(mlir::Region& comparator);

// A fusion with the comparator's body, outside of any block; the caller destroys it. Its operands
// are arguments added to `operands`. Constants from outside are copied in; kUnimplemented if the
// comparator uses anything else from there.
StatusOr<ir::FusionOp> comparatorFusion(mlir::Region& comparator, mlir::Block& operands);

}  // namespace isthmus

// What an update of a slice may read of the array that it updates.
#pragma once

#include "compiler/dialect/dialect.h"

namespace isthmus {

// Whether `use`, of the array that `update` updates, reads the very elements that are updated: as a
// slice of the same size that begins at the same place.
bool readsUpdatedPlace(shlo::DynamicUpdateSliceOp update, mlir::OpOperand& use);

}  // namespace isthmus

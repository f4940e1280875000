// Where a dynamic slice, or an update of one, lies, and what an update may read of its array.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/dialect/dialect.h"

namespace isthmus {

// Where a block with the start index `start` begins along a dimension, from 0 to `last`: one that
// would stick out is moved. Nothing if that depends on an index that is not known.
std::optional<int64_t> knownStart(mlir::Value start, int64_t last);

// Whether `use`, of the array that `update` updates, reads the very elements that are updated: as a
// slice of the same size that begins at the same place.
bool readsUpdatedPlace(shlo::DynamicUpdateSliceOp update, mlir::OpOperand& use);

}  // namespace isthmus

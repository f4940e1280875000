// Gathers and scatters whose windows have several rows of a dimension that is split.
#pragma once

#include "compiler/partition/propagation.h"

namespace isthmus {

// Has them take and write row by row, which each device does for the rows of its block: what JAX
// makes of slices of which each of a batch begins elsewhere. Whether there are any.
bool splitWindows(mlir::ModuleOp module, const Propagation& propagation);

}  // namespace isthmus

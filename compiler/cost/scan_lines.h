// The lines that a running reduction goes along, and who runs along one.
#pragma once

#include <cstdint>

#include "compiler/dialect/dialect.h"
#include "compiler/target/target_model.h"

namespace isthmus {

// `lines` of `size` elements, which lie `inner` apart.
struct ScanLines {
  int64_t lines = 1, size = 1, inner = 1;
};

// Of a running reduction of arrays of `type` along `dim`.
ScanLines scanLinesOf(mlir::RankedTensorType type, int64_t dim);

// How many parts each line should have, so that a device's threads have work enough: 1 on a CPU,
// whose threads take lines.
int64_t wantedScanParts(const ScanLines& lines, const TargetModel& target);

// Why a kernel that computes `scan` should not compute, for itself, elementwise work on each
// element of its operands or results that costs `cost` (compiler/cost/op_cost.h); null if it may.
const char* workOnScanRefusal(shlo::ReduceWindowOp scan, double cost, const TargetModel& target);

}  // namespace isthmus

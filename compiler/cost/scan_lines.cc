#include "compiler/cost/scan_lines.h"

#include <algorithm>

#include "compiler/dialect/facts/scan.h"
#include "compiler/dialect/types/array_shape.h"

namespace isthmus {

ScanLines scanLinesOf(mlir::RankedTensorType type, int64_t dim) {
  ScanLines all;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (d == dim) continue;
    all.lines *= type.getDimSize(d);
    if (d > dim) all.inner *= type.getDimSize(d);
  }
  all.size = type.getDimSize(dim);
  return all;
}

int64_t wantedScanParts(const ScanLines& lines, const TargetModel& target) {
  if (target.device == DeviceKind::kCpu) return 1;
  return std::max<int64_t>(1, target.enoughRows / std::max<int64_t>(1, lines.lines));
}

const char* workOnScanRefusal(shlo::ReduceWindowOp scan, double cost, const TargetModel& target) {
  // Threads of a GPU are the lanes, and tiles lie in all dimensions.
  if (target.device != DeviceKind::kCpu || cost < target.hidingAdditions) return nullptr;
  const int64_t dim = scanOf(scan)->dim;
  if (dim == 0) return "one thread runs along the dimension that is scanned";
  const bool isInnermost = dim + 1 == tensorTypeOf(scan->getResult(0)).getRank();
  return isInnermost ? "no lanes run along the dimension that is scanned" : nullptr;
}

}  // namespace isthmus

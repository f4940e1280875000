// Windows of reduce_window, and those that make a running reduction.
#include "compiler/dialect/facts/scan.h"

namespace isthmus {

WindowShape::WindowShape(shlo::ReduceWindowOp op) {
  auto given = op.getWindowDimensions();
  size.assign(given.begin(), given.end());
  auto fill = [&](std::optional<llvm::ArrayRef<int64_t>> values) {
    return values ? llvm::SmallVector<int64_t>(*values)
                  : llvm::SmallVector<int64_t>(size.size(), 1);
  };
  stride = fill(op.getWindowStrides());
  baseDilation = fill(op.getBaseDilations());
  dilation = fill(op.getWindowDilations());
  low.assign(size.size(), 0);
  high.assign(size.size(), 0);
  if (auto padding = op.getPadding()) {
    for (uint64_t d = 0; d < size.size(); ++d) {
      low[d] = padding->getValues<int64_t>()[{d, 0}];
      high[d] = padding->getValues<int64_t>()[{d, 1}];
    }
  }
}

std::optional<Scan> scanOf(mlir::Operation* op) {
  auto reduce = mlir::dyn_cast_or_null<shlo::ReduceWindowOp>(op);
  if (!reduce) return std::nullopt;
  WindowShape window(reduce);
  auto type = mlir::cast<mlir::RankedTensorType>(reduce.getInputs()[0].getType());
  std::optional<Scan> scan;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (window.stride[d] != 1 || window.baseDilation[d] != 1 || window.dilation[d] != 1) return {};
    int64_t size = type.getDimSize(d);
    if (window.size[d] == 1 && window.low[d] == 0 && window.high[d] == 0) continue;
    bool forward = window.low[d] == size - 1 && window.high[d] == 0;
    bool backward = window.low[d] == 0 && window.high[d] == size - 1;
    if (scan || window.size[d] != size || !(forward || backward)) return {};
    scan = Scan{d, !forward};
  }
  return scan;
}

}  // namespace isthmus

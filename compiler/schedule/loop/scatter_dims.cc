// The dimension numbers of scatter and select_and_scatter, from the updates' point of view.
#include "compiler/schedule/loop/scatter_dims.h"

#include "compiler/target/element_kind.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus {

ScatterDims::ScatterDims(shlo::ScatterOp scatter) {
  auto numbers = scatter.getScatterDimensionNumbers();
  auto operand = mlir::cast<mlir::RankedTensorType>(scatter->getResult(0).getType());
  auto updates = mlir::cast<mlir::RankedTensorType>(scatter.getUpdates()[0].getType());
  windowDims.assign(numbers.getUpdateWindowDims().begin(), numbers.getUpdateWindowDims().end());
  llvm::append_range(operandDimsOfIndex, numbers.getScatterDimsToOperandDims());
  windowOf.assign(operand.getRank(), -1);
  size_t next = 0;
  for (int64_t d = 0; d < operand.getRank(); ++d) {
    if (llvm::is_contained(numbers.getInsertedWindowDims(), d)) continue;
    if (llvm::is_contained(numbers.getInputBatchingDims(), d)) continue;
    windowOf[d] = windowDims[next++];
  }
  for (int64_t d : windowDims) windowSizes.push_back(updates.getDimSize(d));
  for (int64_t d = 0; d < updates.getRank(); ++d) {
    if (!llvm::is_contained(windowDims, d)) indexSizes.push_back(updates.getDimSize(d));
  }
  int64_t vectorDim = numbers.getIndexVectorDim();
  for (int64_t dim : numbers.getScatterIndicesBatchingDims()) {
    batchingOfIndices.push_back(dim > vectorDim ? dim - 1 : dim);
  }
  int64_t last = operand.getRank() - 1;
  isInnermostWindow = last >= 0 && windowOf[last] >= 0 && windowOf[last] == updates.getRank() - 1;
}

bool ScatterDims::isMovedByIndex(int64_t window) const {
  auto it = llvm::find(windowOf, windowDims[window]);
  return it == windowOf.end() || llvm::is_contained(operandDimsOfIndex, it - windowOf.begin());
}

bool canExchange(mlir::RankedTensorType array, const TargetModel& target) {
  if (target.device != DeviceKind::kGpu) return false;
  std::optional<ElementKind> kind = elementKind(array.getElementType());
  return kind && llvm::isPowerOf2_32(kind->storageBytes) &&
         kind->storageBytes * 8 <= target.atomicBits;
}

bool SelectWindow::meet() const {
  for (auto [extent, step] : llvm::zip(size, stride)) {
    if (extent > step) return true;
  }
  return false;
}

SelectWindow::SelectWindow(shlo::SelectAndScatterOp select) {
  auto rank = mlir::cast<mlir::RankedTensorType>(select->getResult(0).getType()).getRank();
  size.assign(rank, 1);
  stride.assign(rank, 1);
  low.assign(rank, 0);
  if (auto dims = select.getWindowDimensions()) size.assign(dims->begin(), dims->end());
  if (auto given = select.getWindowStrides()) stride.assign(given->begin(), given->end());
  if (auto padding = select.getPadding()) {
    for (int64_t d = 0; d < rank; ++d) low[d] = padding->getValues<int64_t>()[{uint64_t(d), 0}];
  }
}

}  // namespace isthmus

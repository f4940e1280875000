#include "compiler/dialect/facts/update_slice.h"

#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/Matchers.h"

namespace isthmus {

std::optional<int64_t> knownStart(mlir::Value start, int64_t last) {
  if (last == 0) return 0;
  mlir::DenseIntElementsAttr known;
  if (!mlir::matchPattern(start, mlir::m_Constant(&known)) || known.getNumElements() != 1) {
    return std::nullopt;
  }
  const llvm::APInt value = *known.value_begin<llvm::APInt>();
  const bool isSigned = !mlir::cast<mlir::IntegerType>(known.getElementType()).isUnsigned();
  if (isSigned && value.isNegative()) return 0;
  return static_cast<int64_t>(value.getLimitedValue(static_cast<uint64_t>(last)));
}

bool readsUpdatedPlace(shlo::DynamicUpdateSliceOp update, mlir::OpOperand& use) {
  const llvm::ArrayRef<int64_t> size = update.getUpdate().getType().getShape();
  if (auto slice = mlir::dyn_cast<shlo::SliceOp>(use.getOwner())) {
    if (slice.getType().getShape() != size) return false;
    const llvm::ArrayRef<int64_t> whole = update.getType().getShape();
    for (auto [d, start] : llvm::enumerate(update.getStartIndices())) {
      if ((slice.getStrides()[d] != 1 && size[d] > 1) ||
          knownStart(start, whole[d] - size[d]) != slice.getStartIndices()[d]) {
        return false;
      }
    }
    return true;
  }
  auto slice = mlir::dyn_cast<shlo::DynamicSliceOp>(use.getOwner());
  return slice && use.getOperandNumber() == 0 &&
         llvm::equal(slice.getStartIndices(), update.getStartIndices()) &&
         slice.getType().getShape() == size;
}

}  // namespace isthmus

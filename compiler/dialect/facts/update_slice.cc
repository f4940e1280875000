#include "compiler/dialect/facts/update_slice.h"

namespace isthmus {

bool readsUpdatedPlace(shlo::DynamicUpdateSliceOp update, mlir::OpOperand& use) {
  auto slice = mlir::dyn_cast<shlo::DynamicSliceOp>(use.getOwner());
  return slice && use.getOperandNumber() == 0 &&
         llvm::equal(slice.getStartIndices(), update.getStartIndices()) &&
         slice.getType().getShape() == update.getUpdate().getType().getShape();
}

}  // namespace isthmus

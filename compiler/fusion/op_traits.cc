#include "compiler/fusion/op_traits.h"

#include "compiler/dialect/dialect.h"
#include "llvm/ADT/TypeSwitch.h"

namespace isthmus {

double operandEvaluations(mlir::Operation* op, unsigned index) {
  using namespace shlo;
  double result = op->getNumResults() ? elementCount(op->getResult(0).getType()) : 0;
  double operand = elementCount(op->getOperand(index).getType());
  return llvm::TypeSwitch<mlir::Operation*, double>(op)
      .Case<ReduceOp, PadOp, ConcatenateOp, DynamicUpdateSliceOp>([&](auto) { return operand; })
      .Case<ReduceWindowOp>([&](ReduceWindowOp window) {
        double size = 1;
        for (int64_t extent : window.getWindowDimensions()) size *= extent;
        return result * size;
      })
      .Case<DynamicSliceOp>([&](auto) { return index == 0 ? result : 1.0; })
      .Default([&](auto) { return operand == 1 ? 1.0 : result; });
}

}  // namespace isthmus

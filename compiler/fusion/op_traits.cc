#include "compiler/fusion/op_traits.h"

#include "compiler/dialect/dialect.h"
#include "llvm/ADT/STLExtras.h"
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

bool isLeftToCopies(mlir::Operation* op, const FusionOptions& options) {
  // So many stretches of the innermost dimension are loops of their own (`cutsAlong`).
  constexpr size_t kFewOperands = 7;
  // Selections that take less than the kernels that would otherwise compute the operands.
  constexpr double kFewSelections = 1 << 16;
  auto concatenate = llvm::dyn_cast<shlo::ConcatenateOp>(op);
  // Devices have no step that copies many arrays, and threads enough to select.
  if (!concatenate || options.target.device != DeviceKind::kCpu) return false;
  const size_t operands = concatenate.getInputs().size();
  if (operands <= kFewOperands) return false;
  // What kernels compute at no cost would have to be written to be copied.
  auto arrays = static_cast<size_t>(llvm::count_if(concatenate.getInputs(), [](mlir::Value input) {
    return !input.getDefiningOp() || !isRematerializable(input.getDefiningOp());
  }));
  if (static_cast<int>(arrays) > options.target.maxKernelBuffers) return true;
  return arrays * 2 >= operands &&
         static_cast<double>(operands) *
                 static_cast<double>(elementCount(op->getResult(0).getType())) >
             kFewSelections;
}

}  // namespace isthmus

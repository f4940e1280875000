// The widen-sums pass: sums and products of narrow floats are kept in f32 until they are complete,
// as on XLA's CPU client. Rounded at each step, a sum of bf16 stops where a summand is less than
// half of its last bit: 4096 gradients of 0.3 of a bias, which are 1229, would give 128.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/passes.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus {

#define GEN_PASS_DEF_WIDENSUMSPASS
#include "compiler/passes/passes.h.inc"

namespace {

constexpr unsigned kWideBits = 32;

// Of a reduction or a window of one array, or false.
template <typename Op>
bool roundsEachStep(Op op) {
  if (op.getInputs().size() != 1) return false;
  auto type = llvm::dyn_cast<mlir::FloatType>(tensorTypeOf(op.getInputs()[0]).getElementType());
  return type && type.getWidth() < kWideBits &&
         llvm::isa_and_nonnull<shlo::AddOp, shlo::MulOp>(soleOperation(op.getBody()));
}

template <typename Op>
void widen(Op op) {
  mlir::OpBuilder builder(op);
  ArrayBuilder b(op, builder);
  const mlir::Type wide = builder.getF32Type();
  mlir::RankedTensorType type = tensorTypeOf(op->getResult(0));
  llvm::SmallVector<mlir::Value> operands;
  for (mlir::Value operand : op->getOperands()) operands.push_back(b.convert(operand, wide));
  auto widened = llvm::cast<Op>(builder.clone(*op));
  widened->setOperands(operands);
  widened->getResult(0).setType(type.clone(wide));
  mlir::Region& body = widened.getBody();
  const bool isSum = llvm::isa<shlo::AddOp>(soleOperation(body));
  body.getBlocks().clear();
  isSum ? fillWith<shlo::AddOp>(builder, body, wide, op.getLoc())
        : fillWith<shlo::MulOp>(builder, body, wide, op.getLoc());
  builder.setInsertionPointAfter(widened);
  op->getResult(0).replaceAllUsesWith(b.convert(widened->getResult(0), type.getElementType()));
  op.erase();
}

struct WidenSumsPass : impl::WidenSumsPassBase<WidenSumsPass> {
  void runOnOperation() override {
    llvm::SmallVector<mlir::Operation*> sums;
    getOperation().walk([&](mlir::Operation* op) {
      auto reduce = llvm::dyn_cast<shlo::ReduceOp>(op);
      auto window = llvm::dyn_cast<shlo::ReduceWindowOp>(op);
      if ((reduce && roundsEachStep(reduce)) || (window && roundsEachStep(window))) {
        sums.push_back(op);
      }
    });
    for (mlir::Operation* op : sums) {
      if (auto reduce = llvm::dyn_cast<shlo::ReduceOp>(op)) {
        widen(reduce);
      } else {
        widen(llvm::cast<shlo::ReduceWindowOp>(op));
      }
    }
  }
};

}  // namespace
}  // namespace isthmus

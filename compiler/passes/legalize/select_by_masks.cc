// The select-by-masks pass: products with masks become selections, as all of XLA's compilers make
// them (docs/adr/0068-products-with-masks-select.md).
#include "compiler/dialect/dialect.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/passes.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus {

#define GEN_PASS_DEF_SELECTBYMASKSPASS
#include "compiler/passes/passes.h.inc"

namespace {

// The booleans that `value` is a conversion of, or null.
mlir::Value maskOf(mlir::Value value) {
  auto convert = value.getDefiningOp<shlo::ConvertOp>();
  if (!convert) return {};
  mlir::Value operand = convert.getOperand();
  return mlir::getElementTypeOrSelf(operand.getType()).isInteger(1) ? operand : mlir::Value();
}

// Integers are left: their products are the same, and what computes on them is recognised
// elsewhere.
bool canBeNan(mlir::RankedTensorType type) {
  return llvm::isa<mlir::FloatType, mlir::ComplexType>(type.getElementType());
}

struct SelectByMasksPass : impl::SelectByMasksPassBase<SelectByMasksPass> {
  void runOnOperation() override {
    llvm::SmallVector<shlo::MulOp> products;
    getOperation().walk([&](shlo::MulOp op) { products.push_back(op); });
    for (shlo::MulOp op : products) {
      auto type = llvm::dyn_cast<mlir::RankedTensorType>(op.getType());
      if (!type || !type.hasStaticShape() || !canBeNan(type)) continue;
      mlir::Value mask = maskOf(op.getRhs()), masked = op.getLhs();
      if (!mask) mask = maskOf(op.getLhs()), masked = op.getRhs();
      if (!mask || masked.getType() != op.getType()) continue;
      mlir::OpBuilder builder(op);
      ArrayBuilder b(op, builder);
      mlir::Value selected = b.select(mask, masked, b.zeros(type));
      selected.getDefiningOp()->setDiscardableAttrs(op->getDiscardableAttrDictionary());
      op.replaceAllUsesWith(selected);
      op.erase();
    }
  }
};

}  // namespace
}  // namespace isthmus

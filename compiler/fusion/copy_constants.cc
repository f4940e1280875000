#include "compiler/fusion/copy_constants.h"

#include "compiler/fusion/block_graph.h"
#include "compiler/fusion/op_traits.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace isthmus {
namespace {

bool isOfConstants(mlir::Operation* op) {
  return op && isRematerializable(op) && llvm::all_of(op->getOperands(), [](mlir::Value operand) {
           return isOfConstants(operand.getDefiningOp());
         });
}

mlir::Value copied(mlir::Value value, mlir::OpBuilder& builder, mlir::IRMapping& copies) {
  if (mlir::Value copy = copies.lookupOrNull(value)) return copy;
  mlir::Operation* op = value.getDefiningOp();
  for (mlir::Value operand : op->getOperands()) copied(operand, builder, copies);
  return builder.clone(*op, copies)->getResult(0);
}

}  // namespace

void copyConstantsInto(mlir::Block& block) {
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockBegin(&block);
  mlir::IRMapping copies;
  for (mlir::Operation& op : block) {
    if (!isKernel(&op)) continue;
    for (mlir::OpOperand& operand : op.getOpOperands()) {
      mlir::Value value = operand.get();
      if (value.getParentBlock() == &block) continue;
      if (BlockGraph::needsMemory(&op, operand.getOperandNumber())) continue;
      if (isOfConstants(value.getDefiningOp())) operand.set(copied(value, builder, copies));
    }
  }
}

}  // namespace isthmus

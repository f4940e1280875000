#include "compiler/passes/simplify/product_chain.h"

#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/simplify/match.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

// Of elementwise operations behind a product.
constexpr int kMaxProductChain = 8;

// A pattern that has replaced an operation may have left its operands with a user that is dead.
bool hasOneLiveUse(mlir::Value value) {
  return llvm::count_if(value.getUses(), [](mlir::OpOperand& use) {
           return use.getOwner()->getNumResults() == 0 || !use.getOwner()->use_empty();
         }) == 1;
}

}  // namespace

bool isPlainElementwise(mlir::Operation* op) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 &&
         fusionClass(op) == FusionClass::kElementwise && isStaticArray(op->getResult(0));
}

bool reducesLast(mlir::Operation* op, int64_t rank) {
  auto reduce = llvm::dyn_cast<shlo::ReduceOp>(op);
  return reduce && reduce->getNumResults() == 1 &&
         reduce.getDimensions() == llvm::ArrayRef<int64_t>{rank - 1};
}

mlir::Value onlyArray(mlir::Operation* op) {
  if (!op || !isPlainElementwise(op)) return nullptr;
  mlir::Value array;
  for (mlir::Value operand : op->getOperands()) {
    if (constantSplat(operand)) continue;
    if (array || !isStaticArray(operand)) return nullptr;
    array = operand;
  }
  auto isSame = [&](mlir::Value operand) {
    return operand == array ||
           (isStaticArray(operand) &&
            tensorTypeOf(operand).getShape() == tensorTypeOf(op->getResult(0)).getShape());
  };
  return array && llvm::all_of(op->getOperands(), isSame) ? array : nullptr;
}

shlo::DotGeneralOp productBehind(mlir::Value value) {
  for (int i = 0; i < kMaxProductChain && value && hasOneLiveUse(value); ++i) {
    mlir::Operation* op = value.getDefiningOp();
    if (auto dot = llvm::dyn_cast_or_null<shlo::DotGeneralOp>(op)) return dot;
    value = onlyArray(op);
  }
  return nullptr;
}

shlo::ReduceOp reductionBehind(mlir::Value value) {
  for (int i = 0; i < kMaxProductChain && value; ++i) {
    mlir::Operation* op = value.getDefiningOp();
    if (auto reduce = llvm::dyn_cast_or_null<shlo::ReduceOp>(op)) return reduce;
    value = onlyArray(op);
  }
  return nullptr;
}

}  // namespace isthmus

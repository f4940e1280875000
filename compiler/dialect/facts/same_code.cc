#include "compiler/dialect/facts/same_code.h"

#include "llvm/ADT/DenseMap.h"
#include "mlir/IR/OperationSupport.h"

namespace isthmus {

using Equivalence = mlir::OperationEquivalence;

size_t codeHash(mlir::Operation* op) {
  auto ignore = [](mlir::Value) { return llvm::hash_code(0); };
  llvm::hash_code hash = Equivalence::computeHash(op, ignore, ignore, Equivalence::IgnoreLocations);
  op->walk([&](mlir::Operation* inner) {
    hash = llvm::hash_combine(
        hash, Equivalence::computeHash(inner, ignore, ignore, Equivalence::IgnoreLocations));
  });
  return hash;
}

bool haveSameCode(mlir::Operation* op, mlir::Operation* other) {
  if (op->getOperandTypes() != other->getOperandTypes()) return false;
  llvm::DenseMap<mlir::Value, mlir::Value> counterparts;
  auto check = [&](mlir::Value x, mlir::Value y) {
    if (!op->isAncestor(x.getParentBlock()->getParentOp())) {
      return mlir::success(x.getType() == y.getType());
    }
    return mlir::success(counterparts.lookup(x) == y);
  };
  auto mark = [&](mlir::Value x, mlir::Value y) { counterparts[x] = y; };
  return Equivalence::isEquivalentTo(op, other, check, mark, Equivalence::IgnoreLocations);
}

}  // namespace isthmus

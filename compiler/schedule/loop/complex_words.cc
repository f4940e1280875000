#include "compiler/schedule/loop/complex_words.h"

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/target/element_kind.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus {
namespace {

bool isComplex(mlir::Value value) {
  auto kind = kindOf(value);
  return kind && kind->isComplex();
}

// Constants, such as what surrounds a padded array, would have to be words as well.
bool onlyMoves(mlir::Operation& op) {
  switch (fusionClass(&op)) {
    case FusionClass::kIndexed:
      return op.getNumOperands() > 0 && op.getNumRegions() == 0;
    case FusionClass::kView:
      return true;
    default:
      return llvm::isa<shlo::SelectOp>(op);
  }
}

}  // namespace

bool movesComplexWords(ir::FusionOp fusion, const TargetModel& target) {
  if (target.device != DeviceKind::kCpu) return false;
  mlir::Block& body = fusion.getBody().front();
  bool isAny = llvm::any_of(body.getTerminator()->getOperands(), isComplex);
  for (mlir::Operation& op : body.without_terminator()) {
    const bool ofComplex =
        llvm::any_of(op.getOperands(), isComplex) || llvm::any_of(op.getResults(), isComplex);
    if (ofComplex && !onlyMoves(op)) return false;
  }
  return isAny;
}

mlir::Type wordOfComplex(mlir::Type type) {
  auto complex = llvm::dyn_cast<mlir::ComplexType>(type);
  if (!complex || !complex.getElementType().isF32()) return type;
  return mlir::IntegerType::get(type.getContext(), 64, mlir::IntegerType::Unsigned);
}

}  // namespace isthmus

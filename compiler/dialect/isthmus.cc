// Registers the isthmus dialect and verifies fusions.
#include "compiler/dialect/isthmus.h"

#include "compiler/dialect/dialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "ops/isthmus_dialect.cc.inc"

#define GET_OP_CLASSES
#include "ops/isthmus.cc.inc"

namespace isthmus::ir {

void IsthmusDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ops/isthmus.cc.inc"
      >();
}

bool FusionOp::updatesInPlace() {
  mlir::Operation* yield = getBody().front().getTerminator();
  return llvm::any_of(yield->getOperands(), [](mlir::Value value) {
    return mlir::isa_and_present<shlo::ScatterOp, shlo::DynamicUpdateSliceOp>(
        value.getDefiningOp());
  });
}

mlir::LogicalResult FusionOp::verify() {
  mlir::Block& block = getBody().front();
  if (mlir::TypeRange(block.getArgumentTypes()) != mlir::TypeRange(getOperandTypes())) {
    return emitOpError("block argument types ")
           << block.getArgumentTypes() << " differ from operand types " << getOperandTypes();
  }
  mlir::Operation* yield = block.getTerminator();
  if (yield->getOperandTypes() != getResultTypes()) {
    return emitOpError("yields ") << yield->getOperandTypes() << " but has result types "
                                  << getResultTypes();
  }
  return mlir::success();
}

}  // namespace isthmus::ir

// Registers the isthmus dialect and verifies fusions.
#include "compiler/dialect/isthmus.h"

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "ops/isthmus_dialect.cc.inc"
#include "ops/isthmus_enums.cc.inc"

#define GET_ATTRDEF_CLASSES
#include "ops/isthmus_attributes.cc.inc"

#define GET_OP_CLASSES
#include "ops/isthmus.cc.inc"

namespace isthmus::ir {

void IsthmusDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ops/isthmus.cc.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ops/isthmus_attributes.cc.inc"
      >();
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

// Registers the check dialect.
#include "compiler/dialect/test_dialects/check.h"

#include "mlir/IR/Builders.h"

#include "ops/check_dialect.cc.inc"

#define GET_OP_CLASSES
#include "ops/check.cc.inc"

void isthmus::check::CheckDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ops/check.cc.inc"
      >();
}

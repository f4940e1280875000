// The generated code of the operations of ops/data_movement.td.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/families/families.h"
#include "mlir/IR/Builders.h"

// The op table names element kinds without their namespace.
using namespace isthmus::shlo;  // NOLINT

#define GET_OP_CLASSES
#include "ops/data_movement.cc.inc"

void isthmus::shlo::addDataMovementOps(ShloDialect& dialect) {
  dialect.addFamily<
#define GET_OP_LIST
#include "ops/data_movement.cc.inc"
      >();
}

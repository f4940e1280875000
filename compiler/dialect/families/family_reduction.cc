// The generated code of the operations of ops/reduction.td.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/families/families.h"
#include "mlir/IR/Builders.h"

// The op table names element kinds without their namespace.
using namespace isthmus::shlo;  // NOLINT

#define GET_OP_CLASSES
#include "ops/reduction.cc.inc"

void isthmus::shlo::addReductionOps(ShloDialect& dialect) {
  dialect.addFamily<
#define GET_OP_LIST
#include "ops/reduction.cc.inc"
      >();
}

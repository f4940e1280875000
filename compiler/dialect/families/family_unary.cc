// The generated code of the operations of ops/unary.td.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/families/families.h"
#include "compiler/dialect/rules/rules.h"
#include "mlir/IR/Builders.h"

// The op table names element kinds without their namespace.
using namespace isthmus::shlo;  // NOLINT

#define GET_OP_CLASSES
#include "ops/unary.cc.inc"

void isthmus::shlo::addUnaryOps(ShloDialect& dialect) {
  dialect.addFamily<
#define GET_OP_LIST
#include "ops/unary.cc.inc"
      >();
}

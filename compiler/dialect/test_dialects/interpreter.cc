// Registers the interpreter dialect.
#include "compiler/dialect/test_dialects/interpreter.h"

#include "mlir/IR/Builders.h"

#include "ops/interpreter_dialect.cc.inc"

#define GET_OP_CLASSES
#include "ops/interpreter.cc.inc"

void isthmus::interpreter::InterpreterDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ops/interpreter.cc.inc"
      >();
}

// isthmus-opt: reads a program, runs passes over it and prints it, for tests and by hand.
#include "compiler/dialect/check.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/interpreter.h"
#include "compiler/passes/passes.h"
#include "compiler/schedule/schedule_pass.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char** argv) {
  mlir::registerTransformsPasses();
  isthmus::registerIsthmusPasses();
  isthmus::registerSchedulePass();
  mlir::DialectRegistry registry;
  isthmus::registerAllDialects(registry);
  registry.insert<isthmus::check::CheckDialect, isthmus::interpreter::InterpreterDialect>();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Isthmus: reads, transforms and prints programs\n", registry));
}

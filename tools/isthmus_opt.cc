// isthmus-opt: reads a program, runs passes or stages over it and prints it, for tests and by hand.
//
//   isthmus-opt FILE --PASS …                          as mlir-opt
//   isthmus-opt --list-stages
//   isthmus-opt FILE [--from STAGE] --to STAGE [--times]
//
// Up to `schedule`, stages run for the target model that names no machine; if later ones are asked
// for, which print the plan, LLVM IR and assembly, all run for this CPU. With --from, FILE is what
// the stage before wrote (ISTHMUS_DUMP, or this command).
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/test_dialects/check.h"
#include "compiler/dialect/test_dialects/interpreter.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/pipeline.h"
#include "compiler/schedule/passes.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "tools/run_stages.h"

namespace {

// The exit status, if the command line asks for stages rather than passes.
std::optional<int> runStageCommand(int argc, char** argv) {
  isthmus::StageCommand command;
  bool isAsked = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    auto value = [&](std::string_view name, std::string& into) {
      if (argument == name && i + 1 < argc) return into = argv[++i], isAsked = true;
      if (!argument.starts_with(std::string(name) + "=")) return false;
      into = argument.substr(name.size() + 1);
      return isAsked = true;
    };
    if (argument == "--list-stages") {
      std::cout << isthmus::describeStages();
      return 0;
    }
    if (value("--from", command.from) || value("--to", command.to)) continue;
    if (argument == "--times") {
      command.times = true;
    } else if (!argument.starts_with("--")) {
      command.file = argument;
    }
  }
  if (!isAsked) return std::nullopt;
  if (command.file.empty()) command.file = "-";
  isthmus::Status status = isthmus::runStages(command, std::cout, std::cerr);
  if (status.ok()) return 0;
  std::cerr << status.message() << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (std::optional<int> status = runStageCommand(argc, argv)) return *status;
  mlir::registerTransformsPasses();
  isthmus::registerIsthmusPasses();
  isthmus::registerIsthmusSchedulePasses();
  mlir::DialectRegistry registry;
  isthmus::registerAllDialects(registry);
  registry.insert<isthmus::check::CheckDialect, isthmus::interpreter::InterpreterDialect>();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Isthmus: reads, transforms and prints programs\n", registry));
}

// isthmus-simulate: what a partitioned program takes on machines that are not at hand.
//
//   isthmus-simulate PROGRAM --machine FILE.json [--steps N] [--json]
//
// PROGRAM is StableHLO as text or bytecode, "-" for standard input; how many devices it is for is
// in it (mhlo.num_partitions). docs/howto/simulate-a-cluster.md.
#include <charconv>
#include <iostream>
#include <string>

#include "compiler/simulation/simulate.h"
#include "tools/read_file.h"

namespace isthmus {
namespace {

constexpr const char* kUsage =
    "usage: isthmus-simulate PROGRAM --machine FILE.json [--steps N] [--json]\n";

Status run(int argc, char** argv) {
  std::string program, machineFile;
  size_t steps = 20;
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument == "--json") {
      json = true;
    } else if (argument == "--machine" && i + 1 < argc) {
      machineFile = argv[++i];
    } else if (argument == "--steps" && i + 1 < argc) {
      std::string_view text = argv[++i];
      if (std::from_chars(text.begin(), text.end(), steps).ptr != text.end() || text.empty()) {
        return invalidArgument("--steps ", text, ": no number");
      }
    } else if (program.empty() && (argument == "-" || !argument.starts_with("-"))) {
      program = argument;
    } else {
      return invalidArgument(kUsage);
    }
  }
  if (program.empty() || machineFile.empty()) return invalidArgument(kUsage);
  ISTHMUS_ASSIGN_OR_RETURN(std::string description, readAll(machineFile));
  ISTHMUS_ASSIGN_OR_RETURN(simulation::Machine machine, simulation::parseMachine(description));
  ISTHMUS_ASSIGN_OR_RETURN(std::string code, readAll(program));
  ISTHMUS_ASSIGN_OR_RETURN(simulation::Report report, simulation::simulate(code, "mlir", machine));
  std::cout << (json ? simulation::toJson(report) + "\n" : simulation::toText(report, steps));
  return {};
}

}  // namespace
}  // namespace isthmus

int main(int argc, char** argv) {
  isthmus::Status status = isthmus::run(argc, argv);
  if (status.ok()) return 0;
  std::cerr << status.message() << "\n";
  return 1;
}

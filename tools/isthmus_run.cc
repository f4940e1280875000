// isthmus-run: runs the functions of a program and makes the assertions in it.
//
//   isthmus-run FILE.mlir [--function NAME] [--backend reference|cpu] [--split] [--quiet]
//              [--times] [--output DIR] [ARG ...]
//
// Runs @main, or else every function without arguments. An ARG is an attribute, 'dense<1> :
// tensor<2xi32>'. The backend `cpu` compiles what it runs; constants of the function become
// arguments, so that nothing is folded away. --times: what each stage of compilation took, to
// stderr. With --output, the elements of result N are written to
// DIR/N.bin as they lie in memory. Exit status: 0, or 1 if anything failed.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/test_dialects/check.h"
#include "compiler/dialect/test_dialects/interpreter.h"
#include "compiler/import/import.h"
#include "compiler/reference/test_ops.h"
#include "llvm/ADT/StringRef.h"
#include "mlir/AsmParser/AsmParser.h"
#include "tools/run_on_cpu.h"
#include "tools/stage_times.h"

namespace isthmus {
namespace {

struct Options {
  std::string file;
  std::string function;
  bool onCpu = false;
  bool split = false;
  bool quiet = false;
  bool times = false;
  std::string output;
  std::vector<std::string> arguments;
};

StatusOr<std::vector<reference::Tensor>> parseArguments(const Options& options,
                                                        mlir::MLIRContext& context) {
  std::vector<reference::Tensor> tensors;
  for (const std::string& text : options.arguments) {
    mlir::Attribute value = mlir::parseAttribute(text, &context);
    if (!value) return invalidArgument("no attribute: ", text);
    ISTHMUS_ASSIGN_OR_RETURN(reference::Tensor tensor, reference::tensorOf(value));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Status runFunction(mlir::ModuleOp module, mlir::func::FuncOp function,
                   const std::vector<reference::Tensor>& arguments, const Options& options) {
  std::vector<reference::Tensor> results;
  if (options.onCpu) {
    ISTHMUS_ASSIGN_OR_RETURN(results, runOnCpu(module, function, arguments));
  } else {
    reference::InterpreterOptions interpreter;
    interpreter.extension = reference::TestOps();
    std::vector<reference::Value> values(arguments.begin(), arguments.end());
    ISTHMUS_ASSIGN_OR_RETURN(
        std::vector<reference::Value> given,
        reference::Interpreter(module, interpreter).run(function, std::move(values)));
    for (reference::Value& value : given) {
      if (value.kind == reference::Value::Kind::kTensor) results.push_back(value.tensor);
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!options.quiet) std::cout << results[i].toString() << "\n";
    if (options.output.empty()) continue;
    std::ofstream file(options.output + "/" + std::to_string(i) + ".bin", std::ios::binary);
    file.write(results[i].data(), static_cast<std::streamsize>(results[i].sizeBytes()));
    if (!file.flush()) return failedPrecondition("results cannot be written to ", options.output);
  }
  return {};
}

// The number of functions that failed.
int runProgram(const std::string& code, const Options& options) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<check::CheckDialect, interpreter::InterpreterDialect>();
  auto report = [&](const std::string& where, const Status& status) {
    std::cerr << options.file << ": " << where << ": " << status.message() << "\n";
    return 1;
  };
  StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> module = importProgram(code, "mlir", context);
  if (!module.ok()) return report("import", module.status());
  StatusOr<std::vector<reference::Tensor>> arguments = parseArguments(options, context);
  if (!arguments.ok()) return report("arguments", arguments.status());

  std::vector<mlir::func::FuncOp> functions;
  std::string wanted = options.function.empty() ? "main" : options.function;
  if (auto function = (*module)->lookupSymbol<mlir::func::FuncOp>(wanted)) {
    functions.push_back(function);
  } else if (options.function.empty()) {
    for (auto other : (*module)->getOps<mlir::func::FuncOp>()) {
      if (other.getNumArguments() == arguments->size()) functions.push_back(other);
    }
  }
  bool hasNone = (*module)->getOps<mlir::func::FuncOp>().empty();
  if (hasNone && options.function.empty()) return 0;
  if (functions.empty()) return report(wanted, notFound("there is no such function"));
  int failures = 0;
  for (mlir::func::FuncOp function : functions) {
    Status status = runFunction(**module, function, *arguments, options);
    if (!status.ok()) failures += report("@" + function.getName().str(), status);
  }
  return failures;
}

bool parseCommandLine(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    auto value = [&](llvm::StringRef name, std::string& into) {
      if (argument == name && i + 1 < argc) {
        into = argv[++i];
        return true;
      }
      if (!argument.consume_front(name) || !argument.consume_front("=")) return false;
      into = argument.str();
      return true;
    };
    std::string backend;
    if (value("--function", options.function) || value("--output", options.output)) continue;
    if (value("--backend", backend)) {
      if (backend != "cpu" && backend != "reference") return false;
      options.onCpu = backend == "cpu";
    } else if (argument == "--split") {
      options.split = true;
    } else if (argument == "--quiet") {
      options.quiet = true;
    } else if (argument == "--times") {
      options.times = true;
    } else if (argument.starts_with("--")) {
      return false;
    } else if (options.file.empty()) {
      options.file = argument.str();
    } else {
      options.arguments.push_back(argument.str());
    }
  }
  return !options.file.empty();
}

int run(int argc, char** argv) {
  Options options;
  if (!parseCommandLine(argc, argv, options)) {
    std::cerr << "usage: isthmus-run FILE [--function NAME] [--backend reference|cpu] [--split] "
                 "[--quiet] [--times] [--output DIR] [ARG ...]\n";
    return 2;
  }
  std::ifstream file(options.file, std::ios::binary);
  if (!file) {
    std::cerr << options.file << ": cannot be read\n";
    return 2;
  }
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  int failures = 0;
  if (options.times) startStageTimes();
  if (!options.split) {
    failures = runProgram(text, options);
  } else {
    // As MLIR's own tools split their input.
    for (size_t begin = 0; begin != std::string::npos && begin < text.size();) {
      size_t end = text.find("\n// -----", begin);
      failures += runProgram(text.substr(begin, end - begin), options);
      if (end == std::string::npos) break;
      begin = text.find('\n', end + 1);
    }
  }
  if (options.times) writeStageTimes(std::cerr);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace isthmus

int main(int argc, char** argv) { return isthmus::run(argc, argv); }

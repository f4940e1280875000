#include "tools/run_stages.h"

#include <algorithm>
#include <chrono>
#include <ostream>

#include "compiler/dialect/diagnostics.h"
#include "compiler/import/import.h"
#include "compiler/pipeline/pipeline.h"
#include "llvm/Support/raw_os_ostream.h"
#include "mlir/Parser/Parser.h"
#include "tools/read_file.h"

namespace isthmus {
namespace {

double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Status checkStage(const std::string& name) {
  std::span<const Stage> stages = pipelineStages();
  if (name.empty() || std::any_of(stages.begin(), stages.end(),
                                  [&](const Stage& stage) { return stage.name == name; })) {
    return {};
  }
  return invalidArgument("no stage to run is called ", name, "; there are:\n", describeStages());
}

// A program as users have it is imported; what a stage wrote has operations that import refuses.
StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> read(const std::string& text, bool isImported,
                                                 mlir::MLIRContext& context) {
  if (isImported) return importProgram(text, "mlir", context);
  DiagnosticCollector diagnostics(&context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) return diagnostics.status(StatusCode::kInvalidArgument, "read");
  return module;
}

}  // namespace

Status runStages(const StageCommand& command, std::ostream& out, std::ostream& log) {
  ISTHMUS_RETURN_IF_ERROR(checkStage(command.from));
  ISTHMUS_RETURN_IF_ERROR(checkStage(command.to));
  ISTHMUS_ASSIGN_OR_RETURN(std::string text, readAll(command.file));
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  auto begin = std::chrono::steady_clock::now();
  ISTHMUS_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module,
                           read(text, command.from.empty(), *context));
  auto note = [&](std::string_view stage) {
    if (command.times) log << stage << " " << secondsSince(begin) * 1e3 << " ms\n";
    begin = std::chrono::steady_clock::now();
  };
  note(command.from.empty() ? "import" : "read");
  PipelineOptions options;
  readDeviceCounts(*module, options.compile);
  options.startAt = command.from;
  options.stopAfter = command.to;
  if (!command.times) {
    ISTHMUS_RETURN_IF_ERROR(runPipeline(module, options));
  } else {
    bool isOn = command.from.empty();
    for (const Stage& stage : pipelineStages()) {
      isOn |= stage.name == command.from;
      if (!isOn) continue;
      options.startAt = options.stopAfter = stage.name;
      ISTHMUS_RETURN_IF_ERROR(runPipeline(module, options));
      note(stage.name);
      if (stage.name == command.to) break;
    }
  }
  llvm::raw_os_ostream stream(out);
  module->print(stream);
  stream << "\n";
  return {};
}

}  // namespace isthmus

#include "tools/run_stages.h"

#include <ostream>

#include "backends/cpu/code_generator.h"
#include "compiler/dialect/diagnostics/diagnostics.h"
#include "compiler/driver/driver.h"
#include "compiler/driver/reproducer.h"
#include "compiler/import/import.h"
#include "compiler/pipeline/pipeline.h"
#include "isthmus/flags.h"
#include "isthmus/trace.h"
#include "mlir/Parser/Parser.h"
#include "pjrt/compile/compile_options.h"
#include "tools/read_file.h"
#include "tools/stage_times.h"

namespace isthmus {
namespace {

Status checkStages(const StageCommand& command) {
  auto unknown = [](const std::string& name) {
    return invalidArgument("no stage is called ", name, "; there are:\n", describeStages());
  };
  const Stage* from = findStage(command.from);
  const Stage* to = findStage(command.to);
  if (!command.from.empty() && !from) return unknown(command.from);
  if (!command.to.empty() && !to) return unknown(command.to);
  if (from && !from->addPasses) {
    return invalidArgument("programs are read before ", pipelineStages().front().name, " to ",
                           pipelineStages().back().name, ", not before ", command.from);
  }
  if (from && to && to < from) return invalidArgument(command.to, " comes before ", command.from);
  return {};
}

// A program as users have it is imported; what a stage wrote has operations that import refuses.
StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> read(const std::string& text, bool isImported,
                                                 mlir::MLIRContext& context) {
  if (isImported) {
    trace::Scope scope("stage", "import");
    return importProgram(text, "mlir", context);
  }
  DiagnosticCollector diagnostics(&context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module) return diagnostics.status(StatusCode::kInvalidArgument, "read");
  return module;
}

}  // namespace

Status runStages(const StageCommand& command, std::ostream& out, std::ostream& log) {
  ISTHMUS_RETURN_IF_ERROR(checkStages(command));
  ISTHMUS_ASSIGN_OR_RETURN(std::string text, readAll(command.file));
  ISTHMUS_ASSIGN_OR_RETURN(ReproducerHead head, readReproducerHead(text));
  for (const auto& [name, value] : head.flags) setFlagForTest(name, value);
  if (command.times) startStageTimes();
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  ISTHMUS_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module,
                           read(text, command.from.empty(), *context));
  const cpu::CpuCodeGenerator& generator = cpu::hostCodeGenerator();
  PipelineOptions options;
  if (head.serializedOptions.empty()) {
    readDeviceCounts(*module, options.compile);
  } else {
    ISTHMUS_ASSIGN_OR_RETURN(options.compile, pjrt::parseCompileOptions(head.serializedOptions));
  }
  options.startAt = command.from;
  options.stopAfter = command.to.empty() ? pipelineStages().back().name : command.to;
  if (findStage(options.stopAfter) > &pipelineStages().back()) generator.configure(options);
  ISTHMUS_ASSIGN_OR_RETURN(std::string after, textAfterStage(generator, module, options));
  if (command.times) writeStageTimes(log);
  out << after;
  return {};
}

}  // namespace isthmus

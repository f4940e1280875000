// CpuBackend::compile: import, the compiler's middle, native code.
#include "backends/cpu/backend.h"
#include "backends/cpu/compile_program.h"
#include "backends/cpu/digest.h"
#include "backends/cpu/jit.h"
#include "backends/cpu/serialization.h"
#include "compiler/import/import.h"
#include "compiler/pipeline/pipeline.h"
#include "isthmus/flags.h"
#include "runtime/thread_pool.h"

namespace isthmus::cpu {
namespace {

// Equal for equal programs, options and targets.
std::string fingerprintOf(const CompileRequest& request, const KernelTarget& target) {
  Digest digest;
  digest.add(buildId()).add(target.cpu).add(target.features);
  digest.add(request.format).add(request.code).add(request.options.serialized);
  digest.add(request.options.numReplicas).add(request.options.numPartitions);
  return digest.hex();
}

}  // namespace

StatusOr<std::shared_ptr<const Executable>> CpuBackend::compile(const CompileRequest& request) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  ISTHMUS_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module,
                           importProgram(request.code, request.format, *context));
  std::string name = module->getName().value_or("main").str();
  Dump dump(flagString("ISTHMUS_DUMP"), flagString("ISTHMUS_OVERRIDE"), name);
  PipelineOptions pipeline;
  pipeline.compile = request.options;
  pipeline.fusion.contractions = false;  // dot and convolution run as library functions
  pipeline.dump = &dump;
  ISTHMUS_RETURN_IF_ERROR(runPipeline(module, pipeline));

  CompileSettings settings{hostTarget()};
  settings.options = request.options;
  settings.fingerprint = fingerprintOf(request, settings.target);
  settings.threads = computeThreads();
#ifndef NDEBUG
  settings.verify = true;
#endif
  if (dump.enabled()) {
    settings.verify = true;
    settings.dump = [&dump](std::string_view fileName, std::string_view text) {
      dump.write(fileName, text);
    };
  }
  ISTHMUS_ASSIGN_OR_RETURN(ProgramImage image, compileProgram(*module, settings));
  image.info.name = name;
  return CpuExecutable::load(std::move(image));
}

}  // namespace isthmus::cpu

namespace isthmus {

Backend& linkedBackend() {
  static cpu::CpuBackend& backend = *new cpu::CpuBackend;
  return backend;
}

}  // namespace isthmus

// CpuBackend::compile: import, the compiler's middle, native code.
#include "backends/cpu/backend.h"
#include "backends/cpu/compile_program.h"
#include "backends/cpu/digest.h"
#include "backends/cpu/jit.h"
#include "backends/cpu/reference_comparison.h"
#include "backends/cpu/serialization.h"
#include "compiler/import/import.h"
#include "compiler/pipeline/pipeline.h"
#include "isthmus/flags.h"
#include "isthmus/trace.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/thread_pool.h"

namespace isthmus::cpu {
namespace {

// Equal for equal programs, options and targets.
std::string fingerprintOf(const CompileRequest& request, const KernelTarget& target) {
  Digest digest;
  digest.add(buildId()).add(target.cpu).add(target.features);
  digest.add(request.format).add(request.code).add(request.options.serialized);
  digest.add(flagInt("ISTHMUS_OPTIMIZATION")).add(flagInt("ISTHMUS_FOLD_BYTES"));
  digest.add(request.options.numReplicas).add(request.options.numPartitions);
  return digest.hex();
}

// How far to optimise: 0 to 2, from the program's own options or the environment.
StatusOr<int64_t> optimizationOf(const CompileOptions& options) {
  constexpr const char* kName = "isthmus_optimization";
  int64_t level = flagInt("ISTHMUS_OPTIMIZATION");
  if (auto it = options.overrides.find(kName); it != options.overrides.end()) {
    const int64_t* number = std::get_if<int64_t>(&it->second);
    if (!number) return invalidArgument("compiler option ", kName, " is no integer");
    level = *number;
  }
  if (level < 0 || level > 2) {
    return invalidArgument("compiler option ", kName, " is ", level, ", expected 0, 1 or 2");
  }
  return level;
}

StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> importTraced(const CompileRequest& request,
                                                         mlir::MLIRContext& context) {
  trace::Scope scope("import");
  return importProgram(request.code, request.format, context);
}

StatusOr<std::shared_ptr<const Executable>> compileNatively(const CompileRequest& request) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  ISTHMUS_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module,
                           importTraced(request, *context));
  std::string name = module->getName().value_or("main").str();
  trace::Scope scope("compile", name);
  Dump dump(flagString("ISTHMUS_DUMP"), flagString("ISTHMUS_OVERRIDE"), name);
  PipelineOptions pipeline;
  pipeline.compile = request.options;
  pipeline.fusion.contractions = false;  // dot and convolution run as library functions
  ISTHMUS_ASSIGN_OR_RETURN(int64_t optimization, optimizationOf(request.options));
  pipeline.simplify = optimization > 0;
  pipeline.fusion.merge = optimization > 1;
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
  image.info.code = request.code;
  image.info.format = request.format;
  trace::Scope load("load");
  return CpuExecutable::load(std::move(image));
}

}  // namespace

StatusOr<std::shared_ptr<const Executable>> CpuBackend::compile(const CompileRequest& request) {
  ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> compiled, compileNatively(request));
  if (!flagBool("ISTHMUS_COMPARE")) return compiled;
  return compareWithReference(std::move(compiled), request, compileNatively);
}

StatusOr<std::string> CpuBackend::optimizedProgram(const ProgramInfo& info) {
  if (info.code.empty()) return unimplemented("the executable came without its program");
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  ISTHMUS_ASSIGN_OR_RETURN(mlir::OwningOpRef<mlir::ModuleOp> module,
                           importProgram(info.code, info.format, *context));
  PipelineOptions pipeline;
  pipeline.compile = info.options;
  pipeline.stopAfter = "simplify";  // what comes after is not StableHLO any more
  ISTHMUS_RETURN_IF_ERROR(runPipeline(module, pipeline));
  // Readers know no attributes of ours.
  module->walk([](mlir::func::FuncOp function) {
    auto withoutOurs = [&](mlir::ArrayAttr all) {
      mlir::Builder builder(function.getContext());
      llvm::SmallVector<mlir::Attribute> kept;
      for (mlir::Attribute attributes : all) {
        llvm::SmallVector<mlir::NamedAttribute> foreign;
        for (mlir::NamedAttribute attribute : llvm::cast<mlir::DictionaryAttr>(attributes)) {
          if (!attribute.getName().strref().starts_with("isthmus.")) foreign.push_back(attribute);
        }
        kept.push_back(builder.getDictionaryAttr(foreign));
      }
      return builder.getArrayAttr(kept);
    };
    if (auto all = function.getArgAttrsAttr()) function.setArgAttrsAttr(withoutOurs(all));
    if (auto all = function.getResAttrsAttr()) function.setResAttrsAttr(withoutOurs(all));
  });
  mlir::OpPrintingFlags flags;
  flags.printGenericOpForm();
  // Versions of MLIR differ in the bits of booleans in hexadecimal form.
  module->walk([&](mlir::Operation* op) {
    auto value = op->getAttrOfType<mlir::DenseElementsAttr>("value");
    if (value && !value.isSplat() && value.getElementType().isInteger(1)) {
      flags.printLargeElementsAttrWithHex(-1);
    }
  });
  std::string text;
  llvm::raw_string_ostream out(text);
  module->print(out, flags);
  return text;
}

}  // namespace isthmus::cpu

namespace isthmus {

Backend& linkedBackend() {
  static cpu::CpuBackend& backend = *new cpu::CpuBackend;
  return backend;
}

}  // namespace isthmus

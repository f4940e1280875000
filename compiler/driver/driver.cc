// The sequence of a compilation.
#include "compiler/driver/driver.h"

#include "base/digest.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/driver/reference_comparison.h"
#include "compiler/driver/reproducer.h"
#include "compiler/import/import.h"
#include "compiler/pipeline/context_pool.h"
#include "compiler/plan/op_error.h"
#include "compiler/program/program_info.h"
#include "isthmus/flags.h"
#include "isthmus/memory_reserve.h"
#include "isthmus/out_of_memory.h"
#include "isthmus/trace.h"
#include "llvm/Support/raw_ostream.h"

namespace isthmus {
namespace {

// Equal for equal programs, options and targets.
std::string fingerprintOf(const CompileRequest& request, const CodeGenerator& generator) {
  Digest digest;
  digest.add(generator.identity());
  digest.add(request.format).add(request.code).add(request.options.serialized);
  digest.add(flagInt("ISTHMUS_OPTIMIZATION")).add(flagInt("ISTHMUS_FOLD_BYTES"));
  digest.add(request.options.numReplicas).add(request.options.numPartitions);
  return digest.hex();
}

// How far to optimise: 0 to 2, from the program's own options or the environment.
Status setOptimization(PipelineOptions& pipeline) {
  constexpr const char* kName = "isthmus_optimization";
  const AttributeMap& overrides = pipeline.compile.overrides;
  int64_t level = flagInt("ISTHMUS_OPTIMIZATION");
  if (auto it = overrides.find(kName); it != overrides.end()) {
    const int64_t* number = std::get_if<int64_t>(&it->second);
    if (!number) return invalidArgument("compiler option ", kName, " is no integer");
    level = *number;
  }
  if (level < 0 || level > 2) {
    return invalidArgument("compiler option ", kName, " is ", level, ", expected 0, 1 or 2");
  }
  pipeline.simplify = level > 0;
  pipeline.fusion.merge = level > 1;
  return {};
}

StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> importTraced(const CompileRequest& request,
                                                         mlir::MLIRContext& context) {
  trace::Scope scope("stage", "import");
  return importProgram(request.code, request.format, context);
}

StatusOr<mlir::func::FuncOp> findMain(mlir::ModuleOp module) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  if (!main || main.isExternal()) return invalidArgument("the program has no function main");
  return main;
}

void collect(mlir::Block& block, bool isInLoop, std::vector<Computation>& out) {
  for (mlir::Operation& op : block) {
    OpRole role = roleOf(&op);
    if (role == OpRole::kCompute) out.push_back({&op, isInLoop});
    if (role != OpRole::kWhile && role != OpRole::kBranch) continue;
    for (mlir::Region& region : op.getRegions()) {
      if (region.hasOneBlock()) collect(region.front(), isInLoop || role == OpRole::kWhile, out);
    }
  }
}

PlanOptions planOptions(const ProgramInfo& info, const ProgramCodegen& codegen) {
  PlanOptions options;
  options.parameters = parameterUses(info);
  options.canShare = [&codegen](mlir::Operation* op, unsigned operand, unsigned result) {
    return codegen.canShare(op, operand, result);
  };
  options.prefersInPlace = [&codegen](mlir::Operation* op, unsigned operand, unsigned result) {
    return codegen.prefersInPlace(op, operand, result);
  };
  options.scratchBytes = [&codegen](mlir::Operation* op) { return codegen.scratchBytes(op); };
  // A device is slow with memory of the host.
  options.lendsResult = [&info](unsigned index) {
    return info.outputs[index].memoryKind == BufferSpec().memoryKind;
  };
  return options;
}

// A program whose code is selected, with its plan.
struct PlannedProgram {
  mlir::func::FuncOp main;
  ProgramInfo info;
  std::unique_ptr<ProgramCodegen> codegen;
  MemoryPlan plan;
};

StatusOr<MemoryPlan> makePlan(mlir::func::FuncOp main, const ProgramInfo& info,
                              const ProgramCodegen& codegen, const CodegenSettings& settings) {
  trace::Scope scope("stage", "plan");
  PlanOptions options = planOptions(info, codegen);
  ISTHMUS_ASSIGN_OR_RETURN(MemoryPlan plan, planMemory(main, options));
  if (settings.dump) settings.dump("plan.txt", plan.toString());
  ISTHMUS_RETURN_IF_ERROR(verifyPlan(plan, options));
  return plan;
}

StatusOr<PlannedProgram> planProgram(const CodeGenerator& generator, mlir::ModuleOp module,
                                     ProgramInfo info, const CodegenSettings& settings) {
  ISTHMUS_ASSIGN_OR_RETURN(mlir::func::FuncOp main, findMain(module));
  ISTHMUS_RETURN_IF_ERROR(describeProgram(main, info));
  if (info.options.deviceAssignment) info.deviceAssignment = *info.options.deviceAssignment;
  countCosts(main, info.costs);

  std::vector<Computation> computations;
  if (!main.getBody().hasOneBlock()) return unsupportedOp(main, "the program must have one block");
  collect(main.getBody().front(), false, computations);
  ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<ProgramCodegen> codegen, generator.begin(settings));
  {
    trace::Scope scope("stage", "select");
    ISTHMUS_RETURN_IF_ERROR(codegen->select(computations));
  }
  ISTHMUS_ASSIGN_OR_RETURN(MemoryPlan plan, makePlan(main, info, *codegen, settings));
  info.memory.tempBytes = plan.arenaBytes();
  return PlannedProgram{main, std::move(info), std::move(codegen), std::move(plan)};
}

// The dump outlives what the settings are for.
void setOverrides(const Dump& dump, CodegenSettings& settings) {
  if (!dump.overrides()) return;
  settings.readOverride = [&dump](std::string_view fileName) {
    return dump.readOverride(fileName);
  };
}

StatusOr<std::shared_ptr<const Executable>> compileModule(const CodeGenerator& generator,
                                                          const CompileRequest& request,
                                                          mlir::OwningOpRef<mlir::ModuleOp>& module,
                                                          const std::string& name, Dump& dump) {
  PipelineOptions pipeline;
  pipeline.compile = request.options;
  ISTHMUS_RETURN_IF_ERROR(setOptimization(pipeline));
  pipeline.dump = &dump;
  generator.configure(pipeline);
  ISTHMUS_RETURN_IF_ERROR(runPipeline(module, pipeline));

  ProgramInfo info;
  info.name = name;
  info.code = request.code;
  info.format = request.format;
  info.options = request.options;
  info.fingerprint = fingerprintOf(request, generator);
  CodegenSettings settings;
#ifndef NDEBUG
  settings.verify = true;
#endif
  if (dump.enabled()) {
    settings.verify = true;
    settings.dump = [&dump](std::string_view fileName, std::string_view text) {
      dump.write(fileName, text);
    };
  }
  setOverrides(dump, settings);
  return generateProgram(generator, *module, std::move(info), std::move(settings));
}

// The error that the caller gets: an internal one with the way to see it again. In a dump, every
// refusal has a reproducer.
Status explained(const Status& error, const CodeGenerator& generator, const CompileRequest& request,
                 Dump& dump) {
  constexpr const char* kFile = "reproducer.mlir";
  const bool isInternal = error.code() == StatusCode::kInternal;
  if (!dump.enabled())
    return isInternal ? withReproducer(request, generator.platform(), error) : error;
  StatusOr<std::string> text = reproducerText(request, generator.platform(), error);
  if (text.ok()) dump.write(kFile, *text);
  if (!isInternal || !text.ok()) return error;
  return Status(error.code(), error.messageWithPlace() + "; to see it again: " +
                                  replayCommand(dump.pathOf(kFile), generator.platform()));
}

StatusOr<std::shared_ptr<const Executable>> compileOnce(const CodeGenerator& generator,
                                                        const CompileRequest& request) {
  const std::string& dumpFolder = flagString("ISTHMUS_DUMP");
  ContextPool::Lease context = contextPool().take(request.code.size());
  StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> module = importTraced(request, *context);
  if (!module.ok()) {
    Dump dump(dumpFolder, "", "not-imported");
    dump.write("program", request.code);
    const bool isTold = module.status().code() != StatusCode::kInternal || dump.enabled();
    return isTold ? module.status()
                  : withReproducer(request, generator.platform(), module.status());
  }
  if (isOutOfMemory()) return outOfHostMemory();
  std::string name = (*module)->getName().value_or("main").str();
  trace::Scope scope("compile", name);
  Dump dump(dumpFolder, flagString("ISTHMUS_OVERRIDE"), name);
  StatusOr<std::shared_ptr<const Executable>> compiled =
      compileModule(generator, request, *module, name, dump);
  if (compiled.ok()) return compiled;
  return explained(compiled.status(), generator, request, dump);
}

}  // namespace

StatusOr<std::shared_ptr<const Executable>> generateProgram(const CodeGenerator& generator,
                                                            mlir::ModuleOp module, ProgramInfo info,
                                                            CodegenSettings settings) {
  ISTHMUS_ASSIGN_OR_RETURN(PlannedProgram program,
                           planProgram(generator, module, std::move(info), settings));
  if (isOutOfMemory()) return outOfHostMemory();
  return program.codegen->finish(program.main, program.plan, std::move(program.info));
}

StatusOr<std::string> textAfterStage(const CodeGenerator& generator,
                                     mlir::OwningOpRef<mlir::ModuleOp>& module,
                                     PipelineOptions options) {
  const std::string_view last = options.stopAfter;
  const Stage* stage = findStage(last);
  if (!stage) return invalidArgument("no stage is called ", last);
  ISTHMUS_RETURN_IF_ERROR(setOptimization(options));
  Dump dump(flagString("ISTHMUS_DUMP"), flagString("ISTHMUS_OVERRIDE"),
            module->getName().value_or("main").str());
  options.dump = &dump;
  const bool isImported = options.startAt.empty() && last == allStages().front().name;
  if (!isImported) ISTHMUS_RETURN_IF_ERROR(runPipeline(module, options));
  std::string text;
  llvm::raw_string_ostream out(text);
  if (isImported || stage->addPasses) {
    module->print(out);
    out << "\n";
    return text;
  }
  CodegenSettings settings;
  const std::string_view suffix = last == "generate" ? ".ll" : last == "compile" ? ".s" : "";
  if (!suffix.empty()) {
    settings.verify = true;
    settings.dump = [&](std::string_view name, std::string_view content) {
      if (!name.ends_with(suffix)) return;
      out << (last == "generate" ? "; " : "# ") << name << "\n" << content;
    };
  }
  setOverrides(dump, settings);
  ProgramInfo info;
  info.name = module->getName().value_or("main").str();
  info.options = options.compile;
  ISTHMUS_ASSIGN_OR_RETURN(PlannedProgram program,
                           planProgram(generator, *module, std::move(info), settings));
  if (last == "select") return program.codegen->kernelText();
  if (last == "plan") return program.plan.toString();
  StatusOr<std::shared_ptr<const Executable>> loaded =
      program.codegen->finish(program.main, program.plan, std::move(program.info));
  // Whoever asks for LLVM IR had better see it, if nothing can be made of it.
  if (!loaded.ok() && text.empty()) return loaded.status();
  if (last == "load") {
    out << "loaded " << (*loaded)->info().memory.generatedCodeBytes << " bytes of code\n";
  }
  return text;
}

StatusOr<std::shared_ptr<const Executable>> compileProgram(const CodeGenerator& generator,
                                                           const CompileRequest& request) {
  auto compile = [&generator](const CompileRequest& part) { return compileOnce(generator, part); };
  ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> compiled, compile(request));
  if (!flagBool("ISTHMUS_COMPARE")) return compiled;
  return compareWithReference(std::move(compiled), request, compile);
}

}  // namespace isthmus

// Generates the kernels, plans memory, emits the program function and compiles it all.
#include "backends/cpu/compile_program.h"

#include "backends/cpu/jit.h"
#include "backends/cpu/kernel_modules.h"
#include "backends/cpu/library_ops.h"
#include "backends/cpu/program_emitter.h"
#include "backends/cpu/program_info.h"
#include "compiler/dialect/dialect.h"
#include "compiler/plan/op_error.h"
#include "llvm/IR/Module.h"

namespace isthmus::cpu {
namespace {

StatusOr<mlir::func::FuncOp> findMain(mlir::ModuleOp module) {
  auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
  if (!main || main.isExternal()) return invalidArgument("the program has no function main");
  return main;
}

// The operations that compute, in program order, with whether they are in a loop.
struct Computation {
  mlir::Operation* op;
  bool isInLoop;
};

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

PlanOptions planOptions(const ProgramInfo& info, const ProgramCode& code) {
  PlanOptions options;
  options.parameters = parameterUses(info);
  options.canShare = [](mlir::Operation* op, unsigned operand, unsigned result) {
    if (auto fusion = llvm::dyn_cast<ir::FusionOp>(op)) {
      return canShareBuffer(fusion, operand, result);
    }
    return libraryCanShare(op, operand, result);
  };
  options.wantsShare = [](mlir::Operation* op, unsigned operand, unsigned result) {
    auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
    if (!fusion) return libraryCanShare(op, operand, result);
    ir::FusionKind kind = fusion.getKind();
    return (kind == ir::FusionKind::kUpdateSlice || kind == ir::FusionKind::kScatter) &&
           canShareBuffer(fusion, operand, result);
  };
  options.scratchBytes = [&code](mlir::Operation* op) {
    auto it = code.find(op);
    return it == code.end() ? 0 : it->second.scratchBytes;
  };
  return options;
}

}  // namespace

StatusOr<ProgramImage> compileProgram(mlir::ModuleOp module, const CompileSettings& settings) {
  ISTHMUS_ASSIGN_OR_RETURN(mlir::func::FuncOp main, findMain(module));
  ProgramImage image;
  ISTHMUS_ASSIGN_OR_RETURN(image.info, describeProgram(main));
  image.info.options = settings.options;
  image.info.fingerprint = settings.fingerprint;
  image.features = settings.target.features;
  if (settings.options.deviceAssignment) {
    image.info.deviceAssignment = *settings.options.deviceAssignment;
  }
  countCosts(main, image.info.costs);

  std::vector<Computation> computations;
  if (!main.getBody().hasOneBlock()) return unsupportedOp(main, "the program must have one block");
  collect(main.getBody().front(), false, computations);

  // The program function is in module 0, with the kernels that may become part of it.
  ISTHMUS_ASSIGN_OR_RETURN(KernelModules modules, KernelModules::make(settings.target));
  LibraryContext library{.target = settings.target, .module = modules.programModule()};
  ProgramCode code;
  std::vector<ir::FusionOp> fusions;
  for (const Computation& computation : computations) {
    if (auto fusion = llvm::dyn_cast<ir::FusionOp>(computation.op)) {
      fusions.push_back(fusion);
      modules.count(fusion, computation.isInLoop);
      continue;
    }
    ISTHMUS_ASSIGN_OR_RETURN(code[computation.op], makeLibraryCode(computation.op, library));
  }
  modules.divide(settings.threads);
  for (const Computation& computation : computations) {
    auto fusion = llvm::dyn_cast<ir::FusionOp>(computation.op);
    if (!fusion) continue;
    ISTHMUS_ASSIGN_OR_RETURN(code[computation.op], modules.emit(fusion, computation.isInLoop));
  }

  PlanOptions options = planOptions(image.info, code);
  ISTHMUS_ASSIGN_OR_RETURN(MemoryPlan plan, planMemory(main, options));
  if (settings.dump) settings.dump("plan.txt", plan.toString());
  if (settings.verify) ISTHMUS_RETURN_IF_ERROR(verifyPlan(plan, options));
  image.arenaBytes = plan.arenaBytes();
  image.info.memory.tempBytes = plan.arenaBytes();

  ConstantPool constants;
  StepTable steps;
  ISTHMUS_ASSIGN_OR_RETURN(
      ProgramEstimate estimate,
      emitProgram(main, plan, code, settings.target, modules.programModule(), constants, steps));
  image.steps = steps.take();
  image.estimatedNs = estimate.ns;
  image.mayBlock = library.mayBlock;
  image.callsUserCode = library.callsUserCode;
  image.calls = std::move(library.calls);
  image.constants = constants.bytes();

  trace::Scope scope("machine code");
  ISTHMUS_ASSIGN_OR_RETURN(image.objects,
                           modules.compile(settings, estimate.hasLoops || library.needsOptimizer));
  for (const std::string& object : image.objects) {
    image.info.memory.generatedCodeBytes += static_cast<int64_t>(object.size());
  }
  return image;
}

}  // namespace isthmus::cpu

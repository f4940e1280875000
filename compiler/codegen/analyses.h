// The analysis managers that LLVM's passes run with.
#pragma once

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"

namespace isthmus::codegen {

// All four, which know each other. For one module, on one thread; `machine`, which may be null,
// outlives it.
struct Analyses {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;

  explicit Analyses(llvm::TargetMachine* machine = nullptr) : builder(machine) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(graphs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, graphs, modules);
  }
};

// LLVM's own pipeline for a whole module.
inline void runDefaultPipeline(llvm::Module& module, llvm::TargetMachine& machine) {
  Analyses analyses(&machine);
  analyses.builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
      .run(module, analyses.modules);
}

}  // namespace isthmus::codegen

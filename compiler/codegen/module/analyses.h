// The analysis managers that LLVM's passes run with.
#pragma once

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"

namespace isthmus::codegen {

// All four, which know each other. For one module, on one thread; `machine`, which may be null,
// outlives it. `library` says which of the C library's functions passes may make calls of: by
// default those that the module's platform is known to have.
struct Analyses {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder;

  explicit Analyses(llvm::TargetMachine* machine = nullptr,
                    const llvm::TargetLibraryInfoImpl* library = nullptr)
      : builder(machine) {
    // The first to be registered counts.
    if (library) {
      functions.registerPass([library] { return llvm::TargetLibraryAnalysis(*library); });
    }
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(graphs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, graphs, modules);
  }
};

// LLVM's own pipeline for a whole module.
inline void runDefaultPipeline(llvm::Module& module, llvm::TargetMachine& machine,
                               const llvm::TargetLibraryInfoImpl* library = nullptr) {
  Analyses analyses(&machine, library);
  analyses.builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
      .run(module, analyses.modules);
}

}  // namespace isthmus::codegen

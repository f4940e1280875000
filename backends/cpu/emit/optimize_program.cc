// A short pipeline over isthmus_main: inlining, promotion to registers, invariants out of loops.
#include "backends/cpu/emit/optimize_program.h"

#include "backends/cpu/emit/runtime_library.h"
#include "backends/cpu/load/program_symbols.h"
#include "compiler/codegen/module/analyses.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/DeadStoreElimination.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

namespace isthmus::cpu {

void optimizeProgram(llvm::Module& module) {
  const llvm::TargetLibraryInfoImpl library = runtimeLibrary(module);
  codegen::Analyses analyses(/*machine=*/nullptr, &library);

  llvm::AlwaysInlinerPass(/*InsertLifetime=*/false).run(module, analyses.modules);
  analyses.modules.invalidate(module, llvm::PreservedAnalyses::none());
  analyses.functions.clear();

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::LoopPassManager loopPasses;
  loopPasses.addPass(llvm::LoopRotatePass());
  loopPasses.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(
      llvm::createFunctionToLoopPassAdaptor(std::move(loopPasses), /*UseMemorySSA=*/true));
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::DSEPass());
  for (llvm::Function& function : module) {
    bool isMarked =
        function.hasFnAttribute(kOptimizeAttribute) || function.getName() == kMainSymbol;
    if (isMarked && !function.isDeclaration()) passes.run(function, analyses.functions);
  }
}

}  // namespace isthmus::cpu

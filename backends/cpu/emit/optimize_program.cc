// A short pipeline over isthmus_main: inlining, promotion to registers, invariants out of loops.
#include "backends/cpu/emit/optimize_program.h"

#include "backends/cpu/emit/runtime_library.h"
#include "backends/cpu/load/program_symbols.h"
#include "compiler/codegen/module/analyses.h"
#include "compiler/codegen/module/unoptimized.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
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
namespace {

// Each loop that is rotated changes a tree of dominators that is as deep as there are loops behind
// it: of 3,000 they take 20 seconds.
constexpr size_t kMaxRotatedLoops = 500;
// Other passes, and instruction selection, take time by the square of the loops too, at 6,000 as
// much as that.
constexpr size_t kMaxOptimizedLoops = 3000;

// What is inlined into a function that nothing optimises is slower than the function that is
// called.
void callKernels(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) call->setIsNoInline();
  }
}

}  // namespace

void optimizeProgram(llvm::Module& module) {
  llvm::Function* program = module.getFunction(kMainSymbol);
  if (program && program->hasOptNone()) callKernels(*program);
  const llvm::TargetLibraryInfoImpl library = runtimeLibrary(module);
  codegen::Analyses analyses(/*machine=*/nullptr, &library);

  llvm::AlwaysInlinerPass(/*InsertLifetime=*/false).run(module, analyses.modules);
  analyses.modules.invalidate(module, llvm::PreservedAnalyses::none());
  analyses.functions.clear();

  llvm::FunctionPassManager scalars, loops;
  scalars.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  scalars.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  scalars.addPass(llvm::InstCombinePass());
  scalars.addPass(llvm::SimplifyCFGPass());
  llvm::LoopPassManager loopPasses;
  loopPasses.addPass(llvm::LoopRotatePass());
  loopPasses.addPass(llvm::LICMPass(llvm::LICMOptions()));
  loops.addPass(
      llvm::createFunctionToLoopPassAdaptor(std::move(loopPasses), /*UseMemorySSA=*/true));
  for (llvm::Function& function : module) {
    bool isMarked = function.hasFnAttribute(kOptimizeAttribute) || &function == program;
    if (!isMarked || function.isDeclaration() || function.hasOptNone()) continue;
    auto run = [&](auto&& pass) {
      analyses.functions.invalidate(function, pass.run(function, analyses.functions));
    };
    const size_t count =
        analyses.functions.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder().size();
    if (count > kMaxOptimizedLoops) {
      codegen::leaveUnoptimized(function);
      continue;
    }
    run(scalars);
    if (count <= kMaxRotatedLoops) run(loops);
    run(scalars);
    run(llvm::DSEPass());
  }
}

}  // namespace isthmus::cpu

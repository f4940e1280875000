#include "backends/opencl/codegen/loop_controls.h"

#include <algorithm>

#include "compiler/codegen/module/analyses.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsSPIRV.h"
#include "llvm/IR/Module.h"

namespace isthmus::opencl {
namespace {

// To memory, in all steps of a loop together.
constexpr int64_t kMaxAccesses = 64;

void forbidUnrolling(llvm::Loop& loop) {
  constexpr uint32_t kDontUnroll = 2;  // of SPIR-V's loop controls
  llvm::BasicBlock* header = loop.getHeader();
  llvm::BasicBlock* latch = loop.getLoopLatch();
  llvm::BasicBlock* exit = loop.getExitBlock();
  if (!latch || !exit) return;
  llvm::Function* kernel = header->getParent();
  llvm::IRBuilder<> b(header->getTerminator());
  b.CreateIntrinsic(llvm::Intrinsic::spv_loop_merge,
                    {llvm::BlockAddress::get(kernel, exit), llvm::BlockAddress::get(kernel, latch),
                     b.getInt32(kDontUnroll)});
}

// The accesses to memory in the code of `loop`, once the loops that may be are unrolled.
int64_t limitUnrolling(llvm::Loop& loop, llvm::LoopInfo& loops, llvm::ScalarEvolution& counts) {
  int64_t accesses = 0;
  for (llvm::BasicBlock* block : loop.blocks()) {
    if (loops.getLoopFor(block) != &loop) continue;
    accesses += llvm::count_if(*block, [](const llvm::Instruction& instruction) {
      return instruction.mayReadOrWriteMemory();
    });
  }
  for (llvm::Loop* inner : loop) accesses += limitUnrolling(*inner, loops, counts);
  const int64_t steps = std::max(1U, counts.getSmallConstantTripCount(&loop));
  if (accesses * steps <= kMaxAccesses) return accesses * steps;
  if (steps > 1) forbidUnrolling(loop);
  return accesses;
}

}  // namespace

void limitUnrolling(llvm::Module& module) {
  codegen::Analyses analyses;
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    auto& loops = analyses.functions.getResult<llvm::LoopAnalysis>(function);
    auto& counts = analyses.functions.getResult<llvm::ScalarEvolutionAnalysis>(function);
    for (llvm::Loop* loop : loops) limitUnrolling(*loop, loops, counts);
  }
}

}  // namespace isthmus::opencl

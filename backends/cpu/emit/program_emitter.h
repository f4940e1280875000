// The program function: one native function that runs the whole memory plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/program/constant_pool.h"
#include "compiler/codegen/kernel_emitter.h"
#include "compiler/plan/memory_plan.h"
#include "compiler/program/step_table.h"
#include "compiler/target/target_model.h"
#include "isthmus/status.h"
#include "llvm/ADT/DenseMap.h"

namespace llvm {
class Module;
}

namespace isthmus::cpu {

// How one operation is carried out: by generated kernels, or by one library function. Both take
// the addresses of the operands, then of the results (tokens left out), then of the scratch memory
// if there is any.
struct OperationCode {
  std::vector<KernelStage> stages;
  std::string libraryFunction;  // empty for kernels
  std::string descriptor;       // plain data for the library function
  // Functions in generated code whose addresses the library function finds after its buffers.
  std::vector<std::string> callbacks;
  int64_t scratchBytes = 0;
  double estimatedNs = 0;
  bool isInlined = false;  // all stages become part of the program function
};

using ProgramCode = llvm::DenseMap<mlir::Operation*, OperationCode>;

struct ProgramEstimate {
  double ns = 0;  // of one run on one thread; loops of unknown length count kGuessedTrips
  bool hasLoops = false;
  bool blocks = false;  // may wait for other devices or for user code
};

// Adds `isthmus_main` (abi.h) to `module`. `code` has an entry for every operation that computes.
// Constants that are too large for code go to `constants`, whose address the program finds after
// its parameters. Kernels are called where they cost little and otherwise split among threads.
// `steps` gets what a profile calls the parts of the program.
StatusOr<ProgramEstimate> emitProgram(mlir::func::FuncOp main, const MemoryPlan& plan,
                                      const ProgramCode& code, const TargetModel& target,
                                      llvm::Module& module, ConstantPool& constants,
                                      StepTable& steps);

}  // namespace isthmus::cpu

// What single steps of a program become on the CPU: calls of kernels and library functions, and
// moves. Of programs, and of loops that the host carries out for a device.
#pragma once

#include <cstdint>
#include <functional>

#include "compiler/codegen/kernel_emitter.h"
#include "compiler/plan/location.h"
#include "compiler/target/target_model.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/IRBuilder.h"

namespace isthmus::cpu {

class StepCalls {
 public:
  // Code goes where `builder` is, tables into the entry block, where `entry` is. `run` gives the
  // IsthmusRun of the function under construction. All outlive it.
  StepCalls(llvm::Module& module, llvm::IRBuilder<>& builder, llvm::IRBuilder<>& entry,
            const TargetModel& target, std::function<llvm::Value*()> run)
      : module_(module), builder_(builder), entry_(entry), target_(target), run_(std::move(run)) {}

  // Where the function returns that a call has failed. Before calls of library functions.
  void setFailed(llvm::BasicBlock* failed) { failed_ = failed; }

  // Constant bytes; equal ones are one array.
  llvm::GlobalVariable* data(llvm::StringRef bytes, llvm::StringRef name);
  // A table of addresses. Each call has one of its own, which the optimizer dissolves where the
  // callee is inlined and fills outside of loops elsewhere.
  llvm::Value* makeBuffers(llvm::ArrayRef<llvm::Value*> addresses);

  void callKernel(const KernelStage& stage, llvm::Value* buffers);
  void callLibrary(llvm::StringRef name, llvm::StringRef descriptor, llvm::Value* buffers);
  // Copies and swaps of a few bytes go through a register, copies of less than the target's
  // minParallelBytes are one instruction of LLVM, others are a library function's, which may share
  // them among threads.
  void move(const Move& move, llvm::Value* to, llvm::Value* from);

 private:
  llvm::Module& module_;
  llvm::IRBuilder<>& builder_;
  llvm::IRBuilder<>& entry_;
  const TargetModel& target_;
  std::function<llvm::Value*()> run_;
  llvm::BasicBlock* failed_ = nullptr;
  llvm::StringMap<llvm::GlobalVariable*> globals_;
};

}  // namespace isthmus::cpu

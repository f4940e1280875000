// What single steps of a program become on the CPU: calls of kernels and library functions, and
// moves. Of programs, and of loops that the host carries out for a device.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

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
  void setFailed(llvm::BasicBlock* failed) { frame_.failed = failed; }

  // What belongs to one function; `enter` is called where another one begins or goes on, and gives
  // what belongs to the one that is left.
  struct Frame {
    llvm::BasicBlock* failed = nullptr;
    llvm::AllocaInst* sharedTable = nullptr;
  };
  Frame enter(Frame frame) { return std::exchange(frame_, frame); }

  // Constant bytes; equal ones are one array.
  llvm::GlobalVariable* data(llvm::StringRef bytes, llvm::StringRef name);
  // A table of addresses. Each call has one of its own, which the optimizer dissolves where the
  // callee is inlined and fills outside of loops elsewhere.
  llvm::Value* makeBuffers(llvm::ArrayRef<llvm::Value*> addresses);
  // The same; `addressAt` emits what gives each, just before it is stored.
  llvm::Value* makeBuffers(size_t count, llvm::function_ref<llvm::Value*(size_t)> addressAt);
  // From here on all calls of the function use one table, each after the other: for functions that
  // are not optimised, whose stack would grow with their length.
  void shareTable();

  void callKernel(const KernelStage& stage, llvm::Value* buffers);
  void callLibrary(llvm::StringRef name, llvm::StringRef descriptor, llvm::Value* buffers);
  // Goes on if `result` is 0; otherwise the function has failed.
  void check(llvm::Value* result);
  // Goes on in a block of its own.
  void beginBlock();
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
  Frame frame_;
  llvm::StringMap<llvm::GlobalVariable*> globals_;
};

}  // namespace isthmus::cpu

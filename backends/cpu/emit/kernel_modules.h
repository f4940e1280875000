// The kernels of a program, spread over LLVM modules that are compiled side by side.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "backends/cpu/emit/jit.h"
#include "backends/cpu/emit/program_emitter.h"
#include "compiler/dialect/isthmus.h"
#include "compiler/driver/code_generator.h"
#include "isthmus/status.h"

namespace isthmus::cpu {

// Use: count every fusion, divide, emit every fusion, add the program function to programModule(),
// compile.
class KernelModules {
 public:
  static StatusOr<KernelModules> make(const TargetModel& target);

  llvm::Module& programModule() { return *modules_[0].module; }
  void count(ir::FusionOp fusion, bool isInLoop);
  // Decides how many modules to use besides the program's.
  void divide(int threads);
  // Generates the kernels of a fusion; equal fusions share theirs. Small kernels in loops become
  // part of the program function.
  StatusOr<OperationCode> emit(ir::FusionOp fusion, bool isInLoop);
  // What has been emitted so far, as LLVM IR to read.
  std::string text() const;
  // The object files, the program's first.
  StatusOr<std::vector<std::string>> compile(const CodegenSettings& settings, int threads,
                                             bool needsOptimizer);

 private:
  explicit KernelModules(const TargetModel& target) : target_(target) {}

  struct Emitted {
    ir::FusionOp fusion;
    bool isInProgram;
    OperationCode code;
  };

  const TargetModel& target_;
  std::vector<JitModule> modules_;
  std::unordered_multimap<size_t, Emitted> emitted_;  // by hash of the region
  int64_t outOfLineOperations_ = 0;  // in fusions that stay apart from the program function
  int64_t outOfLineFusions_ = 0;
  int64_t operationsDone_ = 0;
  int64_t number_ = 0;
};

}  // namespace isthmus::cpu

// Code for the CPU that this process runs on: one native function per program.
#pragma once

#include "compiler/driver/code_generator.h"
#include "compiler/target/target_model.h"

namespace isthmus::cpu {

class CpuCodeGenerator final : public CodeGenerator {
 public:
  // `threads` compile one program; 0: as many as the process computes with.
  CpuCodeGenerator(const TargetModel& target, int threads) : target_(target), threads_(threads) {}

  std::string identity() const override;
  std::string_view platform() const override { return "isthmus"; }
  void configure(PipelineOptions& options) const override;
  // The executables that it makes are CpuExecutables.
  StatusOr<std::unique_ptr<ProgramCodegen>> begin(CodegenSettings settings) const override;

 private:
  const TargetModel& target_;
  int threads_;
};

// Of this process, with all its threads.
const CpuCodeGenerator& hostCodeGenerator();

}  // namespace isthmus::cpu

// Code for OpenCL devices: kernels, and the steps that launch them.
#pragma once

#include "backends/opencl/driver/driver.h"
#include "compiler/driver/code_generator.h"
#include "compiler/target/target_model.h"

namespace isthmus::opencl {

class OpenclCodeGenerator final : public CodeGenerator {
 public:
  // For the devices of `driver`, which outlives the executables.
  explicit OpenclCodeGenerator(Driver& driver) : driver_(driver) {}

  // What kernels are emitted for.
  TargetModel target() const;

  std::string identity() const override;
  std::string_view platform() const override { return "xpu"; }
  void configure(PipelineOptions& options) const override;
  // The executables that it makes are OpenclExecutables.
  StatusOr<std::unique_ptr<ProgramCodegen>> begin(CodegenSettings settings) const override;

 private:
  Driver& driver_;
};

}  // namespace isthmus::opencl

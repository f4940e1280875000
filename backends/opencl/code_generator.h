// Code for OpenCL devices: kernels, and the steps that launch them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backends/opencl/driver/driver.h"
#include "backends/opencl/program.h"
#include "compiler/driver/code_generator.h"
#include "compiler/target/target_model.h"

namespace isthmus::opencl {

class OpenclCodeGenerator final : public CodeGenerator {
 public:
  using Load = std::function<StatusOr<std::shared_ptr<const Executable>>(ProgramImage)>;
  // For devices of which `facts` are true; `identity` is all else that code depends on, such as the
  // driver. Executables are what `load` makes.
  OpenclCodeGenerator(DeviceFacts facts, std::string identity, Load load)
      : facts_(std::move(facts)), identity_(std::move(identity)), load_(std::move(load)) {}
  // For the devices of `driver`, which outlives the executables: these are OpenclExecutables.
  explicit OpenclCodeGenerator(Driver& driver);

  // What kernels are emitted for.
  TargetModel target() const;

  std::string identity() const override;
  std::string_view platform() const override { return "xpu"; }
  void configure(PipelineOptions& options) const override;
  StatusOr<std::unique_ptr<ProgramCodegen>> begin(CodegenSettings settings) const override;

 private:
  DeviceFacts facts_;
  std::string identity_;
  Load load_;
};

}  // namespace isthmus::opencl

// Code for NVIDIA GPUs: what the compile driver asks of a backend.
#pragma once

#include <functional>
#include <string>

#include "backends/cuda/executable/program.h"
#include "compiler/driver/code_generator.h"

namespace isthmus::cuda {

// What code is made for; no device need be there.
struct CompileTarget {
  int capability = 80;    // as ptxCapability has it
  std::string device;     // "NVIDIA H200, driver 570.86": part of fingerprints
  std::string libdevice;  // as compileToPtx takes it
  // Whether a library multiplies these when the program runs; empty: there is none.
  std::function<bool(const BlasProduct&)> hasProduct = {};
  int64_t productScratchBytes = 0;  // that each multiplication is given
  // What a library wants of scratch memory for such a convolution, or such an attention, when the
  // program runs, or why it does not compute it; empty: there is none.
  std::function<StatusOr<int64_t>(const DnnConvolution&)> convolutionScratch = {};
  std::function<StatusOr<int64_t>(const DnnAttention&)> attentionScratch = {};
  bool allowsTf32 = false;  // in products of f32 that ask for no more precision

  // What a compiled program needs of the machine that it runs on: PTX runs with any driver.
  std::string identity() const;
};

class CudaCodeGenerator final : public CodeGenerator {
 public:
  using Loader = std::function<StatusOr<std::shared_ptr<const Executable>>(ProgramImage image)>;

  // `loader` makes an executable of a finished program.
  CudaCodeGenerator(CompileTarget target, Loader loader)
      : target_(std::move(target)), loader_(std::move(loader)) {}

  std::string identity() const override;
  std::string_view platform() const override { return "cuda"; }
  void configure(PipelineOptions& options) const override;
  StatusOr<std::unique_ptr<ProgramCodegen>> begin(CodegenSettings settings) const override;

 private:
  CompileTarget target_;
  Loader loader_;
};

}  // namespace isthmus::cuda

// From a fused program to PTX and the steps that launch it.
#include "backends/cuda/code_generator.h"

#include "backends/cuda/kernels/conv_dnn.h"
#include "backends/cuda/kernels/tensor_dot.h"
#include "backends/shared/serialization/sealed_bytes.h"
#include "backends/shared/staging/staged_codegen.h"
#include "compiler/dialect/source_location.h"
#include "compiler/target/nvidia.h"
#include "isthmus/flags.h"
#include "isthmus/log.h"
#include "isthmus/trace.h"

namespace isthmus::cuda {
namespace {

class CudaCodegen final : public StagedCodegen {
 public:
  CudaCodegen(const CompileTarget& target, CudaCodeGenerator::Loader loader,
              CodegenSettings settings)
      : StagedCodegen(std::move(settings), kernelForm(target.capability)),
        target_(target),
        loader_(std::move(loader)) {}

  Status begin() {
    ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<llvm::Module> module,
                             makeModule("kernels", context(), target_.capability));
    return StagedCodegen::begin("cuda", std::move(module));
  }

 protected:
  StatusOr<OtherCode> selectOther(mlir::Operation* op) override {
    OtherCode code;
    if (std::optional<LibraryWork> work = libraryWorkOf(op)) {
      code.libraryCall = static_cast<int>(calls_.size());
      code.libraryScratchBytes = work->scratchBytes;
      calls_.push_back(*std::move(work));
      return code;
    }
    if (std::optional<TensorDot> tensor = tensorDotOf(op)) {
      code.kernels =
          kernels().add(op, emitTensorDot(*tensor, module(), form(), nvvmTensorOps(),
                                          nvidiaUnits(target_.capability), kernels().nextSymbol()));
      return code;
    }
    return kernelOrHost(op);
  }
  StatusOr<std::shared_ptr<const Executable>> load(DeviceProgram program) override;

 private:
  Status writeKernels(ProgramImage& image);
  std::optional<LibraryWork> libraryWorkOf(mlir::Operation* op) const;

  CompileTarget target_;
  CudaCodeGenerator::Loader loader_;
  std::vector<LibraryWork> calls_;
};

// As cuBLASLt multiplies it when the program runs, if it does.
std::optional<BlasProduct> libraryProductOf(const CompileTarget& target, mlir::Operation* op) {
  if (!target.hasProduct) return std::nullopt;
  std::optional<BlasProduct> product = blasProductOf(op, target.allowsTf32);
  return product && target.hasProduct(*product) ? product : std::nullopt;
}

std::optional<LibraryWork> CudaCodegen::libraryWorkOf(mlir::Operation* op) const {
  std::string position = sourcePosition(op->getLoc());
  LibraryWork work;
  work.description =
      op->getName().getStringRef().str() + (position.empty() ? "" : " at " + position);
  if (std::optional<BlasProduct> product = libraryProductOf(target_, op)) {
    work.what = *product;
    work.scratchBytes = target_.productScratchBytes;
    return work;
  }
  auto convolution = llvm::dyn_cast<shlo::ConvolutionOp>(op);
  if (!convolution || !target_.convolutionScratch) return std::nullopt;
  std::optional<DnnConvolution> described = dnnConvolutionOf(convolution, target_.allowsTf32);
  if (!described) return std::nullopt;
  StatusOr<int64_t> scratch = target_.convolutionScratch(*described);
  if (!scratch.ok()) return std::nullopt;
  work.what = *std::move(described);
  work.scratchBytes = *scratch;
  return work;
}

Status CudaCodegen::writeKernels(ProgramImage& image) {
  dumpKernels();
  for (const codegen::KernelInfo& kernel : image.kernels) {
    ISTHMUS_ASSIGN_OR_RETURN(LaunchShape shape, launchShape(kernel));
    image.shapes.push_back(shape);
  }
  if (image.kernels.empty()) return {};
  ISTHMUS_ASSIGN_OR_RETURN(
      image.ptx, compileToPtx(module(), target_.capability, image.kernels, target_.libdevice));
  dump("kernels.ptx", image.ptx);
  return {};
}

StatusOr<std::shared_ptr<const Executable>> CudaCodegen::load(DeviceProgram program) {
  ProgramImage image;
  ISTHMUS_RETURN_IF_ERROR(finishImage(std::move(program), image));
  image.capability = target_.capability;
  image.calls = std::move(calls_);
  {
    trace::Scope scope("stage", "compile");
    ISTHMUS_RETURN_IF_ERROR(writeKernels(image));
  }
  image.info.memory.generatedCodeBytes =
      static_cast<int64_t>(image.ptx.size() + image.constants.size());
  trace::Scope scope("stage", "load");
  return loader_(std::move(image));
}

}  // namespace

std::string CompileTarget::identity() const {
  return "compute capability " + std::to_string(capability / 10) + "." +
         std::to_string(capability % 10) + (hasProduct ? ", cuBLASLt" : "") +
         (convolutionScratch ? ", cuDNN" : "");
}

std::string CudaCodeGenerator::identity() const {
  return buildId() + "\n" + target_.device + "\n" + target_.identity() +
         (target_.allowsTf32 ? "\nTF32" : "") +
         (target_.convolutionScratch ? "\n" + flagString("ISTHMUS_CUDA_DNN_BYTES") : "");
}

void CudaCodeGenerator::configure(PipelineOptions& options) const {
  options.fusion.transposes = false;
  options.epilogues = false;
  options.fusion.target = nvidiaTarget(target_.capability);
  // Without cuDNN there is nothing to rewrite, but perhaps somebody who asks why it is not used.
  if (!target_.convolutionScratch && !logsCompilation()) return;
  options.rewrite = [target = target_](mlir::ModuleOp module) {
    arrangeConvolutions(
        module, target.allowsTf32,
        [&](const DnnConvolution& convolution) {
          return target.convolutionScratch ? target.convolutionScratch(convolution).status()
                                           : unimplemented("it is not loaded");
        },
        [&](shlo::ConvolutionOp op) { return libraryProductOf(target, op).has_value(); });
  };
}

StatusOr<std::unique_ptr<ProgramCodegen>> CudaCodeGenerator::begin(CodegenSettings settings) const {
  auto codegen = std::make_unique<CudaCodegen>(target_, loader_, std::move(settings));
  ISTHMUS_RETURN_IF_ERROR(codegen->begin());
  return std::unique_ptr<ProgramCodegen>(std::move(codegen));
}

}  // namespace isthmus::cuda

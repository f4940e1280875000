// From a fused program to PTX and the steps that launch it.
#include "backends/cuda/code_generator.h"

#include "backends/cpu/load/serialization.h"
#include "backends/cuda/kernels/tensor_dot.h"
#include "compiler/driver/device_codegen.h"
#include "compiler/target/nvidia.h"
#include "isthmus/trace.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/raw_ostream.h"

namespace isthmus::cuda {
namespace {

class CudaCodegen final : public DeviceCodegen {
 public:
  CudaCodegen(const CompileTarget& target, CudaCodeGenerator::Loader loader,
              CodegenSettings settings)
      : target_(target),
        loader_(std::move(loader)),
        settings_(std::move(settings)),
        form_(kernelForm(target.capability)) {}

  Status begin() {
    ISTHMUS_ASSIGN_OR_RETURN(module_, makeModule("kernels", context_, target_.capability));
    ISTHMUS_ASSIGN_OR_RETURN(host_, cpu::HostFunctionTable::create("cuda"));
    kernels_.emplace(*module_, form_);
    return {};
  }

 protected:
  StatusOr<OtherCode> selectOther(mlir::Operation* op) override {
    OtherCode code;
    std::optional<BlasProduct> product = blasProductOf(op, target_.allowsTf32);
    if (product && target_.hasProduct && target_.hasProduct(*product)) {
      code.libraryCall = static_cast<int>(products_.size());
      code.libraryScratchBytes = target_.productScratchBytes;
      products_.push_back(*product);
      return code;
    }
    if (std::optional<TensorDot> tensor = tensorDotOf(op)) {
      code.kernels =
          kernels_->add(op, emitTensorDot(*tensor, *module_, form_, nvvmTensorOps(),
                                          nvidiaUnits(target_.capability), kernels_->nextSymbol()));
      return code;
    }
    ISTHMUS_ASSIGN_OR_RETURN(code.kernels, kernels_->add(op));
    if (!code.kernels) {
      ISTHMUS_ASSIGN_OR_RETURN(code.hostFunction, host_->add(op));
    }
    return code;
  }
  StatusOr<int> addHostFunction(mlir::Operation* op) override { return host_->add(op); }
  codegen::KernelModule& kernels() override { return *kernels_; }
  StatusOr<std::shared_ptr<const Executable>> load(DeviceProgram program) override;

 private:
  Status writeKernels(ProgramImage& image);

  CompileTarget target_;
  CudaCodeGenerator::Loader loader_;
  CodegenSettings settings_;
  codegen::WorkItemForm form_;
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  std::optional<codegen::KernelModule> kernels_;
  std::unique_ptr<cpu::HostFunctionTable> host_;
  std::vector<BlasProduct> products_;
};

Status CudaCodegen::writeKernels(ProgramImage& image) {
  if (settings_.dump) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module_->print(stream, nullptr);
    settings_.dump("kernels.ll", text);
  }
  for (const codegen::KernelInfo& kernel : image.kernels) {
    ISTHMUS_ASSIGN_OR_RETURN(LaunchShape shape, launchShape(kernel));
    image.shapes.push_back(shape);
  }
  if (image.kernels.empty()) return {};
  ISTHMUS_ASSIGN_OR_RETURN(
      image.ptx, compileToPtx(*module_, target_.capability, image.kernels, target_.libdevice));
  if (settings_.dump) settings_.dump("kernels.ptx", image.ptx);
  return {};
}

StatusOr<std::shared_ptr<const Executable>> CudaCodegen::load(DeviceProgram program) {
  ProgramImage image;
  static_cast<DeviceProgram&>(image) = std::move(program);
  image.capability = target_.capability;
  image.products = std::move(products_);
  ISTHMUS_ASSIGN_OR_RETURN(image.host, host_->finish());
  {
    trace::Scope scope("ptx");
    ISTHMUS_RETURN_IF_ERROR(writeKernels(image));
  }
  image.info.memory.generatedCodeBytes =
      static_cast<int64_t>(image.ptx.size() + image.constants.size());
  trace::Scope scope("load");
  return loader_(std::move(image));
}

}  // namespace

std::string CompileTarget::identity() const {
  return "compute capability " + std::to_string(capability / 10) + "." +
         std::to_string(capability % 10) + (hasProduct ? ", cuBLASLt" : "");
}

std::string CudaCodeGenerator::identity() const {
  return cpu::buildId() + "\n" + target_.device + "\n" + target_.identity() +
         (target_.allowsTf32 ? "\nTF32" : "");
}

void CudaCodeGenerator::configure(PipelineOptions& options) const {
  options.fusion.transposes = false;
  options.epilogues = false;
  options.fusion.target = nvidiaTarget(target_.capability);
}

StatusOr<std::unique_ptr<ProgramCodegen>> CudaCodeGenerator::begin(CodegenSettings settings) const {
  auto codegen = std::make_unique<CudaCodegen>(target_, loader_, std::move(settings));
  ISTHMUS_RETURN_IF_ERROR(codegen->begin());
  return std::unique_ptr<ProgramCodegen>(std::move(codegen));
}

}  // namespace isthmus::cuda

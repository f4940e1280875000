// From a fused program to PTX and the steps that launch it.
#include "backends/cuda/code_generator.h"

#include <cctype>

#include "backends/cuda/kernels/blas_epilogue.h"
#include "backends/cuda/kernels/conv_dnn.h"
#include "backends/cuda/kernels/dnn_epilogue.h"
#include "backends/cuda/kernels/dnn_softmax.h"
#include "backends/cuda/kernels/integer_dot.h"
#include "backends/cuda/kernels/tensor_dot.h"
#include "backends/cuda/target/nvidia.h"
#include "backends/shared/serialization/sealed_bytes.h"
#include "backends/shared/staging/device_target.h"
#include "backends/shared/staging/staged_codegen.h"
#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/schedule/attention/attention.h"
#include "compiler/schedule/choose_schedule.h"
#include "compiler/schedule/dot_scheduler.h"
#include "compiler/schedule/products/product_scheduler.h"
#include "isthmus/flags.h"
#include "isthmus/log.h"
#include "isthmus/trace.h"

namespace isthmus::cuda {
namespace {

// As cuBLASLt multiplies it when the program runs, if it does.
std::optional<BlasProduct> libraryProductOf(const CompileTarget& target, mlir::Operation* op) {
  if (!target.hasProduct) return std::nullopt;
  std::optional<BlasProduct> product = blasProductOf(op, target.allowsTf32);
  return product && target.hasProduct(*product) ? product : std::nullopt;
}

// "stablehlo.dot_general with bias at model.py:7".
std::string describe(mlir::Operation* op, const std::string& epilogue = "") {
  std::string position = sourcePosition(op->getLoc());
  return op->getName().getStringRef().str() + (epilogue.empty() ? "" : " with " + epilogue) +
         (position.empty() ? "" : " at " + position);
}

// What a library computes, if one does.
std::optional<LibraryWork> libraryWorkOf(const CompileTarget& target, mlir::Operation* op) {
  LibraryWork work;
  work.description = describe(op);
  if (std::optional<BlasProduct> product = libraryProductOf(target, op)) {
    work.what = *product;
    work.scratchBytes = target.productScratchBytes;
    return work;
  }
  auto convolution = llvm::dyn_cast<shlo::ConvolutionOp>(op);
  if (!convolution || !target.convolutionScratch) return std::nullopt;
  std::optional<DnnConvolution> described = dnnConvolutionOf(convolution, target.allowsTf32);
  if (!described) return std::nullopt;
  StatusOr<int64_t> scratch = target.convolutionScratch(*described);
  if (!scratch.ok()) return std::nullopt;
  work.what = *std::move(described);
  work.scratchBytes = *scratch;
  return work;
}

// A product or a convolution with an epilogue, or an attention, if a library computes this one so
// when the program runs, and which operands of the fusion are its buffers.
struct LibraryFusion {
  LibraryWork work;
  llvm::SmallVector<unsigned, 3> operands;
  const char* library;
};

std::optional<LibraryFusion> libraryAttentionOf(const CompileTarget& target, ir::FusionOp fusion) {
  if (!target.attentionScratch) return std::nullopt;
  const char* why = nullptr;
  std::optional<DnnAttentionFusion> found = dnnAttentionOf(fusion, &why);
  Status status = found ? Status() : unimplemented(why);
  StatusOr<int64_t> scratch = found ? target.attentionScratch(found->attention) : status;
  std::string position = sourcePosition(fusion.getLoc());
  std::string text = "attention" + (position.empty() ? "" : " at " + position);
  if (!scratch.ok()) {
    if (logsCompilation()) {
      logCompilation(text + " is not cuDNN's: " + std::string(scratch.status().message()));
    }
    return std::nullopt;
  }
  llvm::SmallVector<unsigned, 3> operands(found->operands.begin(), found->operands.end());
  return LibraryFusion{
      {std::move(found->attention), *scratch, std::move(text)}, std::move(operands), "cuDNN"};
}

std::optional<LibraryFusion> libraryFusionOf(const CompileTarget& target, ir::FusionOp fusion) {
  if (attentionOf(fusion)) return libraryAttentionOf(target, fusion);
  if (target.hasProduct) {
    std::optional<BlasFusion> found = blasFusionOf(fusion, target.allowsTf32);
    if (found && target.hasProduct(found->product)) {
      return LibraryFusion{{found->product, target.productScratchBytes,
                            describe(productOf(fusion), nameOf(found->product.epilogue))},
                           std::move(found->operands),
                           "cuBLASLt"};
    }
  }
  if (!target.convolutionScratch) return std::nullopt;
  std::optional<DnnFusion> found = dnnFusionOf(fusion, target.allowsTf32);
  if (!found) return std::nullopt;
  StatusOr<int64_t> scratch = target.convolutionScratch(found->convolution);
  if (!scratch.ok()) return std::nullopt;
  std::string text = describe(productOf(fusion), found->convolution.epilogue.toString());
  return LibraryFusion{{std::move(found->convolution), *scratch, std::move(text)},
                       std::move(found->operands),
                       "cuDNN"};
}

constexpr const char* kPtxFile = "kernels.ptx";

// How a kernel is declared in PTX: its name and parameters, without spaces; empty if it is not
// there.
std::string declarationOf(const std::string& ptx, const std::string& kernel) {
  for (size_t at = 0; (at = ptx.find(".entry", at)) != std::string::npos;) {
    const size_t end = ptx.find(')', at);
    if (end == std::string::npos) break;
    std::string text;
    for (; at <= end; ++at) {
      if (!std::isspace(static_cast<unsigned char>(ptx[at]))) text += ptx[at];
    }
    if (llvm::StringRef(text).starts_with(".entry" + kernel + "(")) return text;
  }
  return "";
}

// Why edited PTX cannot stand for what was generated; empty if it can, as far as is known before
// the driver assembles it.
std::string misfitOf(const std::string& edited, const std::string& generated,
                     llvm::ArrayRef<codegen::KernelInfo> kernels) {
  for (const codegen::KernelInfo& kernel : kernels) {
    const std::string declaration = declarationOf(edited, kernel.name);
    if (declaration.empty()) return "it lacks the kernel " + kernel.name;
    if (declaration != declarationOf(generated, kernel.name)) {
      return "its kernel " + kernel.name + " has other parameters";
    }
  }
  return "";
}

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
    ISTHMUS_RETURN_IF_ERROR(
        StagedCodegen::begin(&linkedHostFunctions(), "cuda", std::move(module)));
    kernels().setEmitOther([this](mlir::Operation* op, const codegen::ProductTask& task) {
      return emitTensorDot(op, task, this->module(), form(), nvvmTensorOps(),
                           kernels().nextSymbol());
    });
    return {};
  }

 protected:
  StatusOr<OtherCode> selectOther(mlir::Operation* op) override {
    if (!isOfLibrary(op)) return kernelOrHost(op);
    std::optional<LibraryWork> work = libraryWorkOf(target_, op);
    if (!work) return invalidArgument("no library computes a product that is to be one's");
    return callOf(*std::move(work));
  }
  StatusOr<std::optional<OtherCode>> selectFusion(ir::FusionOp fusion) override;
  StatusOr<std::shared_ptr<const Executable>> load(DeviceProgram program) override;

 private:
  Status writeKernels(ProgramImage& image);
  OtherCode callOf(LibraryWork work) {
    OtherCode code;
    code.libraryCall = static_cast<int>(calls_.size());
    code.libraryScratchBytes = work.scratchBytes;
    calls_.push_back(std::move(work));
    return code;
  }
  // As its schedule says.
  bool isOfLibrary(mlir::Operation* op) const {
    if (!isContraction(op)) return false;
    StatusOr<DotStage> stage = productScheduleOf(op, form().target);
    return stage.ok() && stage->product.form == ProductForm::kLibrary;
  }

  CompileTarget target_;
  CudaCodeGenerator::Loader loader_;
  std::vector<LibraryWork> calls_;
  bool isPtxEdited_ = false;
};

StatusOr<std::optional<DeviceCodegen::OtherCode>> CudaCodegen::selectFusion(ir::FusionOp fusion) {
  if (!isProductWithEpilogue(fusion) && !attentionOf(fusion)) return std::optional<OtherCode>();
  ISTHMUS_ASSIGN_OR_RETURN(KernelSchedule schedule, scheduleOf(fusion, form().target));
  const auto* dot = schedule.only<DotStage>();
  const auto* attention = schedule.only<AttentionStage>();
  const bool isOfLibrary =
      (dot && dot->product.form == ProductForm::kLibrary) || (attention && attention->isOfLibrary);
  if (!isOfLibrary) return std::optional<OtherCode>();
  std::optional<LibraryFusion> found = libraryFusionOf(target_, fusion);
  if (!found) return invalidArgument("no library computes a fusion that is to be one's");
  if (logsCompilation()) {
    logCompilation(found->work.description + " is " + found->library + "'s");
  }
  OtherCode code = callOf(std::move(found->work));
  code.libraryOperands = std::move(found->operands);
  return std::optional<OtherCode>(std::move(code));
}

Status CudaCodegen::writeKernels(ProgramImage& image) {
  ISTHMUS_RETURN_IF_ERROR(dumpAndOverrideKernels());
  for (const codegen::KernelInfo& kernel : image.kernels) {
    ISTHMUS_ASSIGN_OR_RETURN(LaunchShape shape, launchShape(kernel));
    image.shapes.push_back(shape);
  }
  if (image.kernels.empty()) return {};
  ISTHMUS_ASSIGN_OR_RETURN(
      image.ptx, compileToPtx(module(), target_.capability, image.kernels, target_.libdevice));
  dump(kPtxFile, image.ptx);
  if (std::optional<std::string> edited = readOverride(kPtxFile)) {
    if (std::string why = misfitOf(*edited, image.ptx, image.kernels); !why.empty()) {
      return invalidArgument("override ", kPtxFile, ": ", why);
    }
    image.ptx = *std::move(edited);
    isPtxEdited_ = true;
  }
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
  StatusOr<std::shared_ptr<const Executable>> loaded = loader_(std::move(image));
  if (loaded.ok() || !isPtxEdited_) return loaded;
  return loaded.status().withContext("override " + std::string(kPtxFile));
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
  configureStages(nvidiaTarget(target_.capability), options);
  // The kernel's products are multiply-adds of threads, which TF32 on tensor cores is faster than.
  options.attention = !(target_.hasProduct && target_.allowsTf32);
  options.isOfLibrary = [target = target_](mlir::Operation* op) {
    auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
    if (fusion) return libraryFusionOf(target, fusion).has_value();
    return isContraction(op) && libraryWorkOf(target, op).has_value();
  };
  options.rewrite = [target = target_](mlir::ModuleOp module) {
    arrangeIntegerProducts(module, [&](shlo::DotGeneralOp product) {
      return libraryProductOf(target, product).has_value();
    });
    // Without cuDNN there is nothing to rewrite, but perhaps somebody who asks why it is not used.
    if (!target.convolutionScratch && !logsCompilation()) return;
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

#include "backends/opencl/kernel_module.h"

#include "backends/opencl/codegen/opencl_c.h"
#include "backends/opencl/codegen/spirv.h"
#include "backends/opencl/kernels/dot.h"
#include "compiler/codegen/simt/work_item_kernel.h"
#include "compiler/dialect/source_location.h"
#include "llvm/Support/raw_ostream.h"

namespace isthmus::opencl {
namespace {

// The last operation that says where it is from, with the number of the others.
std::string describeFusion(ir::FusionOp fusion) {
  std::string text;
  int64_t others = -1;
  for (mlir::Operation& op : fusion.getBody().front().without_terminator()) {
    ++others;
    std::string position = sourcePosition(op.getLoc());
    if (!position.empty() || text.empty()) {
      text = op.getName().getStringRef().str() + (position.empty() ? "" : " at " + position);
    }
  }
  if (others > 0) text += " and " + std::to_string(others) + " more";
  return text;
}

}  // namespace

StatusOr<std::unique_ptr<KernelModule>> KernelModule::create(bool takesSpirv) {
  std::unique_ptr<KernelModule> result(new KernelModule(takesSpirv));
  ISTHMUS_ASSIGN_OR_RETURN(result->module_, makeModule("kernels", result->context_));
  return result;
}

StatusOr<KernelModule::Code> KernelModule::add(ir::FusionOp fusion) {
  std::string symbol = "kernel" + std::to_string(kernels_.size());
  ISTHMUS_ASSIGN_OR_RETURN(Kernel kernel, emitKernel(fusion, kernelTarget(), *module_, symbol));
  auto buffers = static_cast<unsigned>(fusion->getNumOperands() + fusion->getNumResults());
  Code code;
  for (const KernelStage& stage : kernel.stages) {
    if (stage.groupThreads != 1) {
      return unimplemented("kernels whose tiles are shared by a group of work-items");
    }
    // "kernel3.1" is no name in C.
    std::string name = stage.symbol;
    std::replace(name.begin(), name.end(), '.', '_');
    module_->getFunction(stage.symbol)->setName(name);
    ISTHMUS_RETURN_IF_ERROR(
        codegen::makeWorkItemKernel(*module_, name, buffers, stage.tiles, kernelForm()));
    code.stages.push_back({static_cast<int>(kernels_.size()), stage.copiesFrom, stage.copiesTo});
    kernels_.push_back({name, {stage.tiles, 1, 1}, describeFusion(fusion)});
  }
  return code;
}

StatusOr<std::optional<KernelModule::Code>> KernelModule::add(mlir::Operation* op) {
  std::string symbol = "kernel" + std::to_string(kernels_.size());
  OpKernels emitted;
  if (auto dot = llvm::dyn_cast<shlo::DotGeneralOp>(op)) {
    ISTHMUS_ASSIGN_OR_RETURN(emitted, emitDot(dot, *module_, symbol));
  } else if (auto convolution = llvm::dyn_cast<shlo::ConvolutionOp>(op)) {
    ISTHMUS_ASSIGN_OR_RETURN(emitted, emitConvolution(convolution, *module_, symbol));
  } else {
    return std::optional<Code>();
  }
  Code code;
  code.scratchBytes = emitted.scratchBytes;
  std::string position = sourcePosition(op->getLoc());
  std::string description =
      op->getName().getStringRef().str() + (position.empty() ? "" : " at " + position);
  for (const OpKernel& stage : emitted.stages) {
    code.stages.push_back({static_cast<int>(kernels_.size()), -1, -1});
    kernels_.push_back({stage.name, stage.items, description});
  }
  return std::optional<Code>(std::move(code));
}

Status KernelModule::finish(
    ProgramImage& image,
    const std::function<void(std::string_view name, std::string_view text)>& dump) {
  if (dump) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module_->print(stream, nullptr);
    dump("kernels.ll", text);
  }
  image.kernels = std::move(kernels_);
  if (image.kernels.empty()) return {};
  callBuiltins(*module_);
  if (takesSpirv_) {
    ISTHMUS_ASSIGN_OR_RETURN(image.spirv, compileToSpirv(*module_));
    if (dump) dump("kernels.spv", image.spirv);
  } else {
    ISTHMUS_ASSIGN_OR_RETURN(image.source, writeOpenclC(*module_));
    if (dump) dump("kernels.cl", image.source);
  }
  return {};
}

}  // namespace isthmus::opencl

#include "compiler/codegen/simt/kernel_module.h"

#include <algorithm>

#include "compiler/dialect/source_location.h"

namespace isthmus::codegen {
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

StatusOr<KernelModule::Code> KernelModule::add(ir::FusionOp fusion) {
  std::string symbol = nextSymbol();
  ISTHMUS_ASSIGN_OR_RETURN(Kernel kernel, emitKernel(fusion, form_.target, module_, symbol));
  auto buffers = static_cast<unsigned>(fusion->getNumOperands() + fusion->getNumResults());
  Code code;
  for (const KernelStage& stage : kernel.stages) {
    // "kernel3.1" is no name in C.
    std::string name = stage.symbol;
    std::replace(name.begin(), name.end(), '.', '_');
    module_.getFunction(stage.symbol)->setName(name);
    ISTHMUS_RETURN_IF_ERROR(
        makeWorkItemKernel(module_, name, buffers, stage.tiles, form_, stage.groupThreads));
    code.stages.push_back({static_cast<int>(kernels_.size()), stage.copiesFrom, stage.copiesTo});
    kernels_.push_back({name,
                        {stage.tiles, 1, 1},
                        stage.groupThreads,
                        form_.target.device == DeviceKind::kCpu,
                        describeFusion(fusion)});
  }
  return code;
}

KernelModule::Code KernelModule::add(mlir::Operation* op, const OpKernels& kernels) {
  Code code;
  code.scratchBytes = kernels.scratchBytes;
  std::string position = sourcePosition(op->getLoc());
  std::string description =
      op->getName().getStringRef().str() + (position.empty() ? "" : " at " + position);
  for (const OpKernel& stage : kernels.stages) {
    code.stages.push_back({static_cast<int>(kernels_.size()), -1, -1});
    kernels_.push_back({stage.name, stage.items, stage.groupThreads, stage.isVector, description});
  }
  return code;
}

StatusOr<std::optional<KernelModule::Code>> KernelModule::add(mlir::Operation* op) {
  OpKernels emitted;
  if (auto dot = llvm::dyn_cast<shlo::DotGeneralOp>(op)) {
    ISTHMUS_ASSIGN_OR_RETURN(emitted, emitDot(dot, module_, form_, nextSymbol()));
  } else if (auto convolution = llvm::dyn_cast<shlo::ConvolutionOp>(op)) {
    ISTHMUS_ASSIGN_OR_RETURN(emitted, emitConvolution(convolution, module_, form_, nextSymbol()));
  } else {
    return std::optional<Code>();
  }
  return std::optional<Code>(add(op, emitted));
}

}  // namespace isthmus::codegen

#include "backends/shared/staging/staged_codegen.h"

#include <utility>

#include "compiler/codegen/module/edited_module.h"
#include "compiler/plan/op_error.h"
#include "llvm/Support/raw_ostream.h"

namespace isthmus {

StagedCodegen::StagedCodegen(CodegenSettings settings, codegen::WorkItemForm form)
    : settings_(std::move(settings)), form_(std::move(form)) {}

Status StagedCodegen::begin(const HostFunctionProvider* host, std::string platform,
                            std::unique_ptr<llvm::Module> module) {
  module_ = std::move(module);
  if (host) {
    ISTHMUS_ASSIGN_OR_RETURN(host_, host->createTable(std::move(platform)));
  }
  kernels_.emplace(*module_, form_);
  return {};
}

StatusOr<DeviceCodegen::OtherCode> StagedCodegen::kernelOrHost(mlir::Operation* op) {
  OtherCode code;
  if (kernels_->hasRoomFor(op)) {
    ISTHMUS_ASSIGN_OR_RETURN(code.kernels, kernels_->add(op));
  }
  if (!code.kernels) {
    ISTHMUS_ASSIGN_OR_RETURN(code.hostFunction, addHostFunction(op));
  }
  return code;
}

StatusOr<DeviceCodegen::OtherCode> StagedCodegen::selectOther(mlir::Operation* op) {
  llvm::StringRef name = op->getName().getStringRef();
  if (supportByKernels({name.data(), name.size()}, form_.target.device) == Support::kOnDevice) {
    ISTHMUS_RETURN_IF_ERROR(mayHaveKernel(op));
  }
  return kernelOrHost(op);
}

StatusOr<int> StagedCodegen::addHostFunction(mlir::Operation* op) {
  if (!host_) {
    return unsupportedOp(op, "the device has no kernel of it, and no host that carries it out");
  }
  return host_->add(op);
}

StatusOr<int> StagedCodegen::addHostLoop(const Loop& loop) {
  if (!host_) return internalError("a loop of a host that carries out nothing");
  return host_->addLoop(loop);
}

Status StagedCodegen::dumpAndOverrideKernels() {
  constexpr const char* kFile = "kernels.ll";
  if (settings_.dump) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module_->print(stream, nullptr);
    settings_.dump(kFile, text);
  }
  if (std::optional<std::string> text = readOverride(kFile)) {
    ISTHMUS_ASSIGN_OR_RETURN(edited_, codegen::readEditedModule(*module_, *text, kFile));
  }
  return {};
}

Status StagedCodegen::finishImage(DeviceProgram program, StagedProgram& image) {
  static_cast<DeviceProgram&>(image) = std::move(program);
  if (host_) {
    ISTHMUS_ASSIGN_OR_RETURN(image.host, host_->finish());
  }
  return {};
}

}  // namespace isthmus

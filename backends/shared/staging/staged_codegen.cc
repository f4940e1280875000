#include "backends/shared/staging/staged_codegen.h"

#include <utility>

#include "llvm/Support/raw_ostream.h"

namespace isthmus {

StagedCodegen::StagedCodegen(CodegenSettings settings, codegen::WorkItemForm form)
    : settings_(std::move(settings)), form_(std::move(form)) {}

Status StagedCodegen::begin(std::string platform, std::unique_ptr<llvm::Module> module) {
  module_ = std::move(module);
  ISTHMUS_ASSIGN_OR_RETURN(host_, linkedHostFunctions().createTable(std::move(platform)));
  kernels_.emplace(*module_, form_);
  return {};
}

StatusOr<DeviceCodegen::OtherCode> StagedCodegen::kernelOrHost(mlir::Operation* op) {
  OtherCode code;
  ISTHMUS_ASSIGN_OR_RETURN(code.kernels, kernels_->add(op));
  if (!code.kernels) {
    ISTHMUS_ASSIGN_OR_RETURN(code.hostFunction, host_->add(op));
  }
  return code;
}

void StagedCodegen::dumpKernels() const {
  if (!settings_.dump) return;
  std::string text;
  llvm::raw_string_ostream stream(text);
  module_->print(stream, nullptr);
  settings_.dump("kernels.ll", text);
}

Status StagedCodegen::finishImage(DeviceProgram program, StagedProgram& image) {
  static_cast<DeviceProgram&>(image) = std::move(program);
  ISTHMUS_ASSIGN_OR_RETURN(image.host, host_->finish());
  return {};
}

}  // namespace isthmus

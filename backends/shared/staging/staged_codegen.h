// Code for a device that has kernels for most operations, and the host for the others.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/shared/staging/host_functions.h"
#include "backends/shared/staging/staged_program.h"
#include "compiler/codegen/simt/kernel_module.h"
#include "compiler/driver/device_codegen.h"
#include "isthmus/status.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace isthmus {

class StagedCodegen : public DeviceCodegen {
 protected:
  StagedCodegen(CodegenSettings settings, codegen::WorkItemForm form);

  // Before anything is selected: `module`, in context(), is where kernels are added. `host` carries
  // out what has no kernel, or null: that is kUnimplemented. `platform` ("xpu") is who lacks it,
  // for messages.
  Status begin(const HostFunctionProvider* host, std::string platform,
               std::unique_ptr<llvm::Module> module);

  // A kernel where the device may have one, else a function of the host.
  StatusOr<OtherCode> selectOther(mlir::Operation* op) override;
  // A kernel of `op` by the shared compiler, else a function of the host.
  StatusOr<OtherCode> kernelOrHost(mlir::Operation* op);
  StatusOr<int> addHostFunction(mlir::Operation* op) final;
  StatusOr<int> addHostLoop(const Loop& loop) final;
  codegen::KernelModule& kernels() final { return *kernels_; }

  llvm::LLVMContext& context() { return context_; }
  llvm::Module& module() { return edited_ ? *edited_ : *module_; }
  const codegen::WorkItemForm& form() const { return form_; }
  // For whoever wants files that show how a program is compiled.
  void dump(std::string_view fileName, std::string_view text) const {
    if (settings_.dump) settings_.dump(fileName, text);
  }
  // The text of an edited file, which replaces what is dumped by this name; nothing if there is
  // none.
  std::optional<std::string> readOverride(std::string_view fileName) const {
    return settings_.readOverride ? settings_.readOverride(fileName) : std::nullopt;
  }
  // Writes the kernels, which are all there, in LLVM IR as kernels.ll. From here on, an edited file
  // of this name is module(). kInvalidArgument if it cannot stand for them.
  Status dumpAndOverrideKernels();
  // Makes `image` of the finished program and what the host does of it.
  Status finishImage(DeviceProgram program, StagedProgram& image);

 private:
  CodegenSettings settings_;
  codegen::WorkItemForm form_;
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  std::unique_ptr<llvm::Module> edited_;  // null: there is no override
  std::optional<codegen::KernelModule> kernels_;
  std::unique_ptr<HostFunctionTable> host_;  // null: the host does nothing
};

}  // namespace isthmus

// The kernels of a program under construction: fusions become kernels in one LLVM module.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/opencl/program.h"
#include "compiler/codegen/kernel_emitter.h"
#include "compiler/dialect/isthmus.h"
#include "isthmus/status.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace isthmus::opencl {

class KernelModule {
 public:
  // Kernels become SPIR-V, or OpenCL C.
  static StatusOr<std::unique_ptr<KernelModule>> create(bool takesSpirv);

  // A launch of a fusion: kernel number `kernel`, over all of the fusion's buffers.
  struct Stage {
    int kernel = 0;
    // If not -1: the stage copies one buffer to another, and need not run where they are the same.
    int copiesFrom = -1;
    int copiesTo = -1;
  };
  struct Code {
    std::vector<Stage> stages;
    int64_t scratchBytes = 0;
  };
  // Emits the kernels of `fusion`. kUnimplemented names the operation, its types and its location.
  StatusOr<Code> add(ir::FusionOp fusion);
  // Of another operation. Nothing if there are no kernels for it.
  StatusOr<std::optional<Code>> add(mlir::Operation* op);

  // Writes all kernels to `image`. `dump`, which may be empty, receives them as LLVM IR.
  Status finish(ProgramImage& image,
                const std::function<void(std::string_view name, std::string_view text)>& dump);

 private:
  explicit KernelModule(bool takesSpirv) : takesSpirv_(takesSpirv) {}

  bool takesSpirv_;
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
  std::vector<KernelInfo> kernels_;
};

}  // namespace isthmus::opencl

// For tests and benchmarks: a fusion written as text becomes kernels that run on plain memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/emit/jit.h"
#include "backends/cpu/load/object_loader.h"
#include "compiler/codegen/kernel_emitter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace isthmus::codegen {

// One compiled fusion.
class TestKernel {
 public:
  // `text` is a module whose first isthmus.fusion is compiled.
  static StatusOr<std::unique_ptr<TestKernel>> compile(
      const std::string& text, const cpu::CodegenOptions& options = {},
      const TargetModel& target = cpu::hostTarget());

  // Runs all stages; `buffers` are the operands, then the results. `split` > 1 runs the tiles in
  // that many calls, in falling order.
  void run(std::vector<void*> buffers, int split = 1) const;

  const Kernel& kernel() const { return kernel_; }
  ir::FusionOp fusion() const { return fusion_; }
  double emitMs() const { return emitMs_; }
  double codegenMs() const { return codegenMs_; }
  const std::string& llvmIr() const { return llvmIr_; }
  const std::string& assembly() const { return assembly_; }

 private:
  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  ir::FusionOp fusion_;
  Kernel kernel_;
  std::unique_ptr<cpu::LoadedCode> code_;
  double emitMs_ = 0;
  double codegenMs_ = 0;
  std::string llvmIr_;
  std::string assembly_;
};

}  // namespace isthmus::codegen

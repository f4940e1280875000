// For tests and benchmarks: a fusion written as text becomes kernels that run on plain memory.
#include "backends/cpu/testing/kernel_harness.h"

#include <ctime>

#include "compiler/dialect/dialect.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

namespace isthmus::codegen {

// Of this thread's CPU: other processes on the machine do not count.
static double cpuMilliseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

StatusOr<std::unique_ptr<TestKernel>> TestKernel::compile(const std::string& text,
                                                          const cpu::CodegenOptions& given,
                                                          const TargetModel& target) {
  auto result = std::make_unique<TestKernel>();
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  result->context_ =
      std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  std::string problems;
  mlir::ScopedDiagnosticHandler handler(result->context_.get(), [&](mlir::Diagnostic& diagnostic) {
    problems += diagnostic.str() + "\n";
    return mlir::success();
  });
  result->module_ = mlir::parseSourceString<mlir::ModuleOp>(text, result->context_.get());
  if (!result->module_) return invalidArgument("cannot parse: ", problems);
  result->module_->walk([&](ir::FusionOp fusion) {
    if (!result->fusion_) result->fusion_ = fusion;
  });
  if (!result->fusion_) return invalidArgument("no fusion in the text");

  ISTHMUS_ASSIGN_OR_RETURN(cpu::JitModule module, cpu::makeModule("test", target));
  double start = cpuMilliseconds();
  ISTHMUS_ASSIGN_OR_RETURN(result->kernel_,
                           emitKernel(result->fusion_, target, *module.module, "kernel"));
  result->emitMs_ = cpuMilliseconds() - start;
  cpu::CodegenOptions options = given;
  if (options.verify) {
    options.llvmIr = &result->llvmIr_;
    options.assembly = &result->assembly_;
  }
  start = cpuMilliseconds();
  ISTHMUS_ASSIGN_OR_RETURN(std::string object,
                           cpu::compileToObject(*module.module, target, options));
  ISTHMUS_ASSIGN_OR_RETURN(result->code_, cpu::LoadedCode::load({&object, 1}));
  result->codegenMs_ = cpuMilliseconds() - start;
  return result;
}

void TestKernel::run(std::vector<void*> buffers, int split) const {
  for (const KernelStage& stage : kernel_.stages) {
    auto* function =
        reinterpret_cast<void (*)(void* const*, int64_t, int64_t)>(code_->lookup(stage.symbol));
    int64_t parts = std::min<int64_t>(split, stage.tiles);
    for (int64_t part = parts - 1; part >= 0; --part) {
      function(buffers.data(), stage.tiles * part / parts, stage.tiles * (part + 1) / parts);
    }
  }
}

}  // namespace isthmus::codegen

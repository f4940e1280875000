// Programs by the kernels of a DeviceCompiler.
#include "isthmus/device_compiler.h"

#include <array>
#include <utility>

#include "backends/shared/staging/device_target.h"
#include "backends/shared/staging/kernel_executable.h"
#include "backends/shared/staging/kernel_program.h"
#include "backends/shared/staging/staged_codegen.h"
#include "compiler/codegen/target/group_threads.h"
#include "compiler/driver/driver.h"
#include "compiler/plan/op_error.h"
#include "compiler/target/portable_cpu.h"
#include "isthmus/trace.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace isthmus {
namespace {

// A function that the device defines, called here.
llvm::Value* callDevice(llvm::IRBuilder<>& b, const char* name, llvm::Type* result,
                        llvm::ArrayRef<llvm::Value*> arguments, bool isPure) {
  llvm::SmallVector<llvm::Type*, 2> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  llvm::FunctionCallee function =
      module.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
  auto* declared = llvm::cast<llvm::Function>(function.getCallee());
  declared->setDoesNotThrow();
  // What all threads of a group come to must not move to where only some do.
  isPure ? declared->setDoesNotAccessMemory() : declared->setConvergent();
  return b.CreateCall(function, arguments);
}

void setGroups(codegen::WorkItemForm& form) {
  form.groupIndex = [](llvm::IRBuilder<>& b) {
    return callDevice(b, "isthmus_group", b.getInt64Ty(), {}, true);
  };
  form.threadInGroup = [](llvm::IRBuilder<>& b) {
    return callDevice(b, codegen::kThreadInGroupSymbol, b.getInt64Ty(), {}, true);
  };
  form.barrier = [](llvm::IRBuilder<>& b) {
    callDevice(b, codegen::kGroupBarrierSymbol, b.getVoidTy(), {}, false);
  };
  if (!form.target.shufflesInSubgroup) return;
  form.subgroupShuffle = [](llvm::IRBuilder<>& b, llvm::Value* value, llvm::Value* distance) {
    return callDevice(b, codegen::kSubgroupShuffleSymbol, b.getInt32Ty(), {value, distance}, false);
  };
}

codegen::WorkItemForm formOf(const DeviceTarget& device) {
  codegen::WorkItemForm form;
  form.target = device.vectorBits > 0 ? portableCpuTarget(device.triple, device.vectorBits)
                                      : groupTarget(device.triple, device.groups);
  form.target.intrinsics = intrinsicsOf(device.triple);
  form.globalSpace = device.addressSpace;
  form.convention = llvm::CallingConv::C;
  form.indices = [](llvm::IRBuilder<>& b, const codegen::Items& items) {
    std::array<llvm::Value*, 3> indices{};
    for (unsigned d = 0; d < items.size(); ++d) {
      indices[d] = items[d] == 1
                       ? static_cast<llvm::Value*>(b.getInt64(0))
                       : callDevice(b, "isthmus_work_item", b.getInt64Ty(), {b.getInt32(d)}, true);
    }
    return indices;
  };
  if (form.target.hasGroups()) setGroups(form);
  return form;
}

// Among `op` and what is in it, an operation that the device must have no kernel of; null if there
// is none.
mlir::Operation* findRefused(const DeviceCompiler& compiler, mlir::Operation* op) {
  mlir::Operation* refused = nullptr;
  op->walk([&](mlir::Operation* inner) {
    llvm::StringRef name = inner->getName().getStringRef();
    if (!name.starts_with("stablehlo.") || compiler.supports({name.data(), name.size()})) {
      return mlir::WalkResult::advance();
    }
    refused = inner;
    return mlir::WalkResult::interrupt();
  });
  return refused;
}

class KernelCodegen final : public StagedCodegen {
 public:
  KernelCodegen(Backend& backend, const DeviceCompiler& compiler, const DeviceTarget& target,
                CodegenSettings settings)
      : StagedCodegen(std::move(settings), formOf(target)),
        backend_(backend),
        compiler_(compiler) {}

  Status begin(const DeviceTarget& target) {
    auto module = std::make_unique<llvm::Module>("kernels", context());
    module->setTargetTriple(llvm::Triple(target.triple));
    if (!target.dataLayout.empty()) module->setDataLayout(target.dataLayout);
    return StagedCodegen::begin(compiler_.hostFunctions(), backend_.platformName(),
                                std::move(module));
  }

 protected:
  Status mayHaveKernel(mlir::Operation* op) override {
    mlir::Operation* refused = findRefused(compiler_, op);
    return refused ? unsupportedOp(refused, "the device has no kernel of it") : Status();
  }
  StatusOr<std::shared_ptr<const Executable>> load(DeviceProgram program) override {
    KernelProgram image;
    ISTHMUS_RETURN_IF_ERROR(finishImage(std::move(program), image));
    ISTHMUS_RETURN_IF_ERROR(dumpAndOverrideKernels());
    if (!image.kernels.empty()) {
      trace::Scope scope("stage", "compile");
      ISTHMUS_ASSIGN_OR_RETURN(image.code, compiler_.emit(moduleText(), deviceKernels(image)));
    }
    image.info.memory.generatedCodeBytes =
        static_cast<int64_t>(image.code.size() + image.constants.size());
    trace::Scope scope("stage", "load");
    return KernelExecutable::load(backend_, compiler_, std::move(image));
  }

 private:
  std::string moduleText() {
    std::string text;
    llvm::raw_string_ostream(text) << module();
    return text;
  }

  Backend& backend_;
  const DeviceCompiler& compiler_;
};

class KernelGenerator final : public CodeGenerator {
 public:
  KernelGenerator(Backend& backend, const DeviceCompiler& compiler)
      : backend_(backend), compiler_(compiler), target_(compiler.target()) {}

  std::string identity() const override { return compiler_.identity(); }
  void configure(PipelineOptions& options) const override {
    configureStages(formOf(target_).target, options);
    options.hasKernel = [this](mlir::Operation* op) { return !findRefused(compiler_, op); };
  }
  StatusOr<std::unique_ptr<ProgramCodegen>> begin(CodegenSettings settings) const override {
    auto codegen =
        std::make_unique<KernelCodegen>(backend_, compiler_, target_, std::move(settings));
    ISTHMUS_RETURN_IF_ERROR(codegen->begin(target_));
    return std::unique_ptr<ProgramCodegen>(std::move(codegen));
  }

 private:
  Backend& backend_;
  const DeviceCompiler& compiler_;
  DeviceTarget target_;
};

}  // namespace

StatusOr<std::shared_ptr<const Executable>> compileForDevice(Backend& backend,
                                                             const DeviceCompiler& compiler,
                                                             const CompileRequest& request) {
  return compileProgram(KernelGenerator(backend, compiler), request);
}

Support supportForDevice(const DeviceCompiler& compiler, std::string_view op) {
  const DeviceKind kind = compiler.target().vectorBits > 0 ? DeviceKind::kCpu : DeviceKind::kGpu;
  const Support support = supportByKernels(op, kind);
  if (support == Support::kOnDevice && !compiler.supports(op)) return Support::kNo;
  return support == Support::kByHost && !compiler.hostFunctions() ? Support::kNo : support;
}

StatusOr<std::shared_ptr<const Executable>> loadForDevice(Backend& backend,
                                                          const DeviceCompiler& compiler,
                                                          std::string_view bytes) {
  ISTHMUS_ASSIGN_OR_RETURN(KernelProgram program, deserializeKernels(bytes, compiler.identity(),
                                                                     compiler.hostFunctions()));
  return KernelExecutable::load(backend, compiler, std::move(program));
}

}  // namespace isthmus

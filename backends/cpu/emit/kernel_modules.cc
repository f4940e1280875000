// Where kernels go, which are equal, and which are inlined.
#include "backends/cpu/emit/kernel_modules.h"

#include "backends/cpu/emit/optimize_program.h"
#include "backends/cpu/load/program_symbols.h"
#include "compiler/codegen/module/unoptimized.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/byte_size.h"
#include "compiler/dialect/facts/same_code.h"
#include "compiler/schedule/dot_scheduler.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "mlir/IR/OperationSupport.h"

namespace isthmus::cpu {
namespace {

// A module is worth a thread of its own from about this many operations on: they take a
// millisecond or two, the thread and what each module has of LLVM a tenth of one.
constexpr int64_t kOperationsPerModule = 12;
// What the program function takes, in operations.
constexpr int64_t kOperationsOfProgram = 2;
// Kernels in loops that write arrays up to this size go where they can be inlined: then a loop's
// small values stay in registers from one step to the next.
constexpr int64_t kMaxInlineBytes = 2048;
// Kernels with more instructions are called.
constexpr unsigned kMaxInlineInstructions = 400;
// Kernels with more are not optimised: passes over one long function take time by the square of its
// length. A reduction by 5,000 sines would take minutes.
constexpr unsigned kMaxOptimizedInstructions = 100'000;

bool isSmall(ir::FusionOp fusion) {
  // An epilogue is called by a library function.
  if (contractionOf(fusion)) return false;
  auto fits = [](mlir::Value value) {
    // Of an array that is updated in place (or copied by a stage of its own), what is written.
    if (auto update = value.getDefiningOp<shlo::DynamicUpdateSliceOp>()) {
      value = update.getUpdate();
    } else if (auto scatter = value.getDefiningOp<shlo::ScatterOp>()) {
      value = scatter.getUpdates()[0];
    }
    StatusOr<int64_t> bytes = byteSize(value.getType());
    return bytes.ok() && *bytes <= kMaxInlineBytes;
  };
  return llvm::all_of(fusion.getBody().front().getTerminator()->getOperands(), fits);
}

int64_t operationsIn(ir::FusionOp fusion) {
  int64_t count = 0;
  fusion.walk([&](mlir::Operation*) { ++count; });
  return count;
}

}  // namespace

StatusOr<KernelModules> KernelModules::make(const TargetModel& target) {
  KernelModules result(target);
  ISTHMUS_ASSIGN_OR_RETURN(JitModule program, makeModule("program", target));
  result.modules_.push_back(std::move(program));
  return result;
}

void KernelModules::count(ir::FusionOp fusion, bool isInLoop) {
  if (isInLoop && isSmall(fusion)) return;
  outOfLineOperations_ += operationsIn(fusion);
  ++outOfLineFusions_;
}

void KernelModules::divide(int threads) {
  const int64_t wanted = std::min<int64_t>(
      {threads, outOfLineFusions_, 1 + outOfLineOperations_ / kOperationsPerModule});
  for (int64_t i = 1; i < wanted; ++i) {
    // Without it the kernels go to fewer modules, which is only slower.
    StatusOr<JitModule> module = makeModule("kernels" + std::to_string(i), target_);
    if (module.ok()) modules_.push_back(std::move(*module));
  }
}

StatusOr<OperationCode> KernelModules::emit(ir::FusionOp fusion, bool isInLoop) {
  bool isInProgram = isInLoop && isSmall(fusion);
  size_t hash = codeHash(fusion);
  auto [begin, end] = emitted_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (it->second.isInProgram == isInProgram && haveSameCode(it->second.fusion, fusion)) {
      return it->second.code;
    }
  }
  size_t index = 0;
  if (!isInProgram) {
    // Where most of it falls, if all operations behind each other are cut into equal shares.
    const auto count = static_cast<int64_t>(modules_.size());
    const int64_t share = (kOperationsOfProgram + outOfLineOperations_) / count + 1;
    const int64_t operations = operationsIn(fusion);
    index = static_cast<size_t>(
        std::min((kOperationsOfProgram + operationsDone_ + operations / 2) / share, count - 1));
    operationsDone_ += operations;
  }
  llvm::Module& module = *modules_[index].module;
  std::string symbol = "kernel" + std::to_string(number_++);
  ISTHMUS_ASSIGN_OR_RETURN(Kernel kernel, emitKernel(fusion, target_, module, symbol));
  OperationCode code;
  code.stages = std::move(kernel.stages);
  code.isInlined = isInProgram;
  for (const KernelStage& stage : code.stages) {
    llvm::Function* function = module.getFunction(stage.symbol);
    if (!function) return internalError("kernel ", stage.symbol, " was not generated");
    if (function->getInstructionCount() > kMaxOptimizedInstructions) {
      codegen::leaveUnoptimized(*function);
    }
    if (isInProgram && function->getInstructionCount() <= kMaxInlineInstructions) {
      function->setLinkage(llvm::GlobalValue::InternalLinkage);
      function->addFnAttr(llvm::Attribute::AlwaysInline);
    } else {
      code.isInlined = false;
    }
  }
  emitted_.emplace(hash, Emitted{fusion, isInProgram, code});
  return code;
}

std::string KernelModules::text() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const JitModule& module : modules_) module.module->print(out, nullptr);
  return text;
}

StatusOr<std::vector<std::string>> KernelModules::compile(const CodegenSettings& settings,
                                                          int threads, bool needsOptimizer) {
  if (needsOptimizer) optimizeProgram(programModule());
  CodegenOptions options;
  options.verify = settings.verify;
  options.readOverride = settings.readOverride;
  if (!settings.dump) {
    return compileModules(modules_, target_, options, threads);
  }
  std::vector<std::string> objects;
  for (JitModule& module : modules_) {
    std::string text;
    std::string assembly;
    options.llvmIr = &text;
    options.assembly = &assembly;
    ISTHMUS_ASSIGN_OR_RETURN(std::string object, compileToObject(*module.module, target_, options));
    objects.push_back(std::move(object));
    std::string name = module.module->getName().str();
    settings.dump(name + ".ll", text);
    settings.dump(name + ".s", assembly);
  }
  return objects;
}

}  // namespace isthmus::cpu

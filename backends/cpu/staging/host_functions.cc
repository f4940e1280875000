// The CPU's library functions and kernels for programs of other devices.
#include "backends/shared/staging/host_functions.h"

#include <algorithm>
#include <array>

#include "backends/cpu/abi.h"
#include "backends/cpu/emit/jit.h"
#include "backends/cpu/load/host_target.h"
#include "backends/cpu/load/object_loader.h"
#include "backends/cpu/load/program_symbols.h"
#include "backends/cpu/load/split_kernel.h"
#include "backends/cpu/lower/library_ops.h"
#include "backends/cpu/staging/host_loop.h"
#include "compiler/codegen/kernel_emitter.h"
#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/isthmus.h"
#include "compiler/dialect/types/type_conversion.h"
#include "compiler/plan/op_error.h"
#include "compiler/schedule/attention/attention.h"
#include "compiler/schedule/dot_scheduler.h"
#include "compiler/schedule/products/roles.h"
#include "isthmus/log.h"
#include "llvm/IR/Module.h"
#include "runtime/ffi/call_site.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

std::string describe(mlir::Operation* op) {
  std::string text = op->getName().getStringRef().str();
  if (auto target = op->getAttrOfType<mlir::StringAttr>("call_target_name")) {
    text += " @" + target.str();
  }
  std::string position = sourcePosition(op->getLoc());
  return position.empty() ? text : text + " at " + position;
}

// Of a kernel: its tiles, how many of them a thread is handed at least, and, unless they are -1,
// the buffers of which it copies one to the other.
struct KernelNumbers {
  int64_t tiles = 0;
  int64_t minTiles = 0;
  int64_t copiesFrom = -1;
  int64_t copiesTo = -1;
};

// Runs the kernels of a fusion. The descriptor is the number of its buffers, of its kernels, and
// what there is of each kernel. The kernels come after the buffers.
int32_t runKernels(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  const auto* counts = static_cast<const int64_t*>(descriptor);
  const auto* numbers = reinterpret_cast<const KernelNumbers*>(counts + 2);
  for (int64_t i = 0; i < counts[1]; ++i) {
    const KernelNumbers& of = numbers[i];
    if (of.copiesFrom >= 0 && buffers[of.copiesFrom] == buffers[of.copiesTo]) continue;
    auto kernel = reinterpret_cast<IsthmusKernel>(buffers[counts[0] + i]);
    run->parallelFor(run, kernel, buffers, of.tiles, of.minTiles);
  }
  return 0;
}

constexpr const char* kRunKernels = "isthmus_rt_run_kernels";
const LibraryFunction kRunKernelsFunction(kRunKernels, runKernels);

// Runs a loop: a function of the program, whose number among the buffers the descriptor is.
int32_t runLoop(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  const int64_t number = *static_cast<const int64_t*>(descriptor);
  return reinterpret_cast<IsthmusLibraryFunction>(buffers[number])(run, nullptr, buffers);
}

constexpr const char* kRunLoop = "isthmus_rt_run_loop";
const LibraryFunction kRunLoopFunction(kRunLoop, runLoop);

// That a thread is handed; all where threads are not worth it.
int64_t minTiles(const KernelStage& stage) { return stage.share == 0 ? stage.tiles : stage.share; }

StatusOr<TableFunction> lowerFusion(ir::FusionOp fusion, LibraryContext& context) {
  std::string symbol = "kernel" + std::to_string(context.nextNumber++);
  ISTHMUS_ASSIGN_OR_RETURN(Kernel kernel,
                           emitKernel(fusion, context.target, context.module, symbol));
  const std::array<int64_t, 2> counts = {fusion->getNumOperands() + fusion->getNumResults(),
                                         static_cast<int64_t>(kernel.stages.size())};
  HostFunction function;
  function.function = kRunKernels;
  function.descriptor.assign(reinterpret_cast<const char*>(counts.data()), sizeof(counts));
  for (const KernelStage& stage : kernel.stages) {
    const KernelNumbers numbers{stage.tiles, minTiles(stage), stage.copiesFrom, stage.copiesTo};
    function.descriptor.append(reinterpret_cast<const char*>(&numbers), sizeof(numbers));
    function.callbacks.push_back(stage.symbol);
  }
  return TableFunction{std::move(function), std::move(kernel.stages)};
}

class CpuFunctionTable final : public HostFunctionTable {
 public:
  CpuFunctionTable(std::string platform, JitModule module)
      : platform_(std::move(platform)),
        module_(std::move(module)),
        context_{.target = hostTarget(), .module = *module_.module, .isOfDevice = true} {}
  StatusOr<int> add(mlir::Operation* op) override;
  StatusOr<int> addLoop(const Loop& loop) override;
  StatusOr<HostProgram> finish() override;

 private:
  StatusOr<TableFunction> lower(mlir::Operation* op);

  std::string platform_;
  JitModule module_;
  LibraryContext context_;
  std::vector<TableFunction> functions_;
};

// A product and its epilogue, or attention, which the device has a schedule of its own for.
StatusOr<OperationCode> lowerProduct(ir::FusionOp fusion, LibraryContext& context) {
  if (!contractionOf(fusion)) {
    return unimplemented("no kernel computes a convolution with other work");
  }
  mlir::OwningOpRef<ir::FusionOp> own(fusion.clone());
  (*own)->removeAttr(own->getScheduleAttrName());
  std::string symbol = "kernel" + std::to_string(context.nextNumber++);
  ISTHMUS_ASSIGN_OR_RETURN(Kernel kernel, emitKernel(*own, context.target, context.module, symbol));
  OperationCode code;
  code.stages = std::move(kernel.stages);
  ISTHMUS_RETURN_IF_ERROR(attentionOf(*own) ? callWithRows(*own, code, context)
                                            : callWithEpilogue(*own, code, context));
  return code;
}

StatusOr<TableFunction> CpuFunctionTable::lower(mlir::Operation* op) {
  auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
  const bool isProduct = fusion && (attentionOf(fusion) || isProductWithEpilogue(fusion));
  if (fusion && !isProduct) return lowerFusion(fusion, context_);
  ISTHMUS_ASSIGN_OR_RETURN(OperationCode code, isProduct ? lowerProduct(fusion, context_)
                                                         : lowerToLibraryCall(op, context_));
  if (code.libraryFunction.empty()) {
    return unsupportedOp(op, "the " + platform_ + " backend has no code for this operation yet");
  }
  HostFunction function;
  function.function = code.libraryFunction;
  function.descriptor = std::move(code.descriptor);
  function.callbacks = std::move(code.callbacks);
  function.scratchBytes = code.scratchBytes;
  return TableFunction{std::move(function), {}};
}

StatusOr<int> CpuFunctionTable::add(mlir::Operation* op) {
  ISTHMUS_ASSIGN_OR_RETURN(TableFunction added, lower(op));
  added.function.description = describe(op);
  log(LogLevel::kInfo, platform_, ": ", added.function.description, " runs on the host");
  functions_.push_back(std::move(added));
  return static_cast<int>(functions_.size()) - 1;
}

StatusOr<int> CpuFunctionTable::addLoop(const Loop& loop) {
  HostFunction function;
  const std::string symbol = "loop" + std::to_string(context_.nextNumber++);
  ISTHMUS_ASSIGN_OR_RETURN(function.scratchBytes, emitHostLoop(loop, functions_, context_.target,
                                                               symbol, context_.module));
  const auto places = static_cast<int64_t>(loop.onHost.inputs.size());
  const int64_t number = places + (function.scratchBytes > 0 ? 1 : 0);
  function.function = kRunLoop;
  function.descriptor.assign(reinterpret_cast<const char*>(&number), sizeof(number));
  function.callbacks = {symbol};
  function.description = "a loop";
  functions_.push_back({std::move(function), {}});
  return static_cast<int>(functions_.size()) - 1;
}

StatusOr<HostProgram> CpuFunctionTable::finish() {
  HostProgram program;
  bool hasCallbacks = llvm::any_of(
      functions_, [](const TableFunction& added) { return !added.function.callbacks.empty(); });
  if (hasCallbacks) {
    CodegenOptions options;
    options.effort = CodegenEffort::kFull;
    ISTHMUS_ASSIGN_OR_RETURN(std::string object,
                             compileToObject(*module_.module, hostTarget(), options));
    program.objects.push_back(std::move(object));
    program.features = hostTarget().features;
  }
  for (TableFunction& added : functions_) program.functions.push_back(std::move(added.function));
  functions_.clear();
  program.calls = std::move(context_.calls);
  program.callsUserCode = context_.callsUserCode;
  return program;
}

class CpuFunctions final : public HostFunctions {
 public:
  static StatusOr<std::unique_ptr<HostFunctions>> load(const HostProgram& program);
  Status call(int function, const RunRequest& request, std::vector<void*> buffers) const override;

 private:
  struct Loaded {
    IsthmusLibraryFunction function;
    const HostFunction* info;
    std::vector<void*> callbacks;
  };
  std::vector<Loaded> functions_;
  std::unique_ptr<LoadedCode> code_;
  CallSites callSites_;
};

StatusOr<std::unique_ptr<HostFunctions>> CpuFunctions::load(const HostProgram& program) {
  auto result = std::make_unique<CpuFunctions>();
  if (!program.objects.empty()) {
    ISTHMUS_ASSIGN_OR_RETURN(result->code_,
                             LoadedCode::load(program.objects, resolveProgramSymbol));
  }
  for (const HostFunction& info : program.functions) {
    // Also finds the functions for collectives and custom calls.
    void* address = resolveProgramSymbol(info.function);
    if (!address) return internalError("the host has no function ", info.function);
    Loaded loaded{reinterpret_cast<IsthmusLibraryFunction>(address), &info, {}};
    for (const std::string& name : info.callbacks) {
      void* callback = result->code_ ? result->code_->lookup(name) : nullptr;
      if (!callback) return internalError("generated function ", name, " is missing");
      loaded.callbacks.push_back(callback);
    }
    result->functions_.push_back(std::move(loaded));
  }
  for (const ffi::CallSpec& call : program.calls) {
    ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<ffi::CallSite> site, ffi::CallSite::create(call));
    result->callSites_.push_back(std::move(site));
  }
  return std::unique_ptr<HostFunctions>(std::move(result));
}

Status CpuFunctions::call(int function, const RunRequest& request,
                          std::vector<void*> buffers) const {
  const Loaded& loaded = functions_[function];
  char none = 0;
  Scratch<char> scratch(*request.services, loaded.info->scratchBytes, &none, 1);
  if (!scratch) {
    return resourceExhausted(loaded.info->description, ": no host memory for ",
                             loaded.info->scratchBytes, " bytes");
  }
  if (loaded.info->scratchBytes > 0) buffers.push_back(scratch.data());
  buffers.insert(buffers.end(), loaded.callbacks.begin(), loaded.callbacks.end());
  Status status;
  IsthmusRun run{splitKernel, nullptr, &request, request.services, &status, &callSites_, nullptr};
  const char* descriptor =
      loaded.info->descriptor.empty() ? nullptr : loaded.info->descriptor.data();
  int32_t failed = loaded.function(&run, descriptor, buffers.data());
  if (failed != 0 && status.ok()) {
    return internalError(loaded.info->description, " failed without a reason");
  }
  return status;
}

class CpuFunctionProvider final : public HostFunctionProvider {
 public:
  StatusOr<std::unique_ptr<HostFunctionTable>> createTable(std::string platform) const override {
    ISTHMUS_ASSIGN_OR_RETURN(JitModule module, makeModule("host", hostTarget()));
    return std::unique_ptr<HostFunctionTable>(
        std::make_unique<CpuFunctionTable>(std::move(platform), std::move(module)));
  }
  Status checkFeatures(const HostProgram& program) const override {
    return cpu::checkFeatures(program.features);
  }
  int termsAtOnce(mlir::Operation* op) const override {
    if (!isContraction(op)) return 1;
    auto lhs = toArrayType(op->getOperand(0).getType());
    auto rhs = toArrayType(op->getOperand(1).getType());
    auto result = toArrayType(op->getResult(0).getType());
    if (!lhs.ok() || !rhs.ok() || !result.ok()) return 1;
    const int terms = cpu::termsAtOnce(lhs->elementType, rhs->elementType, result->elementType);
    auto conv = llvm::dyn_cast<shlo::ConvolutionOp>(op);
    // Only convolutions of floats have windows; patches of bytes fill blocks of pairs at least
    // (patchDomain).
    const bool hasBlocks =
        !conv || lhs->elementType == ElementType::kBF16 || convRolesOf(conv).inputFeatures % 2 == 0;
    return hasBlocks ? terms : 1;
  }
  StatusOr<std::unique_ptr<HostFunctions>> load(const HostProgram& program) const override {
    return CpuFunctions::load(program);
  }
};

}  // namespace
}  // namespace isthmus::cpu

namespace isthmus {

const HostFunctionProvider& linkedHostFunctions() {
  static const cpu::CpuFunctionProvider provider;
  return provider;
}

}  // namespace isthmus

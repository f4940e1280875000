// Programs by the kernels of a DeviceCompiler.
#include "isthmus/device_compiler.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/codegen/simt/kernel_module.h"
#include "compiler/driver/device_codegen.h"
#include "compiler/driver/driver.h"
#include "compiler/plan/op_error.h"
#include "compiler/target/portable_cpu.h"
#include "isthmus/trace.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace isthmus {
namespace {

constexpr const char* kMemoryKind = "device";

// The largest that a step of the program exchanges.
int64_t largestSwap(const std::vector<Step>& steps) {
  int64_t bytes = 0;
  forEachStep(steps, [&](const Step& step) {
    auto* move = std::get_if<Move>(&step.what);
    if (move && move->isSwap) bytes = std::max(bytes, move->to.bytes);
    return true;
  });
  return bytes;
}

class KernelExecutable final : public Executable {
 public:
  KernelExecutable(Backend& backend, DeviceProgram program, std::unique_ptr<DeviceKernels> kernels)
      : backend_(backend), program_(std::move(program)), kernels_(std::move(kernels)) {
    swapOffset_ = llvm::alignTo(static_cast<uint64_t>(program_.scratchBytes), kBufferAlignment);
    scratchBytes_ = swapOffset_ + static_cast<size_t>(largestSwap(program_.steps));
  }
  ~KernelExecutable() override {
    for (auto [device, block] : constants_) {
      if (DeviceQueue* queue = backend_.queue(device)) {
        queue->release(kMemoryKind, block, program_.constants.size(), {});
      } else {
        backend_.deallocate(device, kMemoryKind, block, program_.constants.size());
      }
    }
  }

  const ProgramInfo& info() const override { return program_.info; }
  size_t scratchBytes() const override { return scratchBytes_; }
  bool mayBlock() const override { return false; }
  Status run(const RunRequest& request) const override;
  StatusOr<DeviceEventRef> enqueue(const RunRequest& request, DeviceEvents after) const override;

 private:
  class Run;
  // The program's constants in the device's memory, from its first run there on.
  StatusOr<void*> constants(int device) const;

  Backend& backend_;
  DeviceProgram program_;
  std::unique_ptr<DeviceKernels> kernels_;
  size_t swapOffset_;  // in the scratch memory
  size_t scratchBytes_;
  mutable std::mutex mutex_;
  mutable std::map<int, void*> constants_;
};

// One run: each step after the one before.
class KernelExecutable::Run {
 public:
  Run(const KernelExecutable& executable, const RunRequest& request, void* scratch, void* constants,
      DeviceEvents after)
      : executable_(executable),
        request_(request),
        scratch_(scratch),
        constants_(constants),
        last_(after.begin(), after.end()) {}

  Status steps(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      ISTHMUS_RETURN_IF_ERROR(
          std::visit([this](const auto& what) { return this->step(what); }, step.what));
    }
    return {};
  }
  const std::vector<DeviceEventRef>& last() const { return last_; }

 private:
  const DeviceKernels& kernels() const { return *executable_.kernels_; }
  DevicePlace placeOf(const Location& place) const {
    const DeviceProgram& program = executable_.program_;
    auto index = static_cast<size_t>(place.index);
    auto in = [](void* block, int64_t offset) {
      return DevicePlace{block, static_cast<size_t>(offset)};
    };
    switch (place.space) {
      case Location::Space::kNone:
        break;
      case Location::Space::kParameter:
        // Programs write to parameters only where donation lets them.
        return in(const_cast<void*>(request_.parameters[index]), 0);
      case Location::Space::kResult:
        return in(request_.results[index], 0);
      case Location::Space::kConstant:
        return in(constants_, program.constantOffsets[index]);
      case Location::Space::kStack:
        return in(scratch_, program.slotOffsets[index]);
      case Location::Space::kArena:
        return in(scratch_, place.offset);
    }
    return {};
  }
  Status follow(StatusOr<DeviceEventRef> event) {
    if (!event.ok()) return event.status();
    last_.clear();
    if (*event) last_.push_back(*std::move(event));
    return {};
  }
  Status copy(DevicePlace to, DevicePlace from, int64_t bytes) {
    if (bytes == 0 || (to.block == from.block && to.offset == from.offset)) return {};
    return follow(kernels().copy(request_.deviceId, to, from, static_cast<size_t>(bytes), last_));
  }
  // A value that decides what runs next.
  Status read(const Location& from, void* to) {
    DevicePlace place = placeOf(from);
    auto bytes = static_cast<size_t>(from.bytes);
    Backend& backend = executable_.backend_;
    DeviceQueue* queue = backend.queue(request_.deviceId);
    if (!queue) {
      return backend.copyToHost(request_.deviceId, place.block, place.offset, to, bytes);
    }
    ISTHMUS_ASSIGN_OR_RETURN(DeviceEventRef event,
                             queue->copyToHost(place.block, place.offset, to, bytes, last_));
    return event ? event->await() : Status();
  }

  Status step(const KernelLaunch& launch) {
    std::vector<DevicePlace> buffers;
    for (const Location& place : launch.buffers) buffers.push_back(placeOf(place));
    return follow(kernels().launch(request_.deviceId, launch.kernel, buffers, last_));
  }
  Status step(const Move& move) {
    DevicePlace to = placeOf(move.to);
    DevicePlace from = placeOf(move.from);
    if (!move.isSwap) return copy(to, from, move.to.bytes);
    DevicePlace kept{scratch_, executable_.swapOffset_};
    ISTHMUS_RETURN_IF_ERROR(copy(kept, to, move.to.bytes));
    ISTHMUS_RETURN_IF_ERROR(copy(to, from, move.to.bytes));
    return copy(from, kept, move.to.bytes);
  }
  Status step(const Loop& loop) {
    for (int64_t round = 0; round < loop.rounds; ++round) {
      ISTHMUS_RETURN_IF_ERROR(steps(loop.body));
    }
    uint8_t goesOn = loop.rounds < 0;
    while (goesOn) {
      ISTHMUS_RETURN_IF_ERROR(steps(loop.condition));
      ISTHMUS_RETURN_IF_ERROR(read(loop.predicate, &goesOn));
      if (goesOn) ISTHMUS_RETURN_IF_ERROR(steps(loop.body));
    }
    return {};
  }
  Status step(const Branch& branch) {
    int32_t index = 0;
    uint8_t isTrue = 0;
    ISTHMUS_RETURN_IF_ERROR(branch.isIf ? read(branch.index, &isTrue) : read(branch.index, &index));
    return steps(branch.branches[chosenBranch(branch, branch.isIf ? isTrue : index)]);
  }
  Status step(const HostCall&) { return internalError("the host carries out no operation"); }
  Status step(const LibraryCall&) { return internalError("there is no library to call"); }

  const KernelExecutable& executable_;
  const RunRequest& request_;
  void* scratch_;
  void* constants_;
  std::vector<DeviceEventRef> last_;
};

StatusOr<void*> KernelExecutable::constants(int device) const {
  const std::string& bytes = program_.constants;
  if (bytes.empty()) return static_cast<void*>(nullptr);
  std::lock_guard lock(mutex_);
  if (auto found = constants_.find(device); found != constants_.end()) return found->second;
  void* block = nullptr;
  if (DeviceQueue* queue = backend_.queue(device)) {
    ISTHMUS_ASSIGN_OR_RETURN(DeviceQueue::Block memory, queue->allocate(kMemoryKind, bytes.size()));
    block = memory.data;
    DeviceEvents after;
    if (memory.available) after = std::span(&memory.available, 1);
    StatusOr<DeviceEventRef> event =
        queue->copyFromHost(block, 0, bytes.data(), bytes.size(), after);
    Status status = !event.ok() ? event.status() : *event ? (*event)->await() : Status();
    if (!status.ok()) {
      queue->release(kMemoryKind, block, bytes.size(), after);
      return status;
    }
  } else {
    ISTHMUS_ASSIGN_OR_RETURN(block, backend_.allocate(device, kMemoryKind, bytes.size()));
    Status status = backend_.copyFromHost(device, block, 0, bytes.data(), bytes.size());
    if (!status.ok()) {
      backend_.deallocate(device, kMemoryKind, block, bytes.size());
      return status;
    }
  }
  constants_[device] = block;
  return block;
}

Status KernelExecutable::run(const RunRequest& request) const {
  ISTHMUS_ASSIGN_OR_RETURN(void* constants, this->constants(request.deviceId));
  ISTHMUS_ASSIGN_OR_RETURN(void* scratch,
                           backend_.allocate(request.deviceId, kMemoryKind, scratchBytes_));
  Status status = Run(*this, request, scratch, constants, {}).steps(program_.steps);
  backend_.deallocate(request.deviceId, kMemoryKind, scratch, scratchBytes_);
  return status;
}

StatusOr<DeviceEventRef> KernelExecutable::enqueue(const RunRequest& request,
                                                   DeviceEvents after) const {
  ISTHMUS_ASSIGN_OR_RETURN(void* constants, this->constants(request.deviceId));
  Run run(*this, request, request.scratch, constants, after);
  Status status = run.steps(program_.steps);
  const std::vector<DeviceEventRef>& last = run.last();
  // Results may be ready as they are, when what came before is.
  if (status.ok() && last.size() <= 1) return last.empty() ? DeviceEventRef() : last[0];
  for (const DeviceEventRef& event : last) {
    Status one = event->await();
    if (status.ok()) status = one;
  }
  if (!status.ok()) return status;
  return DeviceEventRef();
}

// ---- The compiler's side ------------------------------------------------------------------------

codegen::WorkItemForm formOf(const DeviceTarget& device) {
  codegen::WorkItemForm form;
  form.target = device.vectorBits > 0 ? portableCpuTarget(device.triple, device.vectorBits)
                                      : gpuTarget(device.triple);
  // Each element is computed by itself: threads share nothing.
  if (device.vectorBits == 0) form.target.subgroupSize = std::numeric_limits<int32_t>::max();
  form.globalSpace = device.addressSpace;
  form.convention = llvm::CallingConv::C;
  form.indices = [](llvm::IRBuilder<>& b, const codegen::Items& items) {
    std::array<llvm::Value*, 3> indices{};
    llvm::Module& module = *b.GetInsertBlock()->getModule();
    for (unsigned d = 0; d < items.size(); ++d) {
      indices[d] = b.getInt64(0);
      if (items[d] == 1) continue;
      llvm::FunctionCallee function =
          module.getOrInsertFunction("isthmus_work_item", b.getInt64Ty(), b.getInt32Ty());
      auto* declared = llvm::cast<llvm::Function>(function.getCallee());
      declared->setDoesNotThrow();
      declared->setDoesNotAccessMemory();
      indices[d] = b.CreateCall(function, {b.getInt32(d)});
    }
    return indices;
  };
  return form;
}

class KernelCodegen final : public DeviceCodegen {
 public:
  KernelCodegen(Backend& backend, const DeviceCompiler& compiler, const DeviceTarget& target,
                CodegenSettings settings)
      : backend_(backend),
        compiler_(compiler),
        settings_(std::move(settings)),
        form_(formOf(target)),
        module_("kernels", context_),
        kernels_(module_, form_) {
    module_.setTargetTriple(llvm::Triple(target.triple));
    if (!target.dataLayout.empty()) module_.setDataLayout(target.dataLayout);
  }

 protected:
  Status mayHaveKernel(mlir::Operation* op) override {
    mlir::Operation* refused = nullptr;
    op->walk([&](mlir::Operation* inner) {
      llvm::StringRef name = inner->getName().getStringRef();
      if (!name.starts_with("stablehlo.") || compiler_.supports({name.data(), name.size()})) {
        return mlir::WalkResult::advance();
      }
      refused = inner;
      return mlir::WalkResult::interrupt();
    });
    return refused ? unsupportedOp(refused, "the device has no kernel of it") : Status();
  }
  StatusOr<OtherCode> selectOther(mlir::Operation* op) override {
    ISTHMUS_RETURN_IF_ERROR(mayHaveKernel(op));
    OtherCode code;
    ISTHMUS_ASSIGN_OR_RETURN(code.kernels, kernels_.add(op));
    if (!code.kernels) return unsupportedOp(op, "the device has no kernel of it");
    return code;
  }
  StatusOr<int> addHostFunction(mlir::Operation* op) override {
    return unsupportedOp(op, "the host has no function of it");
  }
  codegen::KernelModule& kernels() override { return kernels_; }

  StatusOr<std::shared_ptr<const Executable>> load(DeviceProgram program) override {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module_.print(stream, nullptr);
    if (settings_.dump) settings_.dump("kernels.ll", text);
    std::vector<DeviceKernel> kernels;
    for (const codegen::KernelInfo& kernel : program.kernels) {
      kernels.push_back({kernel.name, kernel.items, kernel.description});
    }
    std::unique_ptr<DeviceKernels> loaded;
    if (!kernels.empty()) {
      std::string code;
      {
        trace::Scope scope("stage", "compile");
        ISTHMUS_ASSIGN_OR_RETURN(code, compiler_.emit(text, kernels));
      }
      trace::Scope scope("stage", "load");
      program.info.memory.generatedCodeBytes = static_cast<int64_t>(code.size());
      ISTHMUS_ASSIGN_OR_RETURN(loaded, compiler_.load(code, kernels));
    } else {
      // Arguments may be copied to results.
      ISTHMUS_ASSIGN_OR_RETURN(loaded, compiler_.load("", {}));
    }
    return std::shared_ptr<const Executable>(
        std::make_shared<KernelExecutable>(backend_, std::move(program), std::move(loaded)));
  }

 private:
  Backend& backend_;
  const DeviceCompiler& compiler_;
  CodegenSettings settings_;
  codegen::WorkItemForm form_;
  llvm::LLVMContext context_;
  llvm::Module module_;
  codegen::KernelModule kernels_;
};

class KernelGenerator final : public CodeGenerator {
 public:
  KernelGenerator(Backend& backend, const DeviceCompiler& compiler)
      : backend_(backend), compiler_(compiler), target_(compiler.target()) {}

  std::string identity() const override { return compiler_.identity(); }
  void configure(PipelineOptions& options) const override {
    options.fusion.target = formOf(target_).target;
    // Without groups, work-items cannot share a row's intermediate values.
    options.fusion.rows = target_.vectorBits > 0;
    options.fusion.transposes = target_.vectorBits > 0;
    options.epilogues = false;
  }
  StatusOr<std::unique_ptr<ProgramCodegen>> begin(CodegenSettings settings) const override {
    return std::unique_ptr<ProgramCodegen>(
        std::make_unique<KernelCodegen>(backend_, compiler_, target_, std::move(settings)));
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

}  // namespace isthmus

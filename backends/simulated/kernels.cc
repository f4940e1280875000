#include "backends/simulated/kernels.h"

#include <array>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/simulated/fibers.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

// Conversions of types that not every processor has.
extern "C" {
_Float16 __truncdfhf2(double);
_Float16 __truncsfhf2(float);
float __extendhfsf2(_Float16);
}

namespace isthmus::simulated {
namespace {

constexpr unsigned kVectorBits = 128;
constexpr unsigned kGroupThreads = 256;
constexpr int64_t kGroupBytes = 32 << 10;
constexpr unsigned kSubgroupThreads = 16;
constexpr size_t kMaxBuffers = 128;  // of a kernel, as device_compiler.h promises

// ---- What kernels ask of the device -------------------------------------------------------------

// The thread of the device that this thread of the host is at the moment.
struct Position {
  std::array<int64_t, 3> item{};
  int64_t group = 0;
  int64_t threadInGroup = 0;
};
thread_local Position position;
// What the threads of the group have put there to be read by others.
thread_local std::array<int32_t, kGroupThreads> shuffled;

int64_t workItem(int32_t dimension) { return position.item[static_cast<size_t>(dimension)]; }
int64_t group() { return position.group; }
int64_t threadInGroup() { return position.threadInGroup; }

void barrier() {
  const Position own = position;
  groupBarrier();
  position = own;
}

int32_t subgroupShuffle(int32_t value, int32_t distance) {
  const int64_t own = position.threadInGroup;
  shuffled[static_cast<size_t>(own)] = value;
  barrier();
  const int32_t other = shuffled[static_cast<size_t>(own ^ distance)];
  barrier();
  return other;
}

llvm::orc::SymbolMap deviceFunctions(llvm::orc::LLJIT& jit) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](const char* name, auto* function) {
    symbols[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                          llvm::JITSymbolFlags::Exported};
  };
  add("isthmus_work_item", &workItem);
  add("isthmus_group", &group);
  add("isthmus_thread_in_group", &threadInGroup);
  add("isthmus_group_barrier", &barrier);
  add("isthmus_subgroup_shuffle", &subgroupShuffle);
  add("__truncdfhf2", &__truncdfhf2);
  add("__truncsfhf2", &__truncsfhf2);
  add("__extendhfsf2", &__extendhfsf2);
  return symbols;
}

// ---- Code ---------------------------------------------------------------------------------------

std::unique_ptr<llvm::TargetMachine> makeMachine() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  std::string features, error;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    features += (features.empty() ? "" : ",") + std::string(feature.second ? "+" : "-") +
                feature.first().str();
  }
  llvm::Triple triple(llvm::sys::getProcessTriple());
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, llvm::sys::getHostCPUName(), features, options, llvm::Reloc::PIC_));
}

std::string entryOf(const std::string& kernel) { return kernel + ".entry"; }

// A function that takes its buffers as a table, whose address the host can call.
void addEntry(llvm::Function& kernel) {
  llvm::IRBuilder<> b(kernel.getContext());
  auto* entry = llvm::Function::Create(
      llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false),
      llvm::Function::ExternalLinkage, entryOf(kernel.getName().str()), kernel.getParent());
  b.SetInsertPoint(llvm::BasicBlock::Create(kernel.getContext(), "", entry));
  std::vector<llvm::Value*> buffers;
  for (unsigned i = 0; i < kernel.arg_size(); ++i) {
    buffers.push_back(b.CreateLoad(
        b.getPtrTy(), b.CreateConstInBoundsGEP1_64(b.getPtrTy(), entry->getArg(0), i)));
  }
  b.CreateCall(&kernel, buffers);
  b.CreateRetVoid();
}

Status failed(const char* what, llvm::Error error) {
  return internalError(what, ": ", llvm::toString(std::move(error)));
}

// ---- Kernels ------------------------------------------------------------------------------------

using Entry = void (*)(void* const* buffers);

struct LoadedKernel {
  DeviceKernel info;
  Entry entry = nullptr;
};

// One more work-item than there are: it must do nothing.
int64_t withOneMore(int64_t items) { return items + (items > 1); }

void runItems(const LoadedKernel& kernel, void* const* buffers) {
  const std::array<int64_t, 3>& items = kernel.info.items;
  for (int64_t z = 0; z < withOneMore(items[2]); ++z) {
    for (int64_t y = 0; y < withOneMore(items[1]); ++y) {
      for (int64_t x = withOneMore(items[0]) - 1; x >= 0; --x) {
        position.item = {x, y, z};
        kernel.entry(buffers);
      }
    }
  }
}

void runGroups(const LoadedKernel& kernel, void* const* buffers) {
  const std::array<int64_t, 3>& items = kernel.info.items;
  // Of groups there are exactly as many as the kernel has items (device_optional.h).
  for (int64_t number = items[0] * items[1] * items[2] - 1; number >= 0; --number) {
    runGroup(kernel.info.groupThreads, [&](unsigned thread) {
      position.group = number;
      position.threadInGroup = thread;
      kernel.entry(buffers);
    });
  }
}

class SimulatedKernels final : public DeviceKernels {
 public:
  SimulatedKernels(const KernelBackend& backend, std::unique_ptr<llvm::orc::LLJIT> jit,
                   std::vector<LoadedKernel> kernels)
      : backend_(backend), code_(std::make_shared<Code>(std::move(jit), std::move(kernels))) {}

  StatusOr<DeviceEventRef> launch(int deviceId, int kernel, std::span<const DevicePlace> buffers,
                                  DeviceEvents after) const override {
    const LoadedKernel& info = code_->kernels[static_cast<size_t>(kernel)];
    if (buffers.size() > kMaxBuffers) {
      return internalError("kernel ", info.info.name, " has ", buffers.size(), " buffers");
    }
    std::vector<void*> pointers;
    for (const DevicePlace& place : buffers) {
      ISTHMUS_ASSIGN_OR_RETURN(char* pointer, twin(deviceId, place, 0));
      pointers.push_back(pointer);
    }
    if (info.info.groupThreads > 1) backend_.noteGroupLaunch();
    auto work = [code = code_, &info, pointers = std::move(pointers)]() -> Status {
      if (info.info.groupThreads == 1) {
        runItems(info, pointers.data());
        return {};
      }
      // The code has one memory for groups.
      std::lock_guard lock(code->groupMutex);
      runGroups(info, pointers.data());
      return {};
    };
    return submit(deviceId, info.info.name + " (" + info.info.description + ")", std::move(work),
                  after);
  }
  StatusOr<DeviceEventRef> copy(int deviceId, DevicePlace to, DevicePlace from, size_t bytes,
                                DeviceEvents after) const override {
    ISTHMUS_ASSIGN_OR_RETURN(char* target, twin(deviceId, to, bytes));
    ISTHMUS_ASSIGN_OR_RETURN(char* source, twin(deviceId, from, bytes));
    auto work = [=] {
      std::memcpy(target, source, bytes);
      return Status();
    };
    return submit(deviceId, "copy", work, after);
  }

 private:
  // Shared with launches that are under way.
  struct Code {
    Code(std::unique_ptr<llvm::orc::LLJIT> loaded, std::vector<LoadedKernel> of)
        : jit(std::move(loaded)), kernels(std::move(of)) {}
    std::unique_ptr<llvm::orc::LLJIT> jit;
    std::vector<LoadedKernel> kernels;
    std::mutex groupMutex;
  };

  StatusOr<char*> twin(int deviceId, const DevicePlace& place, size_t bytes) const {
    if (!place.block) return nullptr;
    return backend_.device(deviceId).memory().twin(static_cast<char*>(place.block) + place.offset,
                                                   bytes);
  }
  StatusOr<DeviceEventRef> submit(int deviceId, std::string name, std::function<Status()> work,
                                  DeviceEvents after) const {
    StatusOr<DeviceEventRef> event =
        backend_.device(deviceId).launch(std::move(name), false, std::move(work), after);
    if (backend_.isAsynchronous() || !event.ok()) return event;
    ISTHMUS_RETURN_IF_ERROR((*event)->await());
    return DeviceEventRef();
  }

  const KernelBackend& backend_;
  std::shared_ptr<Code> code_;
};

}  // namespace

std::string SimulatedCompiler::identity() const {
  return "simulated kernels " + std::to_string(static_cast<int>(form_)) + " for " +
         llvm::sys::getHostCPUName().str();
}

DeviceTarget SimulatedCompiler::target() const {
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine();
  DeviceTarget target;
  target.triple = machine->getTargetTriple().str();
  target.dataLayout = machine->createDataLayout().getStringRepresentation();
  if (form_ == KernelForm::kVectors) target.vectorBits = kVectorBits;
  if (form_ == KernelForm::kGroups) {
    target.groups = {.threads = kGroupThreads,
                     .memoryBytes = kGroupBytes,
                     .subgroupThreads = kSubgroupThreads,
                     .atomicBits = 64,
                     .vectorBits = kVectorBits};
  }
  return target;
}

DeviceCollectives* SimulatedCompiler::collectives() const { return &backend_.collectives(); }

StatusOr<std::string> SimulatedCompiler::emit(std::string_view llvmIr,
                                              std::span<const DeviceKernel> kernels) const {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString({llvmIr.data(), llvmIr.size()}, problem, context);
  if (!module) return internalError("the kernels are malformed: ", problem.getMessage().str());
  // Kernels that compute the same share a function.
  for (const DeviceKernel& kernel : kernels) {
    if (!module->getFunction(entryOf(kernel.name))) addEntry(*module->getFunction(kernel.name));
  }
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine();
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile)) {
    return internalError("the code generator cannot write object files");
  }
  passes.run(*module);
  return object.str().str();
}

StatusOr<std::unique_ptr<DeviceKernels>> SimulatedCompiler::load(
    std::string_view code, std::span<const DeviceKernel> kernels) const {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<LoadedKernel> loaded;
  if (!kernels.empty()) {
    static_cast<void>(makeMachine());  // LLVM knows the processor from then on
    llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> made = llvm::orc::LLJITBuilder().create();
    if (!made) return failed("no place for code", made.takeError());
    jit = std::move(*made);
    llvm::orc::JITDylib& dylib = jit->getMainJITDylib();
    llvm::Error error = dylib.define(llvm::orc::absoluteSymbols(deviceFunctions(*jit)));
    auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
        jit->getDataLayout().getGlobalPrefix());
    if (!process) return failed("the process has no symbols", process.takeError());
    dylib.addGenerator(std::move(*process));
    if (!error) {
      error = jit->addObjectFile(
          llvm::MemoryBuffer::getMemBufferCopy({code.data(), code.size()}, "kernels"));
    }
    if (error) return failed("the code cannot be loaded", std::move(error));
  }
  for (const DeviceKernel& kernel : kernels) {
    llvm::Expected<llvm::orc::ExecutorAddr> entry = jit->lookup(entryOf(kernel.name));
    if (!entry) return failed("the code cannot be loaded", entry.takeError());
    loaded.push_back({kernel, entry->toPtr<Entry>()});
  }
  return std::unique_ptr<DeviceKernels>(
      std::make_unique<SimulatedKernels>(backend_, std::move(jit), std::move(loaded)));
}

}  // namespace isthmus::simulated

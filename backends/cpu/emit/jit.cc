// Machine code from LLVM modules, by LLVM's target machine of this CPU.
#include "backends/cpu/emit/jit.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "compiler/codegen/analyses.h"
#include "compiler/target/error_handlers.h"
#include "isthmus/thread.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace isthmus::cpu {
namespace {

void initializeNativeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    installErrorHandlers();
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

StatusOr<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const TargetModel& target,
                                                                 CodegenEffort effort) {
  initializeNativeTarget();
  std::string error;
  llvm::Triple triple(target.triple);
  const llvm::Target* backend = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend) return unimplemented("no code generator for ", target.triple, ": ", error);
  llvm::TargetOptions options;
  // Arithmetic is exactly what the emitter wrote.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.EnableFastISel = false;
  llvm::CodeGenOptLevel level =
      effort == CodegenEffort::kFast ? llvm::CodeGenOptLevel::Less : llvm::CodeGenOptLevel::Default;
  std::unique_ptr<llvm::TargetMachine> machine(
      backend->createTargetMachine(triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
                                   llvm::CodeModel::Small, level, /*JIT=*/true));
  if (!machine) return internalError("cannot make a code generator for ", target.triple);
  return machine;
}

// Making one costs as much as a small kernel, so each thread keeps its last one per effort.
StatusOr<llvm::TargetMachine*> threadTargetMachine(const TargetModel& target,
                                                   CodegenEffort effort) {
  struct Cached {
    std::string key;
    std::unique_ptr<llvm::TargetMachine> machine;
  };
  thread_local Cached cache[3];
  Cached& slot = cache[static_cast<int>(effort)];
  std::string key = target.triple + '/' + target.cpu + '/' + target.features;
  if (!slot.machine || slot.key != key) {
    ISTHMUS_ASSIGN_OR_RETURN(slot.machine, makeTargetMachine(target, effort));
    slot.key = key;
  }
  return slot.machine.get();
}

Status emitFile(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
                llvm::SmallVectorImpl<char>& out) {
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type)) {
    return internalError("the code generator cannot write object files");
  }
  passes.run(module);
  return Status();
}

}  // namespace

JitModule::JitModule() = default;
JitModule::JitModule(JitModule&&) noexcept = default;
JitModule& JitModule::operator=(JitModule&& other) noexcept {
  // The module must go before its context.
  module = std::move(other.module);
  context = std::move(other.context);
  return *this;
}
JitModule::~JitModule() { module.reset(); }

StatusOr<JitModule> makeModule(std::string_view name, const TargetModel& target) {
  ISTHMUS_ASSIGN_OR_RETURN(llvm::TargetMachine * machine,
                           threadTargetMachine(target, CodegenEffort::kDefault));
  JitModule result;
  result.context = std::make_unique<llvm::LLVMContext>();
  result.module = std::make_unique<llvm::Module>(llvm::StringRef(name), *result.context);
  result.module->setTargetTriple(llvm::Triple(target.triple));
  result.module->setDataLayout(machine->createDataLayout());
  return result;
}

StatusOr<std::string> compileToObject(llvm::Module& module, const TargetModel& target,
                                      const CodegenOptions& options) {
  if (options.verify) {
    std::string problems;
    llvm::raw_string_ostream stream(problems);
    if (llvm::verifyModule(module, &stream)) {
      return internalError("generated code is malformed: ", problems);
    }
  }
  ISTHMUS_ASSIGN_OR_RETURN(llvm::TargetMachine * machine,
                           threadTargetMachine(target, options.effort));
  if (options.effort == CodegenEffort::kFull) codegen::runDefaultPipeline(module, *machine);
  if (options.llvmIr) {
    llvm::raw_string_ostream stream(*options.llvmIr);
    module.print(stream, nullptr);
  }
  if (options.assembly) {
    // Code generation rewrites IR, so the text comes from a copy of its own.
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
    llvm::SmallString<0> text;
    ISTHMUS_RETURN_IF_ERROR(emitFile(*copy, *machine, llvm::CodeGenFileType::AssemblyFile, text));
    *options.assembly = text.str().str();
  }
  llvm::SmallString<0> object;
  ISTHMUS_RETURN_IF_ERROR(emitFile(module, *machine, llvm::CodeGenFileType::ObjectFile, object));
  return object.str().str();
}

StatusOr<std::vector<std::string>> compileModules(std::span<JitModule> modules,
                                                  const TargetModel& target,
                                                  const CodegenOptions& options, int threads) {
  std::vector<std::string> objects(modules.size());
  std::vector<Status> statuses(modules.size());
  std::atomic<size_t> next{0};
  auto compile = [&](size_t i) {
    StatusOr<std::string> object = compileToObject(*modules[i].module, target, options);
    if (object.ok()) {
      objects[i] = std::move(*object);
    } else {
      statuses[i] = object.status();
    }
  };
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < modules.size();) {
      try {
        compile(i);
      } catch (const std::bad_alloc&) {
        statuses[i] = resourceExhausted("no memory to generate machine code");
      } catch (const std::exception& error) {
        statuses[i] = internalError("the code generator failed: ", error.what());
      }
    }
  };
  ThreadGroup helpers;
  for (int i = 1; i < threads && i < static_cast<int>(modules.size()); ++i) {
    // Without a helper the others have more to do.
    if (!helpers.start({.name = "isthmus-compile", .stackBytes = kCompileStackBytes}, work)) break;
  }
  work();
  helpers.join();
  for (const Status& status : statuses) ISTHMUS_RETURN_IF_ERROR(status);
  return objects;
}

}  // namespace isthmus::cpu

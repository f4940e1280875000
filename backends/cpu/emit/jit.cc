// Machine code from LLVM modules, by LLVM's target machine of this CPU.
#include "backends/cpu/emit/jit.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "backends/cpu/emit/constants_in_memory.h"
#include "backends/cpu/emit/llvm_workarounds.h"
#include "backends/cpu/emit/runtime_library.h"
#include "compiler/codegen/module/analyses.h"
#include "compiler/codegen/module/edited_module.h"
#include "compiler/target/error_handlers.h"
#include "isthmus/memory_reserve.h"
#include "isthmus/out_of_memory.h"
#include "isthmus/thread.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace isthmus::cpu {
namespace {

// Passes that cost more than they gain on what the emitter writes. LLVM has no other switch for
// them than those of its command line.
void skipPasses() {
  for (llvm::StringRef name : {
           // Few values change with a loop, and x86 addresses memory by a base and a scaled index:
           // a fifth of code generation for nothing.
           "disable-lsr",
           // A core that runs out of order schedules for itself what registers allow: a tenth.
           "disable-post-ra",
       }) {
    auto& options = llvm::cl::getRegisteredOptions();
    if (auto option = options.find(name); option != options.end()) {
      static_cast<llvm::cl::opt<bool>*>(option->second)->setValue(true);
    }
  }
}

void initializeNativeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    installErrorHandlers();
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    skipPasses();
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

// A target machine, and the passes of instruction selection and after, which write an object.
// Making the two costs as much as a small kernel, so they are kept between modules.
class Generator {
 public:
  Generator(std::string key, std::unique_ptr<llvm::TargetMachine> machine)
      : key_(std::move(key)), machine_(std::move(machine)) {}

  const std::string& key() const { return key_; }
  llvm::TargetMachine& machine() { return *machine_; }

  StatusOr<std::string> emitObject(llvm::Module& module) {
    object_.clear();
    if (!passes_) {
      auto passes = std::make_unique<llvm::legacy::PassManager>();
      if (machine_->addPassesToEmitFile(*passes, stream_, nullptr,
                                        llvm::CodeGenFileType::ObjectFile)) {
        return internalError("the code generator cannot write object files");
      }
      passes_ = std::move(passes);
    }
    passes_->run(module);
    return object_.str().str();
  }

 private:
  std::string key_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::SmallString<0> object_;
  llvm::raw_svector_ostream stream_{object_};
  std::unique_ptr<llvm::legacy::PassManager> passes_;
};

// The generators that no thread uses at the moment.
class GeneratorPool {
 public:
  // Those that are idle stay for the process's life, so they are few.
  static constexpr size_t kMaxIdle = 8;

  StatusOr<std::unique_ptr<Generator>> take(const TargetModel& target, CodegenEffort effort) {
    std::string key = std::to_string(static_cast<int>(effort)) + '/' + target.triple + '/' +
                      target.cpu + '/' + target.features;
    {
      std::lock_guard lock(mutex_);
      auto found = std::find_if(idle_.rbegin(), idle_.rend(),
                                [&](const auto& generator) { return generator->key() == key; });
      if (found != idle_.rend()) {
        std::unique_ptr<Generator> generator = std::move(*found);
        idle_.erase(std::next(found).base());
        return generator;
      }
    }
    ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine,
                             makeTargetMachine(target, effort));
    return std::make_unique<Generator>(std::move(key), std::move(machine));
  }

  // Only of a generator whose passes ran to their end: an exception leaves them in any state.
  void giveBack(std::unique_ptr<Generator> generator) {
    std::unique_ptr<Generator> oldest;
    std::lock_guard lock(mutex_);
    if (idle_.size() == kMaxIdle) {
      oldest = std::move(idle_.front());
      idle_.erase(idle_.begin());
    }
    idle_.push_back(std::move(generator));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Generator>> idle_;
};

GeneratorPool& generatorPool() {
  // Never destroyed: threads may compile while the process ends.
  static auto* pool = new GeneratorPool;
  return *pool;
}

// Without memory every pass that may be left out is: what they make is thrown away.
class PassGate final : public llvm::OptPassGate {
 public:
  bool shouldRunPass(llvm::StringRef, llvm::StringRef) const override { return !isOutOfMemory(); }
  bool isEnabled() const override { return isOutOfMemory(); }
};

llvm::OptPassGate& passGate() {
  static PassGate gate;
  return gate;
}

Status emitAssembly(llvm::Module& module, llvm::TargetMachine& machine, std::string& out) {
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
    return internalError("the code generator cannot write assembly");
  }
  passes.run(module);
  out = text.str().str();
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
  ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<Generator> generator,
                           generatorPool().take(target, CodegenEffort::kDefault));
  JitModule result;
  result.context = std::make_unique<llvm::LLVMContext>();
  result.module = std::make_unique<llvm::Module>(llvm::StringRef(name), *result.context);
  result.module->setTargetTriple(llvm::Triple(target.triple));
  result.module->setDataLayout(generator->machine().createDataLayout());
  generatorPool().giveBack(std::move(generator));
  return result;
}

StatusOr<std::string> compileToObject(llvm::Module& module, const TargetModel& target,
                                      const CodegenOptions& options) {
  if (isOutOfMemory()) return outOfHostMemory();
  module.getContext().setOptPassGate(passGate());
  if (options.verify) {
    std::string problems;
    llvm::raw_string_ostream stream(problems);
    if (llvm::verifyModule(module, &stream)) {
      return internalError("generated code is malformed: ", problems);
    }
  }
  ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<Generator> generator,
                           generatorPool().take(target, options.effort));
  llvm::TargetMachine& machine = generator->machine();
  if (options.effort == CodegenEffort::kFull) {
    const llvm::TargetLibraryInfoImpl library = runtimeLibrary(module);
    codegen::runDefaultPipeline(module, machine, &library);
  }
  if (target.avx512) {
    separateSelectsOfBits(module);
  } else {
    keepConstantsInMemory(module);
  }
  if (options.llvmIr) {
    llvm::raw_string_ostream stream(*options.llvmIr);
    module.print(stream, nullptr);
  }
  std::unique_ptr<llvm::Module> edited;
  if (options.readOverride) {
    const std::string fileName = module.getName().str() + ".ll";
    if (std::optional<std::string> text = options.readOverride(fileName)) {
      ISTHMUS_ASSIGN_OR_RETURN(edited, codegen::readEditedModule(module, *text, fileName));
    }
  }
  llvm::Module& compiled = edited ? *edited : module;
  if (options.assembly) {
    // Code generation rewrites IR, so the text comes from a copy of its own.
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(compiled);
    ISTHMUS_RETURN_IF_ERROR(emitAssembly(*copy, machine, *options.assembly));
  }
  ISTHMUS_ASSIGN_OR_RETURN(std::string object, generator->emitObject(compiled));
  generatorPool().giveBack(std::move(generator));
  return object;
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
  auto work = [&, reserve = MemoryReserve::current(), caller = std::this_thread::get_id()] {
    MemoryReserve::Share share(reserve);
    // A helper without a share of the reserve leaves the work to the others.
    if (reserve != nullptr && !share.isSet() && std::this_thread::get_id() != caller) return;
    for (size_t i; (i = next.fetch_add(1)) < modules.size();) {
      try {
        compile(i);
      } catch (const std::bad_alloc&) {
        statuses[i] = outOfHostMemory();
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

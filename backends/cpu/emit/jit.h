// Machine code from LLVM modules: a native object file per module, and objects loaded to be called.
//
// Objects are plain ELF bytes, so that they can be serialized; loading them (object_loader.h) needs
// no LLVM.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/load/host_target.h"
#include "compiler/target/target_model.h"
#include "isthmus/status.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace isthmus::cpu {

// A context and a module in it, with the data layout and triple of `target` set: what one compile
// thread works on.
struct JitModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  JitModule();
  JitModule(JitModule&&) noexcept;
  JitModule& operator=(JitModule&&) noexcept;
  ~JitModule();
};
StatusOr<JitModule> makeModule(std::string_view name, const TargetModel& target);

enum class CodegenEffort {
  kFast,     // no mid-level passes, quick instruction selection: for code that runs seldom
  kDefault,  // no mid-level passes: kernels are emitted well enough
  kFull,     // LLVM's O2 pipeline first
};

struct CodegenOptions {
  CodegenEffort effort = CodegenEffort::kDefault;
  bool verify = false;            // run LLVM's verifier first; a broken module is kInternal
  std::string* llvmIr = nullptr;  // if set, gets the module as text, as it goes to code generation
  // If set, gives what is compiled in place of the module NAME, after llvmIr was written: the text
  // of NAME.ll, or nothing. What is no such module is kInvalidArgument.
  std::function<std::optional<std::string>(std::string_view fileName)> readOverride = {};
  std::string* assembly = nullptr;  // if set, gets the assembly text (compiles a second time)
};

// The object file of `module`, which is consumed in the sense that passes may have changed it. May
// run on several threads, one context each.
StatusOr<std::string> compileToObject(llvm::Module& module, const TargetModel& target,
                                      const CodegenOptions& options = {});

// Compiles each module, on up to `threads` threads with the caller's among them.
StatusOr<std::vector<std::string>> compileModules(std::span<JitModule> modules,
                                                  const TargetModel& target,
                                                  const CodegenOptions& options, int threads);

}  // namespace isthmus::cpu

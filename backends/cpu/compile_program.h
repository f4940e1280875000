// From a fused program to a native executable.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backends/cpu/executable.h"
#include "compiler/codegen/kernel_target.h"
#include "isthmus/backend.h"
#include "isthmus/status.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus::cpu {

struct CompileSettings {
  const KernelTarget& target;
  CompileOptions options = {};
  std::string fingerprint = {};
  int threads = 1;
  // Check plans and generated code before they are used.
  bool verify = false;
  // Receives plan.txt, *.ll and *.s by name; may be empty.
  std::function<void(std::string_view fileName, std::string_view text)> dump = {};
};

// `module` holds `@main` after fusion (compiler/pipeline). kUnimplemented for operations without
// code, naming op, types and source position.
StatusOr<ProgramImage> compileProgram(mlir::ModuleOp module, const CompileSettings& settings);

}  // namespace isthmus::cpu

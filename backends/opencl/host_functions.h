// Operations that the host carries out, staged: operands are copied from the device, results back.
//
// The functions are the CPU backend's. Which operations they are is said once per operation and
// program, at log level info.
#pragma once

#include <memory>
#include <vector>

#include "backends/cpu/abi.h"
#include "backends/cpu/emit/jit.h"
#include "backends/cpu/load/object_loader.h"
#include "backends/cpu/lower/library_ops.h"
#include "backends/opencl/program.h"
#include "isthmus/status.h"
#include "mlir/IR/Operation.h"

namespace isthmus::opencl {

// While a program is compiled: collects the functions that it needs.
class HostFunctionTable {
 public:
  static StatusOr<std::unique_ptr<HostFunctionTable>> create();

  // The number of the function that carries out `op`. kUnimplemented, naming the operation, its
  // types and its source position, if the CPU backend has none either.
  StatusOr<int> add(mlir::Operation* op);
  // Moves all that was collected to `image`.
  Status finish(ProgramImage& image);

 private:
  explicit HostFunctionTable(cpu::JitModule module);

  cpu::JitModule module_;
  cpu::LibraryContext context_;
  std::vector<HostFunction> functions_;
};

// Of a loaded program: what can be called. Immutable; called from many threads.
class HostFunctions {
 public:
  static StatusOr<std::unique_ptr<HostFunctions>> load(const ProgramImage& image);

  // `buffers`: the operands, then the results, in host memory; both aligned to kBufferAlignment.
  Status call(int function, const RunRequest& request, std::vector<void*> buffers) const;

 private:
  struct Loaded {
    cpu::IsthmusLibraryFunction function;
    const HostFunction* info;
    std::vector<void*> callbacks;
  };
  std::vector<Loaded> functions_;
  std::unique_ptr<cpu::LoadedCode> code_;
  cpu::CallSites callSites_;
};

}  // namespace isthmus::opencl

// Operations that the host carries out for a device whose backend lacks them, staged: operands are
// copied from the device, results back.
//
// Which operations they are is said once per operation and program, at log level info.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/abi.h"
#include "backends/cpu/emit/jit.h"
#include "backends/cpu/load/object_loader.h"
#include "backends/cpu/lower/library_ops.h"
#include "isthmus/backend.h"
#include "isthmus/status.h"
#include "mlir/IR/Operation.h"
#include "runtime/ffi/call_site.h"

namespace isthmus::cpu {

// An operation that the host carries out with a library function.
struct HostFunction {
  std::string function;    // "isthmus_rt_cholesky"
  std::string descriptor;  // its plain data
  std::vector<std::string> callbacks;
  int64_t scratchBytes = 0;
  std::string description;
};

// All of them in a program.
struct HostProgram {
  std::vector<HostFunction> functions;
  std::vector<std::string> objects;  // ELF objects with the callbacks
  std::string features;              // what these need of the CPU: "+avx2,+fma,…"
  std::vector<ffi::CallSpec> calls;  // custom calls, by the index in their descriptors
  bool callsUserCode = false;
};

// While a program is compiled: collects the functions that it needs.
class HostFunctionTable {
 public:
  // `platform` is who lacks the operations ("xpu"), for messages.
  static StatusOr<std::unique_ptr<HostFunctionTable>> create(std::string platform);

  // The number of the function that carries out `op`, an operation or a fusion. kUnimplemented,
  // naming the operation, its types and its source position, if the CPU backend has none either.
  StatusOr<int> add(mlir::Operation* op);
  // What was collected; the table is then empty.
  StatusOr<HostProgram> finish();

 private:
  HostFunctionTable(std::string platform, JitModule module);
  StatusOr<HostFunction> lower(mlir::Operation* op);

  std::string platform_;
  JitModule module_;
  LibraryContext context_;
  std::vector<HostFunction> functions_;
};

// Of a loaded program: what can be called. Immutable; called from many threads.
class HostFunctions {
 public:
  // `program` outlives the result.
  static StatusOr<std::unique_ptr<HostFunctions>> load(const HostProgram& program);

  // `buffers`: the operands, then the results, in host memory; both aligned to kBufferAlignment.
  Status call(int function, const RunRequest& request, std::vector<void*> buffers) const;

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

}  // namespace isthmus::cpu

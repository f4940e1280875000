// Operations that the host carries out for a device whose backend lacks them, staged: operands are
// copied from the device, results back.
//
// Which operations they are is said once per operation and program, at log level info. Who carries
// them out is linked by the plugin: backends/cpu/staging.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/program/custom_call.h"
#include "isthmus/backend.h"
#include "isthmus/device_optional.h"
#include "isthmus/status.h"

namespace mlir {
class Operation;
}

namespace isthmus {

struct Loop;

// An operation, or a loop, that the host carries out with a library function.
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

// While a program is compiled, by one thread: collects the functions that it needs.
class HostFunctionTable {
 public:
  virtual ~HostFunctionTable() = default;
  // The number of the function that carries out `op`, an operation or a fusion. kUnimplemented,
  // naming the operation, its types and its source position, if the host has none either.
  virtual StatusOr<int> add(mlir::Operation* op) = 0;
  // The number of a function over the places of Loop::onHost that carries out the loop, whose calls
  // are of functions with numbers of this table.
  virtual StatusOr<int> addLoop(const Loop& loop) = 0;
  // What was collected; the table is then empty.
  virtual StatusOr<HostProgram> finish() = 0;
};

// Of a loaded program: what can be called. Immutable; called from many threads.
class HostFunctions {
 public:
  virtual ~HostFunctions() = default;
  // `buffers`: the operands, then the results, in host memory; both aligned to kBufferAlignment.
  // Blocks until the results are there.
  virtual Status call(int function, const RunRequest& request,
                      std::vector<void*> buffers) const = 0;
};

// Makes both. Called from any thread. linkedHostFunctions() is the one of this process, as
// linkedBackend() is its backend.
class HostFunctionProvider {
 public:
  virtual ~HostFunctionProvider() = default;
  // `platform` is who lacks the operations ("xpu"), for messages.
  virtual StatusOr<std::unique_ptr<HostFunctionTable>> createTable(std::string platform) const = 0;
  // kFailedPrecondition, naming them, if this machine lacks features that the program needs.
  virtual Status checkFeatures(const HostProgram& program) const = 0;
  // Terms of a dot_general or a convolution that the host's instructions for its types add up in a
  // sum of 32 bits at once, which kernels in LLVM IR need not reach: 1 but for narrow types. Of
  // other operations 1.
  virtual int termsAtOnce(mlir::Operation* op) const = 0;
  // `program` outlives the result. kInvalidArgument if its objects are malformed.
  virtual StatusOr<std::unique_ptr<HostFunctions>> load(const HostProgram& program) const = 0;
};

}  // namespace isthmus

// Loops whose steps are all the host's, as native code.
#pragma once

#include <span>
#include <string>

#include "backends/shared/staging/host_functions.h"
#include "compiler/codegen/kernel_emitter.h"
#include "compiler/driver/device_program.h"
#include "compiler/target/target_model.h"
#include "isthmus/status.h"

namespace llvm {
class Module;
}

namespace isthmus::cpu {

// A function of the table as its calls need it.
struct TableFunction {
  HostFunction function;
  std::vector<KernelStage> stages;  // of a fusion, which its callbacks are; else none
};

// Adds a function named `symbol` to `module`, an IsthmusLibraryFunction without a descriptor, that
// carries out the loop over the places of Loop::onHost and the scratch memory behind them, of which
// it returns the bytes. Kernels and callbacks of `functions` are in the module.
StatusOr<int64_t> emitHostLoop(const Loop& loop, std::span<const TableFunction> functions,
                               const TargetModel& target, const std::string& symbol,
                               llvm::Module& module);

}  // namespace isthmus::cpu

// A loaded program of a DeviceCompiler's device, on a backend of either kind.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backends/shared/staging/kernel_program.h"
#include "backends/shared/staging/staged_executable.h"
#include "base/memory/program_memory.h"
#include "isthmus/backend.h"
#include "isthmus/device_compiler.h"

namespace isthmus {

class KernelExecutable final : public StagedExecutable {
 public:
  // Both outlive it.
  static StatusOr<std::shared_ptr<const Executable>> load(Backend& backend,
                                                          const DeviceCompiler& compiler,
                                                          KernelProgram program);
  ~KernelExecutable() override;

  size_t scratchBytes() const override { return scratchBytes_; }
  bool mayBlock() const override { return program_.host.callsUserCode || meetsOthers(); }
  Status run(const RunRequest& request) const override;
  StatusOr<DeviceEventRef> enqueue(const RunRequest& request, DeviceEvents after) const override;
  StatusOr<std::string> serialize() const override;

 private:
  class Run;

  KernelExecutable(Backend& backend, const DeviceCompiler& compiler, KernelProgram program);
  const StagedProgram& program() const override { return program_; }
  bool meetsOthers() const { return !program_.info.exchanges.empty(); }
  // The program's constants in the device's memory, from its first run there on.
  StatusOr<void*> constants(int device) const;

  Backend& backend_;
  const std::string identity_;
  DeviceCollectives* const collectives_;  // null: the host's
  KernelProgram program_;
  std::unique_ptr<DeviceKernels> kernels_;
  size_t swapOffset_;  // in the scratch memory
  size_t scratchBytes_;
  mutable std::mutex mutex_;
  struct Constants {
    void* block = nullptr;
    ProgramMemory::Block counted;
  };
  mutable std::map<int, Constants> constants_;  // by device; guarded by the mutex
};

}  // namespace isthmus

// A loaded program of a DeviceCompiler's device, on a backend of either kind.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

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
  Status run(const RunRequest& request) const override;
  StatusOr<DeviceEventRef> enqueue(const RunRequest& request, DeviceEvents after) const override;
  StatusOr<std::string> serialize() const override;

 private:
  class Run;

  KernelExecutable(Backend& backend, const DeviceCompiler& compiler, KernelProgram program);
  const StagedProgram& program() const override { return program_; }
  struct ConstantsOnDevice {
    void* block = nullptr;
    DeviceEventRef copied;  // null: they are there
  };
  // The program's constants in the device's memory, from its first run there on. The copy reads
  // them from here, so this outlives each run that waits for it.
  StatusOr<ConstantsOnDevice> constants(int device) const;

  Backend& backend_;
  const std::string identity_;
  DeviceCollectives* const collectives_;  // null: the host's
  KernelProgram program_;
  std::shared_ptr<const std::vector<std::string>> kernelTexts_;  // what each is, for errors
  std::unique_ptr<DeviceKernels> kernels_;
  size_t swapOffset_;  // in the scratch memory
  size_t scratchBytes_;
  mutable std::mutex mutex_;
  struct Constants {
    void* block = nullptr;
    DeviceEventRef available;  // when the block may be written
    DeviceEventRef copied;     // of the copy that is under way; null if there is none
    bool isThere = false;
    ProgramMemory::Block counted;
  };
  mutable std::map<int, Constants> constants_;  // by device; guarded by the mutex
};

}  // namespace isthmus

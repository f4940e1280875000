// A compiled program on the devices of one driver.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backends/opencl/driver/driver.h"
#include "backends/opencl/program.h"
#include "backends/shared/staging/staged_executable.h"
#include "base/memory/program_memory.h"
#include "isthmus/backend.h"

namespace isthmus::opencl {

class OpenclExecutable final : public StagedExecutable {
 public:
  // Builds the kernels for the devices of `driver`, which outlives all executables, and uploads the
  // constants.
  static StatusOr<std::shared_ptr<const Executable>> load(Driver& driver, ProgramImage image);
  ~OpenclExecutable() override;

  // Enqueues all steps, each after those that it conflicts with; blocks where control flow needs a
  // predicate, or the host has a part.
  StatusOr<DeviceEventRef> enqueue(const RunRequest& request, DeviceEvents after) const override;
  bool isCheap() const override { return isCheap_; }
  bool waitersCompute() const override { return waitersCompute_; }
  StatusOr<std::string> serialize() const override;

 private:
  class Run;

  // Kernel objects hold arguments, so each device has its own, and one thread at a time sets
  // arguments and launches.
  struct DeviceKernels {
    std::mutex mutex;
    std::vector<cl_kernel> kernels;
  };

  OpenclExecutable(Driver& driver, ProgramImage image)
      : driver_(driver), image_(std::move(image)) {}
  Status build();
  StatusOr<std::unique_ptr<Program>> buildKernels();
  StatusOr<CommandEvent> launch(int device, int kernel, const std::vector<void*>& buffers,
                                CommandEvents after, Driver::Queue queue) const;
  const StagedProgram& program() const override { return image_; }

  Driver& driver_;
  ProgramImage image_;
  bool isCheap_ = false;  // nothing is read while steps are enqueued, which are few
  // A thread that waits for the program does it before one that is woken.
  bool waitersCompute_ = false;
  bool isBrief_ = false;  // and the program is so short that whoever enqueues it does
  std::shared_ptr<const std::vector<std::string>> kernelNames_;
  std::unique_ptr<Program> program_;
  std::vector<std::unique_ptr<DeviceKernels>> kernels_;  // by device
  std::vector<void*> constants_;  // by device, in its own memory; null: there are none
  std::vector<ProgramMemory::Block> counted_;
};

}  // namespace isthmus::opencl

// A compiled program on the devices of one driver.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backends/cuda/driver/blas.h"
#include "backends/cuda/driver/driver.h"
#include "backends/cuda/graph_cache.h"
#include "backends/cuda/program.h"
#include "isthmus/backend.h"

namespace isthmus::cuda {

class CudaExecutable final : public Executable {
 public:
  // Loads the kernels on each device of `driver`, which outlives all executables like `blas`, and
  // uploads the constants. `blas` may be null if the program calls none of it.
  static StatusOr<std::shared_ptr<const Executable>> load(Driver& driver, Blas* blas,
                                                          ProgramImage image);
  ~CudaExecutable() override;

  const ProgramInfo& info() const override { return image_.info; }
  // Enqueues all steps on the device's stream, reads predicates where control flow needs them, and
  // returns when the device is done.
  Status run(const RunRequest& request) const override;
  bool callsUserCode() const override { return image_.host.callsUserCode; }

 private:
  class Run;

  // What each device has of the program.
  struct OnDevice {
    std::unique_ptr<DeviceModule> module;
    std::vector<CUfunction> kernels;
    std::vector<std::shared_ptr<const BlasPlan>> products;
    void* constants = nullptr;
    std::unique_ptr<GraphCache> graphs;
  };

  CudaExecutable(Driver& driver, Blas* blas, ProgramImage image)
      : driver_(driver), blas_(blas), image_(std::move(image)) {}
  StatusOr<OnDevice> loadOn(int device);
  // What may have gone wrong, in the words of the program.
  Status explainFault(int device, const Status& status) const;

  Driver& driver_;
  Blas* blas_;
  ProgramImage image_;
  // All steps are enqueued without reading anything: they can be a graph.
  bool isStraight_ = false;
  std::vector<OnDevice> devices_;
  std::unique_ptr<cpu::HostFunctions> hostFunctions_;
};

}  // namespace isthmus::cuda

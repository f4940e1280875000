// The CUDA backend, platform `cuda`: devices and their memory by NVIDIA's driver.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cuda/code_generator.h"
#include "backends/cuda/driver/blas.h"
#include "backends/cuda/driver/dnn/dnn.h"
#include "backends/cuda/driver/driver.h"
#include "backends/cuda/driver/nccl.h"
#include "backends/cuda/executable/executable.h"
#include "backends/cuda/queue.h"
#include "backends/shared/devices/driver_backend.h"
#include "isthmus/backend.h"

namespace isthmus::cuda {

// What a client chooses.
struct CudaChoice {
  std::string library;
  std::string libdevice;
  std::string blas, dnn, nccl;  // empty: none
  int64_t count = 0;
  std::vector<int64_t> visible;  // device numbers; none: all
  bool operator==(const CudaChoice&) const = default;
};

class CudaBackend final : public DriverBackend<Driver, CudaQueue, CudaChoice> {
 public:
  CudaBackend() : DriverBackend("cuda", "CUDA") {}

  std::string platformVersion() const override;
  // Loads the driver. Options: num_devices (integer ≥ 1; else ISTHMUS_NUM_DEVICES, else as many as
  // the driver has; more than that share them), visible_devices (integers: their numbers, in this
  // order), cuda_library and libdevice (strings; else ISTHMUS_CUDA_LIBRARY and
  // ISTHMUS_CUDA_LIBDEVICE), cuda_blas, cuda_dnn and cuda_nccl (strings, may be empty; else
  // ISTHMUS_CUDA_BLAS, ISTHMUS_CUDA_DNN and ISTHMUS_CUDA_NCCL), platform_name, node_id, num_nodes,
  // enable_mock_nccl (false). kNotFound without a driver or device; kFailedPrecondition for devices
  // older than compute capability 8.0, and if an earlier client chose other devices.
  StatusOr<std::vector<DeviceDescription>> describeDevices(const AttributeMap& options) override;
  AttributeMap memoryStats(int deviceId) const override;
  StatusOr<std::shared_ptr<const Executable>> compile(const CompileRequest& request) override;
  StatusOr<std::shared_ptr<const Executable>> deserialize(std::string_view bytes) override;
  Support supports(std::string_view op) const override;

 private:
  Libraries libraries() const;
  StatusOr<std::unique_ptr<Driver>> createDriver(const CudaChoice& choice) override;
  std::unique_ptr<CudaQueue> createQueue(Driver& driver, int device) override {
    arenas_.push_back(
        std::make_unique<ScratchArena>(driver, device, ProgramMemory::of(*this, device)));
    return std::make_unique<CudaQueue>(driver, *pinned_, device);
  }
  // What programs are compiled for: the client's devices, with the libraries that are there.
  StatusOr<CompileTarget> compileTarget() const;

  // Under mutex_.
  std::unique_ptr<PinnedPool> pinned_;
  std::vector<std::unique_ptr<ScratchArena>> arenas_;  // by device
  std::unique_ptr<Blas> blas_;  // null: products are multiplied by own kernels
  std::unique_ptr<Dnn> dnn_;    // null: so are convolutions
  std::unique_ptr<Nccl> nccl_;  // null: collectives are the host's
};

}  // namespace isthmus::cuda

// The CUDA backend, platform `cuda`: devices and their memory by NVIDIA's driver.
#pragma once

#include <memory>
#include <mutex>

#include "backends/cuda/code_generator.h"
#include "backends/cuda/driver/blas.h"
#include "backends/cuda/driver/dnn.h"
#include "backends/cuda/driver/driver.h"
#include "backends/cuda/driver/nccl.h"
#include "backends/cuda/executable.h"
#include "backends/cuda/queue.h"
#include "isthmus/backend.h"

namespace isthmus::cuda {

class CudaBackend final : public Backend {
 public:
  std::string platformName() const override;
  std::string platformVersion() const override;
  // Loads the driver. Options: num_devices (integer ≥ 1; else ISTHMUS_NUM_DEVICES, else as many as
  // the driver has; more than that share them), visible_devices (integers: their numbers, in this
  // order), cuda_library and libdevice (strings; else ISTHMUS_CUDA_LIBRARY and
  // ISTHMUS_CUDA_LIBDEVICE), cuda_blas, cuda_dnn and cuda_nccl (strings, may be empty; else
  // ISTHMUS_CUDA_BLAS, ISTHMUS_CUDA_DNN and ISTHMUS_CUDA_NCCL), platform_name, node_id, num_nodes,
  // enable_mock_nccl (false). kNotFound without a driver or device; kFailedPrecondition for devices
  // older than compute capability 8.0, and if an earlier client chose other devices.
  StatusOr<std::vector<DeviceDescription>> describeDevices(const AttributeMap& options) override;
  DeviceQueue* queue(int deviceId) override;
  AttributeMap memoryStats(int deviceId) const override;
  bool isHostAddressable() const override { return false; }
  StatusOr<std::shared_ptr<const Executable>> compile(const CompileRequest& request) override;
  StatusOr<std::string> optimizedProgram(const ProgramInfo& info) override;
  StatusOr<std::shared_ptr<const Executable>> deserialize(std::string_view bytes) override;
  Support supports(std::string_view op) const override;

 private:
  struct Choice {
    std::string library;
    std::string libdevice;
    std::string blas, dnn, nccl;  // empty: none
    int64_t count = 0;
    std::vector<int64_t> visible;  // device numbers; none: all
    bool operator==(const Choice&) const = default;
  };
  // The driver of the first client; null before.
  Driver* driver() const;
  Libraries libraries() const;
  StatusOr<Driver*> openDriver(const Choice& choice);
  // What programs are compiled for: the client's devices, with the libraries that are there.
  StatusOr<CompileTarget> compileTarget() const;

  mutable std::mutex mutex_;
  std::string platformName_ = "cuda";
  Choice choice_;
  std::unique_ptr<Driver> driver_;
  std::unique_ptr<PinnedPool> pinned_;
  std::vector<std::unique_ptr<ScratchArena>> arenas_;  // by device
  std::vector<std::unique_ptr<CudaQueue>> queues_;     // by device
  std::unique_ptr<Blas> blas_;  // null: products are multiplied by own kernels
  std::unique_ptr<Dnn> dnn_;    // null: so are convolutions
  std::unique_ptr<Nccl> nccl_;  // null: collectives are the host's
};

}  // namespace isthmus::cuda

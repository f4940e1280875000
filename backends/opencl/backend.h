// The OpenCL backend, platform `xpu`: devices and their memory by an OpenCL driver.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backends/opencl/driver/driver.h"
#include "backends/opencl/queue.h"
#include "isthmus/backend.h"

namespace isthmus::opencl {

class OpenclBackend final : public Backend {
 public:
  std::string platformName() const override;
  std::string platformVersion() const override;
  // Loads the driver. Options: num_devices (integer ≥ 1; else ISTHMUS_NUM_DEVICES, else as many as
  // the driver has; more than that share them), opencl_library and opencl_device (strings; else
  // ISTHMUS_OPENCL_LIBRARY and ISTHMUS_OPENCL_DEVICE), platform_name, node_id, num_nodes.
  // kNotFound without a driver; kFailedPrecondition if an earlier client chose other devices.
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
    std::string device;
    int64_t count = 0;
    bool operator==(const Choice&) const = default;
  };
  // The driver of the first client; null before.
  Driver* driver() const;
  StatusOr<Driver*> openDriver(const Choice& choice);

  mutable std::mutex mutex_;
  std::string platformName_ = "xpu";
  Choice choice_;
  std::unique_ptr<Driver> driver_;
  std::vector<std::unique_ptr<OpenclQueue>> queues_;  // by device
};

}  // namespace isthmus::opencl

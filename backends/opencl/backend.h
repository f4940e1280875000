// The OpenCL backend, platform `xpu`: devices and their memory by an OpenCL driver.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/opencl/driver/driver.h"
#include "backends/opencl/queue.h"
#include "backends/shared/devices/driver_backend.h"
#include "isthmus/backend.h"

namespace isthmus::opencl {

// What a client chooses.
struct OpenclChoice {
  std::string library;
  std::string device;
  int64_t count = 0;
  bool operator==(const OpenclChoice&) const = default;
};

class OpenclBackend final : public DriverBackend<Driver, OpenclQueue, OpenclChoice> {
 public:
  OpenclBackend() : DriverBackend("xpu", "OpenCL") {}

  std::string platformVersion() const override;
  // Loads the driver. Options: num_devices (integer ≥ 1; else ISTHMUS_NUM_DEVICES, else as many as
  // the driver has; more than that share them), opencl_library and opencl_device (strings; else
  // ISTHMUS_OPENCL_LIBRARY and ISTHMUS_OPENCL_DEVICE), platform_name, node_id, num_nodes.
  // kNotFound without a driver; kFailedPrecondition if an earlier client chose other devices.
  StatusOr<std::vector<DeviceDescription>> describeDevices(const AttributeMap& options) override;
  AttributeMap memoryStats(int deviceId) const override;
  StatusOr<std::shared_ptr<const Executable>> compile(const CompileRequest& request) override;
  StatusOr<std::shared_ptr<const Executable>> deserialize(std::string_view bytes) override;
  Support supports(std::string_view op) const override;

 private:
  StatusOr<std::unique_ptr<Driver>> createDriver(const OpenclChoice& choice) override {
    return Driver::create(choice.library, choice.device, static_cast<int>(choice.count));
  }
  std::unique_ptr<OpenclQueue> createQueue(Driver& driver, int device) override {
    return std::make_unique<OpenclQueue>(driver, device);
  }
};

}  // namespace isthmus::opencl

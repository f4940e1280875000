// The backend of the device: what `include/isthmus/backend.h` asks, by the functions of `driver.h`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/backend.h"

namespace isthmus::skeleton {

// Synchronous: everything is done when it returns.
class SkeletonBackend final : public Backend {
 public:
  std::string platformName() const override { return "skeleton"; }
  std::string platformVersion() const override { return "skeleton 0.1"; }

  // Option: num_devices (integer, 1 to as many as there are).
  StatusOr<std::vector<DeviceDescription>> describeDevices(const AttributeMap& options) override;

  StatusOr<void*> allocate(int deviceId, std::string_view memoryKind, size_t bytes) override;
  void deallocate(int deviceId, std::string_view memoryKind, void* data, size_t bytes) override;
  AttributeMap memoryStats(int deviceId) const override;

  bool isHostAddressable() const override { return false; }
  Status copyFromHost(int deviceId, void* device, size_t offset, const void* host,
                      size_t bytes) override;
  Status copyToHost(int deviceId, const void* device, size_t offset, void* host,
                    size_t bytes) override;
  Status copyBetween(int toDeviceId, void* to, int fromDeviceId, const void* from,
                     size_t bytes) override;

  StatusOr<std::shared_ptr<const Executable>> compile(const CompileRequest& request) override;
  Support supports(std::string_view op) const override;
};

}  // namespace isthmus::skeleton

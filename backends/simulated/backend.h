// A backend of simulated devices, which run the programs of another backend.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backends/simulated/device.h"
#include "isthmus/backend.h"

namespace isthmus::simulated {

// How the runtime sees the devices: by their queues, or by functions that return when work is done.
enum class Interface { kAsynchronous, kSynchronous };

// `host` is a synchronous backend with memory that the host can address; it describes the devices
// and compiles, and outlives this. Clients of one backend share its devices, whose options are
// those of the first: lives as long as the process, as backends do, or in tests longer than its
// clients.
class SimulatedBackend : public Backend {
 public:
  explicit SimulatedBackend(Backend& host, DeviceOptions options = {},
                            Interface interface = Interface::kAsynchronous);

  std::string platformName() const override { return host_.platformName(); }
  std::string platformVersion() const override { return "simulated; " + host_.platformVersion(); }
  // Options beside the host's: memory_bytes, latency_us and order_seed (integers ≥ 0).
  StatusOr<std::vector<DeviceDescription>> describeDevices(const AttributeMap& options) override;
  DeviceQueue* queue(int deviceId) override {
    return isAsynchronous() ? &device(deviceId) : nullptr;
  }
  StatusOr<void*> allocate(int deviceId, std::string_view memoryKind, size_t bytes) override;
  void deallocate(int deviceId, std::string_view memoryKind, void* data, size_t bytes) override;
  Status copyFromHost(int deviceId, void* device, size_t offset, const void* host,
                      size_t bytes) override;
  Status copyToHost(int deviceId, const void* device, size_t offset, void* host,
                    size_t bytes) override;
  Status copyBetween(int toDeviceId, void* to, int fromDeviceId, const void* from,
                     size_t bytes) override;
  AttributeMap memoryStats(int deviceId) const override;
  bool isHostAddressable() const override { return false; }
  StatusOr<std::shared_ptr<const Executable>> compile(const CompileRequest& request) override;
  Support supports(std::string_view op) const override { return host_.supports(op); }
  StatusOr<std::string> optimizedProgram(const ProgramInfo& info) override {
    return host_.optimizedProgram(info);
  }
  StatusOr<std::shared_ptr<const Executable>> deserialize(std::string_view bytes) override;

  bool isAsynchronous() const { return interface_ == Interface::kAsynchronous; }

  // For tests; `id` is one that has been described.
  Device& device(int id) const;
  // A program of the host's, to be run on these devices.
  std::shared_ptr<const Executable> wrap(std::shared_ptr<const Executable> program) const;

 private:
  Backend& host_;
  DeviceOptions options_;
  const Interface interface_;
  Machine machine_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace isthmus::simulated

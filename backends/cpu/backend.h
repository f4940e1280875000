// The CPU backend: devices are shares of this process's cores, memory is host memory.
#pragma once

#include <atomic>

#include "isthmus/backend.h"
#include "runtime/threads/fork_mutex.h"

namespace isthmus::cpu {

class CpuBackend final : public Backend {
 public:
  std::string platformName() const override;
  std::string platformVersion() const override;
  // Options: num_devices (integer ≥ 1; else ISTHMUS_NUM_DEVICES, else 1), platform_name (what
  // platformName answers from then on), and what distributed clients get: node_id, num_nodes.
  StatusOr<std::vector<DeviceDescription>> describeDevices(const AttributeMap& options) override;
  StatusOr<void*> allocate(int deviceId, std::string_view memoryKind, size_t bytes) override;
  void deallocate(int deviceId, std::string_view memoryKind, void* data, size_t bytes) override;
  AttributeMap memoryStats(int deviceId) const override;
  StatusOr<std::shared_ptr<const Executable>> compile(const CompileRequest& request) override;
  Support supports(std::string_view op) const override;
  StatusOr<std::string> optimizedProgram(const ProgramInfo& info) override;
  StatusOr<std::shared_ptr<const Executable>> deserialize(std::string_view bytes) override;

 private:
  mutable ForkMutex mutex_;
  std::string platformName_ = "cpu";
  std::atomic<int64_t> bytesInUse_{0};
  std::atomic<int64_t> peakBytes_{0};
  std::atomic<int64_t> allocations_{0};
};

}  // namespace isthmus::cpu

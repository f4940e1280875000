// Devices, memory and the way from program bytes to an executable.
#include "backends/cpu/backend.h"

#include "backends/cpu/code_generator.h"
#include "backends/cpu/load/executable.h"
#include "backends/cpu/load/serialization.h"
#include "backends/shared/serialization/cache_key.h"
#include "base/client_options.h"
#include "compiler/driver/device_codegen.h"
#include "compiler/driver/driver.h"
#include "isthmus/flags.h"
#include "runtime/memory/host_allocator.h"

namespace isthmus::cpu {

std::string CpuBackend::platformName() const {
  std::lock_guard lock(mutex_);
  return platformName_;
}

std::string CpuBackend::platformVersion() const { return buildId(); }

StatusOr<std::vector<DeviceDescription>> CpuBackend::describeDevices(const AttributeMap& options) {
  int64_t numDevices = std::max<int64_t>(1, flagInt("ISTHMUS_NUM_DEVICES"));
  for (const auto& [name, value] : options) {
    if (name == "num_devices") {
      ISTHMUS_ASSIGN_OR_RETURN(numDevices, integerOption(name, value));
    } else if (name == "platform_name") {
      ISTHMUS_ASSIGN_OR_RETURN(std::string text, textOption(name, value));
      std::lock_guard lock(mutex_);
      platformName_ = text;
    } else {
      return invalidArgument("unknown client option ", name,
                             ", expected num_devices or platform_name");
    }
  }
  ISTHMUS_RETURN_IF_ERROR(checkNumDevices(numDevices));
  std::vector<DeviceDescription> devices;
  for (int id = 0; id < numDevices; ++id) {
    DeviceDescription device;
    device.id = id;
    device.localHardwareId = id;
    device.kind = "cpu";
    device.debugString = "IsthmusCpuDevice(id=" + std::to_string(id) + ")";
    addMemories(device);
    devices.push_back(std::move(device));
  }
  return devices;
}

StatusOr<void*> CpuBackend::allocate(int deviceId, std::string_view memoryKind, size_t bytes) {
  ISTHMUS_RETURN_IF_ERROR(checkMemoryKind(memoryKind));
  void* data = hostAllocate(bytes);
  if (!data) return resourceExhausted("no memory for a buffer of ", bytes, " bytes");
  int64_t inUse = bytesInUse_.fetch_add(static_cast<int64_t>(bytes)) + static_cast<int64_t>(bytes);
  int64_t peak = peakBytes_.load();
  while (inUse > peak && !peakBytes_.compare_exchange_weak(peak, inUse)) {
  }
  allocations_.fetch_add(1);
  return data;
}

void CpuBackend::deallocate(int deviceId, std::string_view memoryKind, void* data, size_t bytes) {
  if (!data) return;
  hostDeallocate(data, bytes);
  bytesInUse_.fetch_sub(static_cast<int64_t>(bytes));
}

AttributeMap CpuBackend::memoryStats(int deviceId) const {
  return {{"bytes_in_use", bytesInUse_.load()},
          {"peak_bytes_in_use", peakBytes_.load()},
          {"num_allocs", allocations_.load()},
          {"bytes_limit", hostMemoryLimit()}};
}

StatusOr<std::shared_ptr<const Executable>> CpuBackend::compile(const CompileRequest& request) {
  return compileProgram(hostCodeGenerator(), request);
}

Support CpuBackend::supports(std::string_view op) const {
  // What another device's host does, this one does itself.
  Support elsewhere = supportByKernels(op);
  return elsewhere == Support::kByHost ? Support::kOnDevice : elsewhere;
}

StatusOr<std::string> CpuBackend::optimizedProgram(const ProgramInfo& info) {
  return optimizedProgramText(info);
}

StatusOr<std::shared_ptr<const Executable>> CpuBackend::deserialize(std::string_view bytes) {
  ISTHMUS_ASSIGN_OR_RETURN(std::string key, cacheKey());
  ISTHMUS_ASSIGN_OR_RETURN(ProgramImage image, deserializeImage(bytes, key));
  return CpuExecutable::load(std::move(image));
}

}  // namespace isthmus::cpu

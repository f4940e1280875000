// Devices, memory, and programs by the reference evaluator.
#include "backends/skeleton/backend.h"

#include <utility>

#include "backends/skeleton/driver.h"
#include "isthmus/reference_program.h"

namespace isthmus::skeleton {
namespace {

// A program that the host evaluates, over copies of the device's arrays. The first thing to
// replace: by compileForDevice (isthmus/device_compiler.h) and kernels of the device.
class EvaluatedExecutable final : public Executable {
 public:
  explicit EvaluatedExecutable(std::unique_ptr<ReferenceProgram> program)
      : program_(std::move(program)) {}

  const ProgramInfo& info() const override { return program_->info(); }

  Status run(const RunRequest& request) const override {
    const ProgramInfo& info = program_->info();
    std::vector<std::vector<char>> arrays;
    std::vector<const void*> parameters;
    std::vector<void*> results;
    for (size_t i = 0; i < info.parameters.size(); ++i) {
      std::vector<char>& array = arrays.emplace_back(info.parameters[i].type.sizeBytes());
      ISTHMUS_RETURN_IF_ERROR(skeleton::copyToHost(request.deviceId, request.parameters[i], 0,
                                                   array.data(), array.size()));
      parameters.push_back(array.data());
    }
    for (const BufferSpec& output : info.outputs) {
      results.push_back(arrays.emplace_back(output.type.sizeBytes()).data());
    }
    ISTHMUS_RETURN_IF_ERROR(program_->run(parameters, results));
    for (size_t i = 0; i < results.size(); ++i) {
      ISTHMUS_RETURN_IF_ERROR(skeleton::copyToDevice(request.deviceId, request.results[i], 0,
                                                     results[i], info.outputs[i].type.sizeBytes()));
    }
    return {};
  }

 private:
  std::unique_ptr<ReferenceProgram> program_;
};

}  // namespace

StatusOr<std::vector<DeviceDescription>> SkeletonBackend::describeDevices(
    const AttributeMap& options) {
  ISTHMUS_ASSIGN_OR_RETURN(int64_t count, countDevices());
  for (const auto& [name, value] : options) {
    const auto* number = std::get_if<int64_t>(&value);
    if (name != "num_devices") return invalidArgument("unknown client option ", name);
    if (number == nullptr || *number < 1 || *number > count) {
      return invalidArgument("client option num_devices must be an integer from 1 to ", count);
    }
    count = *number;
  }
  std::vector<DeviceDescription> devices;
  for (int id = 0; id < count; ++id) {
    DeviceDescription device;
    device.id = id;
    device.localHardwareId = id;
    device.kind = deviceName(id);
    device.debugString = "SkeletonDevice(id=" + std::to_string(id) + ")";
    device.memories = {{"device", true}};
    devices.push_back(std::move(device));
  }
  return devices;
}

StatusOr<void*> SkeletonBackend::allocate(int deviceId, std::string_view, size_t bytes) {
  return skeleton::allocate(deviceId, bytes);
}

void SkeletonBackend::deallocate(int deviceId, std::string_view, void* data, size_t) {
  skeleton::release(deviceId, data);
}

AttributeMap SkeletonBackend::memoryStats(int deviceId) const {
  return {{"bytes_limit", memoryBytes(deviceId)}};
}

Status SkeletonBackend::copyFromHost(int deviceId, void* device, size_t offset, const void* host,
                                     size_t bytes) {
  return skeleton::copyToDevice(deviceId, device, offset, host, bytes);
}

Status SkeletonBackend::copyToHost(int deviceId, const void* device, size_t offset, void* host,
                                   size_t bytes) {
  return skeleton::copyToHost(deviceId, device, offset, host, bytes);
}

Status SkeletonBackend::copyBetween(int toDeviceId, void* to, int fromDeviceId, const void* from,
                                    size_t bytes) {
  return skeleton::copyOnDevices(toDeviceId, to, fromDeviceId, from, bytes);
}

StatusOr<std::shared_ptr<const Executable>> SkeletonBackend::compile(
    const CompileRequest& request) {
  ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<ReferenceProgram> program,
                           ReferenceProgram::compile(request));
  return std::shared_ptr<const Executable>(
      std::make_shared<EvaluatedExecutable>(std::move(program)));
}

Support SkeletonBackend::supports(std::string_view op) const {
  return ReferenceProgram::knows(op) ? Support::kByHost : Support::kNo;
}

}  // namespace isthmus::skeleton

namespace isthmus {

Backend& linkedBackend() {
  static skeleton::SkeletonBackend& backend = *new skeleton::SkeletonBackend;
  return backend;
}

}  // namespace isthmus

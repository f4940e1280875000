// Devices and memory of the OpenCL backend.
#include "backends/opencl/backend.h"

#include "backends/opencl/code_generator.h"
#include "backends/opencl/executable.h"
#include "backends/opencl/serialization.h"
#include "backends/shared/devices/device_options.h"
#include "backends/shared/serialization/cache_key.h"
#include "backends/shared/serialization/sealed_bytes.h"
#include "base/client_options.h"
#include "compiler/driver/device_codegen.h"
#include "compiler/driver/driver.h"
#include "isthmus/flags.h"

namespace isthmus::opencl {
namespace {

DeviceDescription describe(int id, const DeviceFacts& facts, DeviceKind kernels) {
  DeviceDescription device;
  device.id = id;
  device.localHardwareId = id;
  device.kind = facts.name;
  device.debugString = "IsthmusXpuDevice(id=" + std::to_string(id) + ", " + facts.name + ")";
  device.attributes = {{"opencl_platform", facts.platform},
                       {"opencl_version", facts.version},
                       {"driver_version", facts.driverVersion},
                       {"compute_units", static_cast<int64_t>(facts.computeUnits)},
                       {"kernel_language", std::string(facts.takesSpirv ? "SPIR-V" : "OpenCL C")},
                       {"host_operations", hostOperations(kernels)}};
  addMemories(device);
  return device;
}

}  // namespace

std::string OpenclBackend::platformVersion() const {
  std::string version = buildId();
  if (const Driver* driver = this->driver()) {
    // Caches of programs take devices with equal versions for equal.
    const std::vector<DeviceFacts> kinds = driver->kinds();
    for (const DeviceFacts& facts : kinds) {
      version += "; " + facts.platform + ", " + (kinds.size() > 1 ? facts.name + ", " : "") +
                 facts.version + ", driver " + facts.driverVersion;
    }
  }
  return version;
}

StatusOr<std::vector<DeviceDescription>> OpenclBackend::describeDevices(
    const AttributeMap& options) {
  OpenclChoice choice{flagString("ISTHMUS_OPENCL_LIBRARY"), flagString("ISTHMUS_OPENCL_DEVICE")};
  const OwnOption own[] = {textInto("opencl_library", choice.library),
                           textInto("opencl_device", choice.device)};
  ISTHMUS_ASSIGN_OR_RETURN(DeviceOptions read, readDeviceOptions(options, "xpu", own));
  choice.count = read.count;
  ISTHMUS_ASSIGN_OR_RETURN(Driver * driver, openDriver(choice, std::move(read.platformName)));
  std::vector<DeviceDescription> devices;
  const DeviceKind kernels = OpenclCodeGenerator(*driver).target().device;
  for (int id = 0; id < driver->numDevices(); ++id) {
    devices.push_back(describe(id, driver->facts(id), kernels));
  }
  return devices;
}

AttributeMap OpenclBackend::memoryStats(int deviceId) const {
  return {{"bytes_limit", static_cast<int64_t>(driver()->facts(deviceId).memoryBytes)}};
}

StatusOr<std::shared_ptr<const Executable>> OpenclBackend::compile(const CompileRequest& request) {
  Driver* driver = this->driver();
  if (!driver) return failedPrecondition("programs are compiled for a client's devices");
  return compileProgram(OpenclCodeGenerator(*driver), request);
}

StatusOr<std::shared_ptr<const Executable>> OpenclBackend::deserialize(std::string_view bytes) {
  Driver* driver = this->driver();
  if (!driver) return failedPrecondition("programs are loaded for a client's devices");
  ISTHMUS_ASSIGN_OR_RETURN(std::string key, cacheKey());
  ISTHMUS_ASSIGN_OR_RETURN(ProgramImage image, deserializeImage(bytes, driver->identity(), key));
  return OpenclExecutable::load(*driver, std::move(image));
}

Support OpenclBackend::supports(std::string_view op) const {
  if (Driver* driver = this->driver()) {
    return supportByKernels(op, OpenclCodeGenerator(*driver).target().device);
  }
  const Support onGpu = supportByKernels(op, DeviceKind::kGpu);
  return supportByKernels(op, DeviceKind::kCpu) == onGpu ? onGpu : Support::kUnknown;
}

}  // namespace isthmus::opencl

namespace isthmus {

Backend& linkedBackend() {
  static opencl::OpenclBackend& backend = *new opencl::OpenclBackend;
  return backend;
}

}  // namespace isthmus

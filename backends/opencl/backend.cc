// Devices and memory of the OpenCL backend.
#include "backends/opencl/backend.h"

#include "backends/opencl/code_generator.h"
#include "backends/opencl/executable.h"
#include "backends/opencl/serialization.h"
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

std::string OpenclBackend::platformName() const {
  std::lock_guard lock(mutex_);
  return platformName_;
}

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

Driver* OpenclBackend::driver() const {
  std::lock_guard lock(mutex_);
  return driver_.get();
}

StatusOr<Driver*> OpenclBackend::openDriver(const Choice& choice) {
  std::lock_guard lock(mutex_);
  if (!driver_) {
    ISTHMUS_ASSIGN_OR_RETURN(
        driver_, Driver::create(choice.library, choice.device, static_cast<int>(choice.count)));
    choice_ = choice;
    for (int device = 0; device < driver_->numDevices(); ++device) {
      queues_.push_back(std::make_unique<OpenclQueue>(*driver_, device));
    }
  }
  if (choice != choice_) {
    return Status(StatusCode::kFailedPrecondition,
                  "this process has a client of other OpenCL devices: " +
                      std::to_string(driver_->numDevices()) + " by " + choice_.library);
  }
  return driver_.get();
}

StatusOr<std::vector<DeviceDescription>> OpenclBackend::describeDevices(
    const AttributeMap& options) {
  Choice choice{flagString("ISTHMUS_OPENCL_LIBRARY"), flagString("ISTHMUS_OPENCL_DEVICE"),
                flagInt("ISTHMUS_NUM_DEVICES")};
  bool hasCount = choice.count != 0;
  int64_t node = 0;
  int64_t numNodes = 1;
  for (const auto& [name, value] : options) {
    if (name == "num_devices") {
      ISTHMUS_ASSIGN_OR_RETURN(choice.count, integerOption(name, value));
      hasCount = true;
    } else if (name == "node_id") {
      ISTHMUS_ASSIGN_OR_RETURN(node, integerOption(name, value));
    } else if (name == "num_nodes") {
      ISTHMUS_ASSIGN_OR_RETURN(numNodes, integerOption(name, value));
    } else if (name == "opencl_library") {
      ISTHMUS_ASSIGN_OR_RETURN(choice.library, textOption(name, value));
    } else if (name == "opencl_device") {
      ISTHMUS_ASSIGN_OR_RETURN(choice.device, textOption(name, value));
    } else if (name == "platform_name") {
      ISTHMUS_ASSIGN_OR_RETURN(std::string text, textOption(name, value));
      std::lock_guard lock(mutex_);
      platformName_ = text;
    } else {
      return invalidArgument("unknown client option ", name,
                             ", expected num_devices, opencl_library, opencl_device, ",
                             "platform_name, node_id or num_nodes");
    }
  }
  if (hasCount) ISTHMUS_RETURN_IF_ERROR(checkNumDevices(choice.count));
  if (numNodes != 1 || node != 0) {
    return unimplemented("client option num_nodes is ", numNodes,
                         ": xpu programs over several processes are not supported yet");
  }
  ISTHMUS_ASSIGN_OR_RETURN(Driver * driver, openDriver(choice));
  std::vector<DeviceDescription> devices;
  const DeviceKind kernels = OpenclCodeGenerator(*driver).target().device;
  for (int id = 0; id < driver->numDevices(); ++id) {
    devices.push_back(describe(id, driver->facts(id), kernels));
  }
  return devices;
}

DeviceQueue* OpenclBackend::queue(int deviceId) {
  std::lock_guard lock(mutex_);
  return queues_[static_cast<size_t>(deviceId)].get();
}

AttributeMap OpenclBackend::memoryStats(int deviceId) const {
  return {{"bytes_limit", static_cast<int64_t>(driver()->facts(deviceId).memoryBytes)}};
}

StatusOr<std::shared_ptr<const Executable>> OpenclBackend::compile(const CompileRequest& request) {
  Driver* driver = this->driver();
  if (!driver) return failedPrecondition("programs are compiled for a client's devices");
  return compileProgram(OpenclCodeGenerator(*driver), request);
}

StatusOr<std::string> OpenclBackend::optimizedProgram(const ProgramInfo& info) {
  return optimizedProgramText(info);
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

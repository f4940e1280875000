// Devices and memory of the CUDA backend.
#include "backends/cuda/backend.h"

#include <algorithm>

#include "backends/cuda/executable/executable.h"
#include "backends/cuda/executable/serialization.h"
#include "backends/shared/devices/device_options.h"
#include "backends/shared/serialization/cache_key.h"
#include "backends/shared/serialization/sealed_bytes.h"
#include "base/client_options.h"
#include "compiler/driver/device_codegen.h"
#include "compiler/driver/driver.h"
#include "isthmus/flags.h"
#include "isthmus/log.h"

namespace isthmus::cuda {
namespace {

DeviceDescription describe(int id, const Libraries& libraries) {
  const DeviceFacts& facts = libraries.driver->facts(id);
  std::string used;
  auto name = [&used](const void* library, const char* called) {
    if (library) used += (used.empty() ? "" : ", ") + std::string(called);
  };
  name(libraries.blas, "cuBLASLt");
  name(libraries.dnn, "cuDNN");
  name(libraries.nccl, "NCCL");

  DeviceDescription device;
  device.id = id;
  device.localHardwareId = id;
  device.kind = facts.name;
  device.debugString = "CudaDevice(id=" + std::to_string(id) + ")";
  device.attributes = {{"compute_capability", std::to_string(facts.capability / 10) + "." +
                                                  std::to_string(facts.capability % 10)},
                       {"core_count", static_cast<int64_t>(facts.units)},
                       {"device_vendor", std::string("NVIDIA")},
                       {"libraries", used.empty() ? "none" : used},
                       {"host_operations", hostOperations()}};
  addMemories(device);
  return device;
}

// A library that need not be there; `instead` is what is done without it.
template <typename Load>
auto optional(const char* instead, const std::string& path, Load&& load)
    -> std::decay_t<decltype(*load())> {
  if (path.empty()) return nullptr;
  auto library = load();
  if (library.ok()) return *std::move(library);
  log(LogLevel::kInfo, "cuda: ", library.status().message(), "; ", instead);
  return nullptr;
}

// The path of such a library, which may be empty.
OwnOption libraryInto(std::string_view name, std::string& path) {
  return {name, [&path](const std::string& option, const AttributeValue& value) -> Status {
            const std::string* text = std::get_if<std::string>(&value);
            if (!text) return invalidArgument("client option ", option, " must be a string");
            path = *text;
            return {};
          }};
}

OwnOption visibleDevices(std::vector<int64_t>& visible) {
  return {"visible_devices",
          [&visible](const std::string& option, const AttributeValue& value) -> Status {
            const auto* numbers = std::get_if<std::vector<int64_t>>(&value);
            if (!numbers) {
              return invalidArgument("client option ", option, " must be a list of integers");
            }
            visible = *numbers;
            return {};
          }};
}

// Sent to whoever is called cuda: by JAX, and by other clients of XLA's plugin.
Status checkFalse(const std::string& option, const AttributeValue& value) {
  const bool* isAsked = std::get_if<bool>(&value);
  if (isAsked && !*isAsked) return {};
  return unimplemented("client option ", option, ", but for false");
}

}  // namespace

std::string CudaBackend::platformVersion() const {
  std::string version = buildId();
  if (const Driver* driver = this->driver()) {
    // The last word is CUDA's version as a number, as that of JAX's own plugin, which programs
    // read.
    version += "; " + driver->facts(0).name + ", cuda " + std::to_string(driver->version());
  }
  return version;
}

Libraries CudaBackend::libraries() const {
  Driver* driver = this->driver();
  std::lock_guard lock(mutex_);
  return {driver, pinned_.get(), blas_.get(), dnn_.get(), nccl_.get(), arenas_};
}

StatusOr<std::unique_ptr<Driver>> CudaBackend::createDriver(const CudaChoice& choice) {
  ISTHMUS_ASSIGN_OR_RETURN(
      std::unique_ptr<Driver> driver,
      Driver::create(choice.library, choice.visible, static_cast<int>(choice.count)));
  pinned_ = std::make_unique<PinnedPool>(*driver);
  blas_ = optional("own kernels multiply", choice.blas,
                   [&] { return Blas::load(choice.blas, *driver); });
  dnn_ =
      optional("own kernels convolve", choice.dnn, [&] { return Dnn::load(choice.dnn, *driver); });
  // One GPU has nobody to meet, and NCCL is a large library.
  if (driver->numGpus() > 1) {
    nccl_ = optional("the host carries out collectives", choice.nccl, [&] {
      return Nccl::load(choice.nccl, *driver,
                        static_cast<double>(flagInt("ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS")));
    });
  }
  return driver;
}

StatusOr<std::vector<DeviceDescription>> CudaBackend::describeDevices(const AttributeMap& options) {
  CudaChoice choice{flagString("ISTHMUS_CUDA_LIBRARY"),
                    flagString("ISTHMUS_CUDA_LIBDEVICE"),
                    flagString("ISTHMUS_CUDA_BLAS"),
                    flagString("ISTHMUS_CUDA_DNN"),
                    flagString("ISTHMUS_CUDA_NCCL"),
                    0,
                    {}};
  const OwnOption own[] = {
      visibleDevices(choice.visible),          textInto("cuda_library", choice.library),
      textInto("libdevice", choice.libdevice), libraryInto("cuda_blas", choice.blas),
      libraryInto("cuda_dnn", choice.dnn),     libraryInto("cuda_nccl", choice.nccl),
      {"enable_mock_nccl", checkFalse},        {"preallocate", checkFalse}};
  ISTHMUS_ASSIGN_OR_RETURN(DeviceOptions read, readDeviceOptions(options, "cuda", own));
  choice.count = read.count;
  ISTHMUS_ASSIGN_OR_RETURN(Driver * driver, openDriver(choice, std::move(read.platformName)));
  std::vector<DeviceDescription> devices;
  for (int id = 0; id < driver->numDevices(); ++id) {
    devices.push_back(describe(id, libraries()));
  }
  return devices;
}

AttributeMap CudaBackend::memoryStats(int deviceId) const {
  queueOf(deviceId).freePending();
  MemoryUse use = driver()->memoryUse(deviceId);
  return {{"bytes_in_use", static_cast<int64_t>(use.usedBytes)},
          {"peak_bytes_in_use", static_cast<int64_t>(use.peakBytes)},
          {"bytes_reserved", static_cast<int64_t>(use.reservedBytes)},
          {"bytes_limit", static_cast<int64_t>(driver()->facts(deviceId).memoryBytes)}};
}

StatusOr<CompileTarget> CudaBackend::compileTarget() const {
  Driver* driver = this->driver();
  if (!driver) return failedPrecondition("programs are compiled and loaded for a client's devices");
  CompileTarget target;
  // All devices of a machine run what its oldest does.
  int oldest = driver->facts(0).capability;
  for (int i = 1; i < driver->numDevices(); ++i) {
    oldest = std::min(oldest, driver->facts(i).capability);
  }
  ISTHMUS_ASSIGN_OR_RETURN(target.capability, ptxCapability(oldest));
  // Libraries say of any device what they do on all.
  const int asked = driver->usableDevice();
  target.device = driver->facts(0).name + ", CUDA " + std::to_string(driver->version());
  std::lock_guard lock(mutex_);
  target.libdevice = choice_.libdevice;
  if (Blas* blas = blas_.get()) {
    target.hasProduct = [blas, asked](const BlasProduct& product) {
      return blas->plan(asked, product).ok();
    };
    target.productScratchBytes = kBlasScratchBytes;
  }
  if (Dnn* dnn = dnn_.get()) {
    target.convolutionScratch = [dnn,
                                 asked](const DnnConvolution& convolution) -> StatusOr<int64_t> {
      ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<const DnnPlan> plan,
                               dnn->plan(asked, convolution, flagInt("ISTHMUS_CUDA_DNN_BYTES")));
      return Dnn::scratchBytes(*plan);
    };
    target.attentionScratch = [dnn, asked](const DnnAttention& attention) -> StatusOr<int64_t> {
      ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<const DnnPlan> plan,
                               dnn->plan(asked, attention, flagInt("ISTHMUS_CUDA_DNN_BYTES")));
      return Dnn::scratchBytes(*plan);
    };
  }
  target.allowsTf32 = (blas_ || dnn_) && flagBool("ISTHMUS_CUDA_TF32");
  return target;
}

StatusOr<std::shared_ptr<const Executable>> CudaBackend::compile(const CompileRequest& request) {
  ISTHMUS_ASSIGN_OR_RETURN(CompileTarget target, compileTarget());
  CudaCodeGenerator generator(target, [&](ProgramImage image) {
    return CudaExecutable::load(libraries(), target.identity(), std::move(image));
  });
  return compileProgram(generator, request);
}

StatusOr<std::shared_ptr<const Executable>> CudaBackend::deserialize(std::string_view bytes) {
  ISTHMUS_ASSIGN_OR_RETURN(CompileTarget target, compileTarget());
  ISTHMUS_ASSIGN_OR_RETURN(std::string key, cacheKey());
  ISTHMUS_ASSIGN_OR_RETURN(ProgramImage image, deserializeImage(bytes, target.identity(), key));
  return CudaExecutable::load(libraries(), target.identity(), std::move(image));
}

Support CudaBackend::supports(std::string_view op) const { return supportByKernels(op); }

}  // namespace isthmus::cuda

namespace isthmus {

Backend& linkedBackend() {
  static cuda::CudaBackend& backend = *new cuda::CudaBackend;
  return backend;
}

}  // namespace isthmus

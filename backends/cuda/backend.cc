// Devices and memory of the CUDA backend.
#include "backends/cuda/backend.h"

#include <algorithm>

#include "backends/cuda/executable.h"
#include "backends/cuda/serialization.h"
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

}  // namespace

std::string CudaBackend::platformName() const {
  std::lock_guard lock(mutex_);
  return platformName_;
}

std::string CudaBackend::platformVersion() const {
  std::string version = buildId();
  if (const Driver* driver = this->driver()) {
    version += "; cuda " + std::to_string(driver->version() / 1000) + "." +
               std::to_string(driver->version() % 1000 / 10) + ", " + driver->facts(0).name;
  }
  return version;
}

Driver* CudaBackend::driver() const {
  std::lock_guard lock(mutex_);
  return driver_.get();
}

Libraries CudaBackend::libraries() const {
  std::lock_guard lock(mutex_);
  return {driver_.get(), blas_.get(), dnn_.get(), nccl_.get(), arenas_};
}

StatusOr<Driver*> CudaBackend::openDriver(const Choice& choice) {
  std::lock_guard lock(mutex_);
  if (!driver_) {
    ISTHMUS_ASSIGN_OR_RETURN(
        driver_, Driver::create(choice.library, choice.visible, static_cast<int>(choice.count)));
    choice_ = choice;
    pinned_ = std::make_unique<PinnedPool>(*driver_);
    for (int device = 0; device < driver_->numDevices(); ++device) {
      queues_.push_back(std::make_unique<CudaQueue>(*driver_, *pinned_, device));
      arenas_.push_back(std::make_unique<ScratchArena>(*driver_, device));
    }
    blas_ = optional("own kernels multiply", choice.blas,
                     [&] { return Blas::load(choice.blas, *driver_); });
    dnn_ = optional("own kernels convolve", choice.dnn,
                    [&] { return Dnn::load(choice.dnn, *driver_); });
    // One GPU has nobody to meet, and NCCL is a large library.
    if (driver_->numGpus() > 1) {
      nccl_ = optional("the host carries out collectives", choice.nccl, [&] {
        return Nccl::load(choice.nccl, *driver_,
                          static_cast<double>(flagInt("ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS")));
      });
    }
  }
  if (choice != choice_) {
    return Status(StatusCode::kFailedPrecondition,
                  "this process has a client of other CUDA devices: " +
                      std::to_string(driver_->numDevices()) + " by " + choice_.library);
  }
  return driver_.get();
}

StatusOr<std::vector<DeviceDescription>> CudaBackend::describeDevices(const AttributeMap& options) {
  Choice choice{flagString("ISTHMUS_CUDA_LIBRARY"),
                flagString("ISTHMUS_CUDA_LIBDEVICE"),
                flagString("ISTHMUS_CUDA_BLAS"),
                flagString("ISTHMUS_CUDA_DNN"),
                flagString("ISTHMUS_CUDA_NCCL"),
                flagInt("ISTHMUS_NUM_DEVICES"),
                {}};
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
    } else if (name == "cuda_library") {
      ISTHMUS_ASSIGN_OR_RETURN(choice.library, textOption(name, value));
    } else if (name == "libdevice") {
      ISTHMUS_ASSIGN_OR_RETURN(choice.libdevice, textOption(name, value));
    } else if (name == "cuda_blas" || name == "cuda_dnn" || name == "cuda_nccl") {
      const std::string* text = std::get_if<std::string>(&value);
      if (!text) return invalidArgument("client option ", name, " must be a string");
      std::string& chosen = name == "cuda_blas"  ? choice.blas
                            : name == "cuda_dnn" ? choice.dnn
                                                 : choice.nccl;
      chosen = *text;
    } else if (name == "visible_devices") {
      const auto* numbers = std::get_if<std::vector<int64_t>>(&value);
      if (!numbers) return invalidArgument("client option ", name, " must be a list of integers");
      choice.visible = *numbers;
    } else if (name == "enable_mock_nccl") {
      // JAX sends it to whoever is called cuda.
      const bool* isMocked = std::get_if<bool>(&value);
      if (!isMocked || *isMocked) return unimplemented("client option ", name, ", but for false");
    } else if (name == "platform_name") {
      ISTHMUS_ASSIGN_OR_RETURN(std::string text, textOption(name, value));
      std::lock_guard lock(mutex_);
      platformName_ = text;
    } else {
      return invalidArgument(
          "unknown client option ", name, ", expected num_devices, visible_devices, ",
          "cuda_library, libdevice, cuda_blas, cuda_dnn, cuda_nccl, platform_name, node_id, ",
          "num_nodes or enable_mock_nccl");
    }
  }
  if (hasCount) ISTHMUS_RETURN_IF_ERROR(checkNumDevices(choice.count));
  if (numNodes != 1 || node != 0) {
    return unimplemented("client option num_nodes is ", numNodes,
                         ": cuda programs over several processes are not supported yet");
  }
  ISTHMUS_ASSIGN_OR_RETURN(Driver * driver, openDriver(choice));
  std::vector<DeviceDescription> devices;
  for (int id = 0; id < driver->numDevices(); ++id) {
    devices.push_back(describe(id, libraries()));
  }
  return devices;
}

DeviceQueue* CudaBackend::queue(int deviceId) {
  std::lock_guard lock(mutex_);
  return queues_[static_cast<size_t>(deviceId)].get();
}

AttributeMap CudaBackend::memoryStats(int deviceId) const {
  {
    std::lock_guard lock(mutex_);
    queues_[static_cast<size_t>(deviceId)]->freeLeaving();
  }
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
  target.device = driver->facts(0).name + ", CUDA " + std::to_string(driver->version());
  std::lock_guard lock(mutex_);
  target.libdevice = choice_.libdevice;
  if (Blas* blas = blas_.get()) {
    target.hasProduct = [blas](const BlasProduct& product) { return blas->plan(0, product).ok(); };
    target.productScratchBytes = kBlasScratchBytes;
  }
  if (Dnn* dnn = dnn_.get()) {
    target.convolutionScratch = [dnn](const DnnConvolution& convolution) -> StatusOr<int64_t> {
      ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<const DnnPlan> plan,
                               dnn->plan(0, convolution, flagInt("ISTHMUS_CUDA_DNN_BYTES")));
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

StatusOr<std::string> CudaBackend::optimizedProgram(const ProgramInfo& info) {
  return optimizedProgramText(info);
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

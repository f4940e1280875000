// TensorFlow's devices of type ISTHMUS: its NextPluggableDevice interface on one side, the plugin's
// PJRT C API on the other. Compiled against the headers of one version of TensorFlow's wheel.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/compiler/jit/flags.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow/core/common_runtime/next_pluggable_device/c/plugin_c_api.h"
#include "tensorflow/core/framework/types.h"

#include "kernels.h"

// From headers that need LLVM's, which the wheel lacks.
namespace xla {

class KeyValueStoreInterface;

class __attribute__((visibility("default"))) PjRtClient {
 public:
  virtual ~PjRtClient() = default;
};

using PjRtValueType = std::variant<std::string, bool, int64_t, std::vector<int64_t>, float>;

absl::StatusOr<std::unique_ptr<PjRtClient>> GetCApiClient(
    std::string_view deviceType, const absl::flat_hash_map<std::string, PjRtValueType>& options,
    std::shared_ptr<KeyValueStoreInterface> store);

}  // namespace xla

namespace tensorflow {

absl::Status SetPjRtClientInTFGlobalResourceManager(const DeviceType& deviceType,
                                                    std::unique_ptr<xla::PjRtClient> client);

}  // namespace tensorflow

namespace {

using isthmus::tensorflow_bridge::kCompilationDevice;
using isthmus::tensorflow_bridge::kDeviceType;

// Above TensorFlow's CPU (70 by default), below accelerators.
constexpr int kPriority = 100;
constexpr size_t kAlignment = 64;

void setError(TF_Status* status, const std::string& message) {
  TF_SetStatus(status, TF_INTERNAL, ("isthmus: " + message).c_str());
}

// The number of devices: ISTHMUS_NUM_DEVICES, else 1. 0 if it is no positive number.
int numDevices() {
  const char* text = std::getenv("ISTHMUS_NUM_DEVICES");
  if (text == nullptr || *text == '\0') return 1;
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  return *end == '\0' && number > 0 && number < 4096 ? static_cast<int>(number) : 0;
}

// The plugin's library: ISTHMUS_LIBRARY_PATH, else that of the package beside this library's
// folder.
std::string libraryPath() {
  if (const char* path = std::getenv("ISTHMUS_LIBRARY_PATH"); path && *path) return path;
  Dl_info info;
  if (dladdr(kDeviceType, &info) == 0 || info.dli_fname == nullptr) return "libisthmus.so";
  std::string own = info.dli_fname;
  const size_t slash = own.rfind('/');
  return (slash == std::string::npos ? "." : own.substr(0, slash)) + "/../isthmus/libisthmus.so";
}

// ---- Host memory for what TensorFlow keeps itself.

TFNPD_DeviceAllocator* createAllocator(int) {
  static char allocator;
  return reinterpret_cast<TFNPD_DeviceAllocator*>(&allocator);
}

void* allocateRaw(TFNPD_DeviceAllocator*, size_t alignment, size_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, std::max(alignment, kAlignment), bytes) != 0) return nullptr;
  return memory;
}

void deallocateRaw(TFNPD_DeviceAllocator*, void* memory) { std::free(memory); }

TF_StringView allocatorName(TFNPD_DeviceAllocator*) { return {"isthmus", 7}; }

bool allocatesOpaqueHandle(TFNPD_DeviceAllocator*) { return false; }

void deleteAllocator(TFNPD_DeviceAllocator*) {}

// ---- Shapes: those of the device are those of the host.

template <typename List, typename Element>
void copyList(const List& from, List& to, Element* List::* heap) {
  to = from;
  if (from.size <= TPU_C_API_MAX_INLINED) return;
  to.*heap = new Element[from.size];
  std::memcpy(to.*heap, from.*heap, from.size * sizeof(Element));
}

void copyShape(XLA_Shape* from, int, bool, XLA_LayoutPreference, XLA_Shape* to, TF_Status* status) {
  TF_SetStatus(status, TF_OK, "");
  if (from->ntuple_shapes != 0 || (from->has_layout && from->layout.tiles.size != 0)) {
    setError(status, "tuples and tiled layouts are no shapes of tensors");
    return;
  }
  *to = *from;
  copyList(from->dimensions, to->dimensions, &Int64List::heap);
  copyList(from->dynamic_dimensions, to->dynamic_dimensions, &BoolList::heap);
  copyList(from->layout.minor_to_major, to->layout.minor_to_major, &Int64List::heap);
}

// ---- Start

int32_t deviceCount(TF_Status* status) {
  const int count = numDevices();
  TF_SetStatus(status, TF_OK, "");
  if (count == 0) setError(status, "ISTHMUS_NUM_DEVICES: expected a positive integer");
  return count;
}

// The client, and TensorFlow's leave to use it in functions that are compiled as a whole.
void initialize(TF_Status* status) {
  TF_SetStatus(status, TF_OK, "");
  absl::flat_hash_map<std::string, xla::PjRtValueType> options;
  options["num_devices"] = static_cast<int64_t>(numDevices());
  auto client = xla::GetCApiClient(kDeviceType, options, nullptr);
  if (!client.ok()) return setError(status, client.status().ToString());
  const absl::Status set = tensorflow::SetPjRtClientInTFGlobalResourceManager(
      tensorflow::DeviceType(kDeviceType), *std::move(client));
  if (!set.ok()) return setError(status, set.ToString());

  tensorflow::XlaOpRegistry::DeviceRegistration registration;
  registration.compilation_device_name = kCompilationDevice;
  registration.autoclustering_policy =
      tensorflow::XlaOpRegistry::AutoclusteringPolicy::kIfEnabledGlobally;
  registration.cluster_resource_variable_ops_unsafely = true;
  tensorflow::XlaOpRegistry::RegisterCompilationDevice(kDeviceType, registration);
  auto& rollout = tensorflow::GetXlaOpsCommonFlags()->tf_xla_use_device_api;
  rollout.enabled_for_xla_launch_ = true;
  rollout.enabled_for_compile_and_run_ = true;
  rollout.enabled_for_compile_on_demand_ = true;
  rollout.AllowForDeviceInXlaLaunch(tensorflow::DeviceType(kDeviceType));
  rollout.AllowForDeviceInXlaCompileAndRun(tensorflow::DeviceType(kDeviceType));
  rollout.AllowForDeviceInXlaCompileOnDemand(tensorflow::DeviceType(kDeviceType));
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api* const api = []() -> const PJRT_Api* {
    const std::string path = libraryPath();
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto get =
        library ? reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi")) : nullptr;
    if (get == nullptr) {
      const char* error = dlerror();
      std::fprintf(stderr, "isthmus: no plugin at %s: %s\n", path.c_str(), error ? error : "");
      return nullptr;
    }
    return get();
  }();
  return api;
}

__attribute__((visibility("default"))) const TFNPD_Api* TFNPD_InitPlugin(TFNPD_PluginParams* params,
                                                                         TF_Status* status) {
  TF_SetStatus(status, TF_OK, "");
  params->struct_size = TFNPD_PLUGIN_PARAMS_STRUCT_SIZE;
  params->device_type = kDeviceType;
  params->compilation_device_name = kCompilationDevice;
  params->priority = kPriority;
  params->is_pluggable_device = true;
  params->use_pjrt_on_demand_compile = false;  // registerKernels() chooses what is compiled
  static const TFNPD_Api api = [] {
    isthmus::tensorflow_bridge::registerKernels();
    TFNPD_Api table{};
    table.struct_size = TFNPD_Api_STRUCT_SIZE;
    table.TFNPD_DeviceAllocatorCreate = createAllocator;
    table.TFNPD_DeviceAllocateRaw = allocateRaw;
    table.TFNPD_DeviceDeallocateRaw = deallocateRaw;
    table.TFNPD_DeviceAllocatorName = allocatorName;
    table.TFNPD_DeviceAllocatorAllocatesOpaqueHandle = allocatesOpaqueHandle;
    table.TFNPD_DeviceAllocatorDelete = deleteAllocator;
    table.TFNPD_XlaShapeToDeviceShapeRepresentation = copyShape;
    table.TFNPD_GetDeviceCount = deviceCount;
    table.TFNPD_InitPluginInternalDeviceStates = initialize;
    return table;
  }();
  return &api;
}

}  // extern "C"

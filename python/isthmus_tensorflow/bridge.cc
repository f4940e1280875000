// TensorFlow's devices of one platform: its NextPluggableDevice interface on one side, the plugin's
// PJRT C API on the other. Compiled against the headers of one version of TensorFlow's wheel. The
// platform is the one in this library's name: libisthmus_tensorflow.so is for the CPU and its
// devices are of type ISTHMUS, libisthmus_tensorflow_xpu.so is for platform xpu and XPU.
#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
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

extern "C" const PJRT_Api* GetPjrtApi();

namespace {

using isthmus::tensorflow_bridge::deviceType;
using isthmus::tensorflow_bridge::kCompilationDevice;

constexpr size_t kAlignment = 64;

void setError(TF_Status* status, const std::string& message) {
  TF_SetStatus(status, TF_INTERNAL, ("isthmus: " + message).c_str());
}

// The number of devices that the user asks for by ISTHMUS_NUM_DEVICES; `otherwise` without it, -1
// if it is no positive number.
int askedDevices(int otherwise) {
  const char* text = std::getenv("ISTHMUS_NUM_DEVICES");
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  return *end == '\0' && number > 0 && number < 4096 ? static_cast<int>(number) : -1;
}

// This library's own file.
std::string ownPath() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&askedDevices), &info) == 0 ||
      info.dli_fname == nullptr) {
    return "libisthmus_tensorflow.so";
  }
  return info.dli_fname;
}

// "" for the CPU, else what follows in this library's name: "xpu".
std::string platform() {
  constexpr std::string_view kBegin = "libisthmus_tensorflow_", kEnd = ".so";
  const std::string path = ownPath();
  std::string_view name = path;
  name.remove_prefix(name.rfind('/') + 1);  // npos + 1 is 0
  if (name.substr(0, kBegin.size()) != kBegin || name.size() < kBegin.size() + kEnd.size())
    return "";
  return std::string(name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size()));
}

// Above TensorFlow's own CPU (70) and below its GPUs (210). As for JAX, a device of OpenCL or of a
// vendor must be asked for, since it may be no faster than the CPU.
int priority() { return platform().empty() ? 100 : platform() == "cuda" ? 200 : 90; }

// The plugin's library: what the environment names as it does for JAX, else that of the package
// beside this library's folder.
std::string libraryPath() {
  const std::string name = platform();
  const char* variable = name.empty()     ? "ISTHMUS_LIBRARY_PATH"
                         : name == "xpu"  ? "ISTHMUS_XPU_LIBRARY_PATH"
                         : name == "cuda" ? "ISTHMUS_CUDA_PLUGIN_PATH"
                                          : nullptr;
  const char* path = variable ? std::getenv(variable) : nullptr;
  if (path && *path) return path;
  const std::string own = ownPath();
  const size_t slash = own.rfind('/');
  return (slash == std::string::npos ? "." : own.substr(0, slash)) + "/../isthmus/libisthmus" +
         (name.empty() ? "" : "_" + name) + ".so";
}

// Lets the package's Python half name the libraries of a device's driver, as it does for JAX: those
// of PyPI's packages, and, for the drivers that bring an LLVM, loaded so that they do not call
// TensorFlow's. In a process without Python the environment alone does. False if that failed, after
// Python has printed why: no driver must be loaded then.
bool nameDrivers(const std::string& name) {
  auto isInitialized = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "Py_IsInitialized"));
  auto ensure = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Ensure"));
  auto release = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "PyGILState_Release"));
  auto run = reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_DEFAULT, "PyRun_SimpleString"));
  if (!isInitialized || !ensure || !release || !run || !isInitialized()) return true;
  const int state = ensure();
  const int failed =
      run(("import isthmus." + name + "_backend\nisthmus." + name + "_backend.set_environment()\n")
              .c_str());
  release(state);
  return failed == 0;
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

// An error's message; the error is gone afterwards.
std::string take(PJRT_Error* error) {
  const PJRT_Api* api = GetPjrtApi();
  PJRT_Error_Message_Args message{PJRT_Error_Message_Args_STRUCT_SIZE, nullptr, error};
  api->PJRT_Error_Message(&message);
  std::string text(message.message, message.message_size);
  PJRT_Error_Destroy_Args destroy{PJRT_Error_Destroy_Args_STRUCT_SIZE, nullptr, error};
  api->PJRT_Error_Destroy(&destroy);
  return text;
}

// How many devices the platform's driver has, which only a client tells; 0, and why on the
// terminal, where there is no driver: TensorFlow goes on with its other devices.
int presentDevices() {
  const std::string name = platform();
  if ((name == "xpu" || name == "cuda") && !nameDrivers(name)) return 0;
  const PJRT_Api* api = GetPjrtApi();
  if (api == nullptr) return 0;
  PJRT_Client_Create_Args create{};
  create.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE;
  if (PJRT_Error* error = api->PJRT_Client_Create(&create)) {
    std::fprintf(stderr, "isthmus: TensorFlow has no %s devices: %s\n", deviceType(),
                 take(error).c_str());
    return 0;
  }
  PJRT_Client_AddressableDevices_Args devices{};
  devices.struct_size = PJRT_Client_AddressableDevices_Args_STRUCT_SIZE;
  devices.client = create.client;
  if (PJRT_Error* error = api->PJRT_Client_AddressableDevices(&devices)) take(error);
  PJRT_Client_Destroy_Args destroy{PJRT_Client_Destroy_Args_STRUCT_SIZE, nullptr, create.client};
  if (PJRT_Error* error = api->PJRT_Client_Destroy(&destroy)) take(error);
  return static_cast<int>(devices.num_addressable_devices);
}

int32_t deviceCount(TF_Status* status) {
  // Devices do not come and go in a process.
  static const int present = platform().empty() ? 1 : presentDevices();
  const int count = present == 0 ? 0 : askedDevices(present);
  TF_SetStatus(status, TF_OK, "");
  if (count < 0) setError(status, "ISTHMUS_NUM_DEVICES: expected a positive integer");
  return std::max(count, 0);
}

// The client, and TensorFlow's leave to use it in functions that are compiled as a whole.
void initialize(TF_Status* status) {
  if (deviceCount(status) == 0) return;  // TensorFlow asks for it all the same
  TF_SetStatus(status, TF_OK, "");
  absl::flat_hash_map<std::string, xla::PjRtValueType> options;
  if (const int asked = askedDevices(platform().empty() ? 1 : 0); asked > 0) {
    options["num_devices"] = static_cast<int64_t>(asked);
  }
  auto client = xla::GetCApiClient(deviceType(), options, nullptr);
  if (!client.ok()) return setError(status, client.status().ToString());
  const absl::Status set = tensorflow::SetPjRtClientInTFGlobalResourceManager(
      tensorflow::DeviceType(deviceType()), *std::move(client));
  if (!set.ok()) return setError(status, set.ToString());

  tensorflow::XlaOpRegistry::DeviceRegistration registration;
  registration.compilation_device_name = kCompilationDevice;
  registration.autoclustering_policy =
      tensorflow::XlaOpRegistry::AutoclusteringPolicy::kIfEnabledGlobally;
  registration.cluster_resource_variable_ops_unsafely = true;
  tensorflow::XlaOpRegistry::RegisterCompilationDevice(deviceType(), registration);
  auto& rollout = tensorflow::GetXlaOpsCommonFlags()->tf_xla_use_device_api;
  rollout.enabled_for_xla_launch_ = true;
  rollout.enabled_for_compile_and_run_ = true;
  rollout.enabled_for_compile_on_demand_ = true;
  rollout.AllowForDeviceInXlaLaunch(tensorflow::DeviceType(deviceType()));
  rollout.AllowForDeviceInXlaCompileAndRun(tensorflow::DeviceType(deviceType()));
  rollout.AllowForDeviceInXlaCompileOnDemand(tensorflow::DeviceType(deviceType()));
}

}  // namespace

namespace isthmus::tensorflow_bridge {

const char* deviceType() {
  static const std::string& type = *new std::string([] {
    std::string name = platform().empty() ? "isthmus" : platform();
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return name;
  }());
  return type.c_str();
}

}  // namespace isthmus::tensorflow_bridge

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
  params->device_type = deviceType();
  params->compilation_device_name = kCompilationDevice;
  params->priority = priority();
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

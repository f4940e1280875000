// The entries of PJRT_LoadedExecutable, but for Execute.
#include "pjrt/executable/loaded_executable.h"

#include <string>

#include "pjrt/bindings.h"
#include "pjrt/compile/compile_options.h"
#include "pjrt/entry.h"
#include "pjrt/handles.h"

struct PJRT_DeviceAssignmentSerialized {
  std::string bytes;
};

namespace isthmus::pjrt {
namespace {

static_assert(sizeof(LogicalId) == sizeof(PJRT_LogicalDeviceIds) &&
              offsetof(LogicalId, partition) == offsetof(PJRT_LogicalDeviceIds, partition));

Status loadedExecutableDestroy(PJRT_LoadedExecutable_Destroy_Args& args) {
  if (args.executable != nullptr) {
    Ref<LoadedExecutable>::adopt(&fromHandle(args.executable)).reset();
  }
  return {};
}

Status loadedExecutableGetExecutable(PJRT_LoadedExecutable_GetExecutable_Args& args) {
  args.executable = nullptr;
  ISTHMUS_REQUIRE(args, loaded_executable);
  args.executable = newExecutableHandle(fromHandle(args.loaded_executable).executable());
  return {};
}

Status loadedExecutableAddressableDevices(PJRT_LoadedExecutable_AddressableDevices_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  auto devices = fromHandle(args.executable).addressableDevices();
  args.addressable_devices = toHandles(devices);
  args.num_addressable_devices = devices.size();
  return {};
}

Status loadedExecutableAddressableDeviceLogicalIds(
    PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  auto ids = fromHandle(args.executable).addressableLogicalIds();
  args.addressable_device_logical_ids =
      reinterpret_cast<PJRT_LogicalDeviceIds*>(const_cast<LogicalId*>(ids.data()));
  args.num_addressable_device_logical_ids = ids.size();
  return {};
}

Status loadedExecutableGetDeviceAssignment(PJRT_LoadedExecutable_GetDeviceAssignment_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  const LoadedExecutable& executable = fromHandle(args.executable);
  auto* serialized = new PJRT_DeviceAssignmentSerialized{
      executable.isPortable() ? std::string()
                              : serializeDeviceAssignment(executable.deviceAssignment())};
  args.serialized_bytes = serialized->bytes.data();
  args.serialized_bytes_size = serialized->bytes.size();
  args.serialized_device_assignment = serialized;
  args.serialized_device_assignment_deleter = [](PJRT_DeviceAssignmentSerialized* object) {
    delete object;
  };
  return {};
}

Status loadedExecutableFingerprint(PJRT_LoadedExecutable_Fingerprint_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  const std::string& fingerprint = fromHandle(args.executable).fingerprint();
  args.executable_fingerprint = fingerprint.data();
  args.executable_fingerprint_size = fingerprint.size();
  return {};
}

Status loadedExecutableDelete(PJRT_LoadedExecutable_Delete_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  fromHandle(args.executable).release();
  return {};
}

Status loadedExecutableIsDeleted(PJRT_LoadedExecutable_IsDeleted_Args& args) {
  ISTHMUS_REQUIRE(args, executable);
  args.is_deleted = fromHandle(args.executable).isDeleted();
  return {};
}

}  // namespace

void bindLoadedExecutable(PJRT_Api& api) {
  api.PJRT_LoadedExecutable_Destroy = kEntry<&loadedExecutableDestroy>;
  api.PJRT_LoadedExecutable_GetExecutable = kEntry<&loadedExecutableGetExecutable>;
  api.PJRT_LoadedExecutable_AddressableDevices = kEntry<&loadedExecutableAddressableDevices>;
  api.PJRT_LoadedExecutable_AddressableDeviceLogicalIds =
      kEntry<&loadedExecutableAddressableDeviceLogicalIds>;
  api.PJRT_LoadedExecutable_GetDeviceAssignment = kEntry<&loadedExecutableGetDeviceAssignment>;
  api.PJRT_LoadedExecutable_Fingerprint = kEntry<&loadedExecutableFingerprint>;
  api.PJRT_LoadedExecutable_Delete = kEntry<&loadedExecutableDelete>;
  api.PJRT_LoadedExecutable_IsDeleted = kEntry<&loadedExecutableIsDeleted>;
}

}  // namespace isthmus::pjrt

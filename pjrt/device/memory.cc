// The entries of PJRT_Memory, and the framework's data on it.
#include <utility>

#include "pjrt/bindings.h"
#include "pjrt/entry.h"
#include "pjrt/handles.h"

namespace isthmus::pjrt {
namespace {

void* getUserData(PJRT_Memory* memory, const void* key) {
  if (memory == nullptr) return nullptr;
  auto& handle = *static_cast<MemoryHandle*>(memory);
  std::lock_guard lock(handle.mutex);
  auto it = handle.userData.find(key);
  return it == handle.userData.end() ? nullptr : it->second.data;
}

// Replaces what was there. Destructors are the framework's code and run without our lock.
void setUserData(PJRT_Memory* memory, const void* key, void* data, void (*destroy)(void*)) {
  if (memory == nullptr) return;
  auto& handle = *static_cast<MemoryHandle*>(memory);
  MemoryHandle::UserData old{data, destroy};
  try {
    std::lock_guard lock(handle.mutex);
    old = std::exchange(handle.userData[key], old);
  } catch (...) {
    // No memory to keep it: `old` is still the new data, destroyed below.
  }
  if (old.destroy != nullptr && old.data != nullptr) old.destroy(old.data);
}

constexpr PJRT_Memory_FunctionTable kVtable = {
    .struct_size = sizeof(PJRT_Memory_FunctionTable),
    .extension_start = nullptr,
    .instance_struct_size = sizeof(PJRT_Memory),
    .get_user_data = &getUserData,
    .set_user_data = &setUserData,
};

Status memoryId(PJRT_Memory_Id_Args& args) {
  ISTHMUS_REQUIRE(args, memory);
  args.id = fromHandle(args.memory).id();
  return {};
}

Status memoryKind(PJRT_Memory_Kind_Args& args) {
  ISTHMUS_REQUIRE(args, memory);
  const std::string& kind = fromHandle(args.memory).kind();
  args.kind = kind.data();
  args.kind_size = kind.size();
  return {};
}

Status memoryKindIdOf(PJRT_Memory_Kind_Id_Args& args) {
  ISTHMUS_REQUIRE(args, memory);
  args.kind_id = memoryKindId(fromHandle(args.memory).kind());
  return {};
}

Status memoryDebugString(PJRT_Memory_DebugString_Args& args) {
  ISTHMUS_REQUIRE(args, memory);
  const std::string& text = fromHandle(args.memory).debugString();
  args.debug_string = text.data();
  args.debug_string_size = text.size();
  return {};
}

Status memoryToString(PJRT_Memory_ToString_Args& args) {
  ISTHMUS_REQUIRE(args, memory);
  const std::string& text = fromHandle(args.memory).toString();
  args.to_string = text.data();
  args.to_string_size = text.size();
  return {};
}

Status memoryAddressableByDevices(PJRT_Memory_AddressableByDevices_Args& args) {
  ISTHMUS_REQUIRE(args, memory);
  auto devices = fromHandle(args.memory).devices();
  args.devices = toHandles(devices);
  args.num_devices = devices.size();
  return {};
}

}  // namespace

MemoryHandle::MemoryHandle(Memory& source) : PJRT_Memory{&kVtable}, memory(source) {}

void bindMemory(PJRT_Api& api) {
  api.PJRT_Memory_Id = kEntry<&memoryId>;
  api.PJRT_Memory_Kind = kEntry<&memoryKind>;
  api.PJRT_Memory_Kind_Id = kEntry<&memoryKindIdOf>;
  api.PJRT_Memory_DebugString = kEntry<&memoryDebugString>;
  api.PJRT_Memory_ToString = kEntry<&memoryToString>;
  api.PJRT_Memory_AddressableByDevices = kEntry<&memoryAddressableByDevices>;
}

}  // namespace isthmus::pjrt

// The entries of PJRT_Device and PJRT_AsyncTrackingEvent.
#include <string>

#include "pjrt/bindings.h"
#include "pjrt/entry.h"
#include "pjrt/handles.h"

// A marker for tools that follow asynchronous work; nothing here follows it.
struct PJRT_AsyncTrackingEvent {
  std::string description;
};

namespace isthmus::pjrt {
namespace {

PJRT_DeviceDescription* descriptionOf(Device& device) {
  for (PJRT_DeviceDescription* description :
       PJRT_Client::of(device.client()).topology.descriptionPointers) {
    if (description->description.id == device.id()) return description;
  }
  return nullptr;
}

Status deviceGetDescription(PJRT_Device_GetDescription_Args& args) {
  ISTHMUS_REQUIRE(args, device);
  args.device_description = descriptionOf(fromHandle(args.device));
  return {};
}

Status deviceIsAddressable(PJRT_Device_IsAddressable_Args& args) {
  ISTHMUS_REQUIRE(args, device);
  args.is_addressable = fromHandle(args.device).isAddressable();
  return {};
}

Status deviceLocalHardwareId(PJRT_Device_LocalHardwareId_Args& args) {
  ISTHMUS_REQUIRE(args, device);
  args.local_hardware_id = fromHandle(args.device).localHardwareId();
  return {};
}

Status deviceAddressableMemories(PJRT_Device_AddressableMemories_Args& args) {
  args.memories = nullptr;
  args.num_memories = 0;
  ISTHMUS_REQUIRE(args, device);
  Device& device = fromHandle(args.device);
  const PJRT_Client& client = PJRT_Client::of(device.client());
  if (auto it = client.deviceMemories.find(&device); it != client.deviceMemories.end()) {
    args.memories = it->second.data();
    args.num_memories = it->second.size();
  }
  return {};
}

Status deviceDefaultMemory(PJRT_Device_DefaultMemory_Args& args) {
  args.memory = nullptr;
  ISTHMUS_REQUIRE(args, device);
  Device& device = fromHandle(args.device);
  if (device.defaultMemory() == nullptr) {
    return invalidArgument("device ", device.id(), " has no default memory in this process");
  }
  args.memory = toHandle(*device.defaultMemory());
  return {};
}

Status deviceMemoryStats(PJRT_Device_MemoryStats_Args& args) {
  using Args = PJRT_Device_MemoryStats_Args;
  args.bytes_in_use = 0;
  auto set = [&](int64_t Args::* field, bool Args::* isSet, std::optional<int64_t> value) {
    put(args, field, value.value_or(0));
    put(args, isSet, value.has_value());
  };
  MemoryStats stats;
  bool known = args.device != nullptr;
  if (known) stats = fromHandle(args.device).memoryStats();
  auto ifKnown = [&](int64_t value) { return known ? std::optional(value) : std::nullopt; };
  args.bytes_in_use = stats.bytesInUse;
  set(&Args::peak_bytes_in_use, &Args::peak_bytes_in_use_is_set, ifKnown(stats.peakBytesInUse));
  set(&Args::num_allocs, &Args::num_allocs_is_set, ifKnown(stats.allocations));
  set(&Args::largest_alloc_size, &Args::largest_alloc_size_is_set,
      ifKnown(stats.largestAllocation));
  set(&Args::bytes_limit, &Args::bytes_limit_is_set, ifKnown(stats.bytesLimit));
  set(&Args::bytes_reserved, &Args::bytes_reserved_is_set, std::nullopt);
  set(&Args::peak_bytes_reserved, &Args::peak_bytes_reserved_is_set, std::nullopt);
  set(&Args::bytes_reservable_limit, &Args::bytes_reservable_limit_is_set,
      ifKnown(stats.bytesReservable));
  set(&Args::largest_free_block_bytes, &Args::largest_free_block_bytes_is_set, std::nullopt);
  set(&Args::pool_bytes, &Args::pool_bytes_is_set, std::nullopt);
  set(&Args::peak_pool_bytes, &Args::peak_pool_bytes_is_set, std::nullopt);
  set(&Args::peak_allocated_bytes, &Args::peak_allocated_bytes_is_set, std::nullopt);
  ISTHMUS_REQUIRE(args, device);
  return {};
}

Status deviceClearMemoryStats(PJRT_Device_ClearMemoryStats_Args& args) {
  ISTHMUS_REQUIRE(args, device);
  fromHandle(args.device).clearMemoryStats();
  return {};
}

Status devicePoisonExecution(PJRT_Device_PoisonExecution_Args& args) {
  args.poisoned = false;
  ISTHMUS_REQUIRE(args, device);
  Status error = statusFromParts(args.error_code, args.error_message, args.error_message_size);
  if (error.ok()) return invalidArgument("PJRT_Device_PoisonExecution: the error code is OK");
  args.poisoned = fromHandle(args.device).poisonExecution(args.launch_id, error);
  return {};
}

Status deviceGetAttributes(PJRT_Device_GetAttributes_Args& args) {
  args.attributes = nullptr;
  args.num_attributes = 0;
  args.device_attributes = nullptr;
  args.attributes_deleter = nullptr;
  ISTHMUS_REQUIRE(args, device);
  PJRT_DeviceDescription* description = descriptionOf(fromHandle(args.device));
  args.attributes = description->attributes.data();
  args.num_attributes = description->attributes.size();
  // The list belongs to the client, so there is nothing to delete; but callers may insist on a
  // deleter.
  args.device_attributes = reinterpret_cast<PJRT_Device_Attributes*>(description);
  args.attributes_deleter = [](PJRT_Device_Attributes*) {};
  return {};
}

Status deviceCreateAsyncTrackingEvent(PJRT_Device_CreateAsyncTrackingEvent_Args& args) {
  args.event = nullptr;
  ISTHMUS_REQUIRE(args, device);
  std::string description;
  if (args.description != nullptr) description.assign(args.description, args.description_size);
  args.event = new PJRT_AsyncTrackingEvent{std::move(description)};
  return {};
}

Status asyncTrackingEventDestroy(PJRT_AsyncTrackingEvent_Destroy_Args& args) {
  delete args.event;
  return {};
}

}  // namespace

void bindDevice(PJRT_Api& api) {
  api.PJRT_Device_GetDescription = kEntry<&deviceGetDescription>;
  api.PJRT_Device_IsAddressable = kEntry<&deviceIsAddressable>;
  api.PJRT_Device_LocalHardwareId = kEntry<&deviceLocalHardwareId>;
  api.PJRT_Device_AddressableMemories = kEntry<&deviceAddressableMemories>;
  api.PJRT_Device_DefaultMemory = kEntry<&deviceDefaultMemory>;
  api.PJRT_Device_MemoryStats = kEntry<&deviceMemoryStats>;
  api.PJRT_Device_ClearMemoryStats = kEntry<&deviceClearMemoryStats>;
  api.PJRT_Device_PoisonExecution = kEntry<&devicePoisonExecution>;
  api.PJRT_Device_GetAttributes = kEntry<&deviceGetAttributes>;
  api.PJRT_Device_CreateAsyncTrackingEvent = kEntry<&deviceCreateAsyncTrackingEvent>;
  api.PJRT_AsyncTrackingEvent_Destroy = kEntry<&asyncTrackingEventDestroy>;
}

}  // namespace isthmus::pjrt

// Clients, devices, memories and topologies.
#include <cstdlib>
#include <set>

#include "conformance/check.h"

namespace isthmus::conformance {

ISTHMUS_CHECK(client, create_and_destroy, kLoads, "a client can be made and destroyed, twice") {
  for (int i = 0; i < 2; ++i) {
    auto create = s.plugin().clientArgs();
    s.must(&PJRT_Api::PJRT_Client_Create, create);
    s.expect(create.client != nullptr, "a client", "null");
    auto destroy = make<PJRT_Client_Destroy_Args>();
    destroy.client = create.client;
    s.must(&PJRT_Api::PJRT_Client_Destroy, destroy);
  }
}

ISTHMUS_CHECK(client, platform, kLoads,
              "a client names its platform and version, always the same") {
  const std::string name = s.platformName();
  s.expect(!name.empty(), "a platform name", "an empty one");
  s.expect(name == s.platformName(), "the same name", s.platformName());
  if (const char* wanted = std::getenv("ISTHMUS_CONFORM_PLATFORM")) {
    s.expect(name == wanted, std::string("platform ") + wanted, name);
  }
  auto version = make<PJRT_Client_PlatformVersion_Args>();
  version.client = s.client();
  s.must(&PJRT_Api::PJRT_Client_PlatformVersion, version);
  s.expect(version.platform_version_size > 0, "a version", "none");
}

ISTHMUS_CHECK(client, unknown_option, kComplete,
              "an unknown option is refused or ignored, not fatal") {
  auto value = make<PJRT_NamedValue>();
  value.name = "no_such_option_of_any_plugin";
  value.name_size = 28;
  value.type = PJRT_NamedValue_kBool;
  value.bool_value = true;
  value.value_size = 1;
  auto create = s.plugin().clientArgs();
  std::vector<PJRT_NamedValue> options(create.create_options,
                                       create.create_options + create.num_options);
  options.push_back(value);
  create.create_options = options.data();
  create.num_options = options.size();
  if (!s.call(&PJRT_Api::PJRT_Client_Create, create).ok()) return;
  auto destroy = make<PJRT_Client_Destroy_Args>();
  destroy.client = create.client;
  s.must(&PJRT_Api::PJRT_Client_Destroy, destroy);
}

ISTHMUS_CHECK(device, exists, kRuns, "there is at least one addressable device") {
  s.expect(!s.devices().empty(), "a device", "none");
}

ISTHMUS_CHECK(device, addressable_are_devices, kRuns,
              "addressable devices are among all devices, and say that they are addressable") {
  auto all = make<PJRT_Client_Devices_Args>();
  all.client = s.client();
  s.must(&PJRT_Api::PJRT_Client_Devices, all);
  const std::set<PJRT_Device*> known(all.devices, all.devices + all.num_devices);
  for (PJRT_Device* device : s.devices()) {
    s.expect(known.contains(device), "an addressable device among all devices", "another");
    auto args = make<PJRT_Device_IsAddressable_Args>();
    args.device = device;
    s.must(&PJRT_Api::PJRT_Device_IsAddressable, args);
    s.expect(args.is_addressable, "is_addressable", "false");
  }
}

static int idOf(Session& s, PJRT_Device* device) {
  auto description = make<PJRT_Device_GetDescription_Args>();
  description.device = device;
  s.must(&PJRT_Api::PJRT_Device_GetDescription, description);
  auto id = make<PJRT_DeviceDescription_Id_Args>();
  id.device_description = description.device_description;
  s.must(&PJRT_Api::PJRT_DeviceDescription_Id, id);
  return id.id;
}

ISTHMUS_CHECK(device, ids, kRuns, "ids of devices differ, and looking one up gives its device") {
  std::set<int> ids;
  for (PJRT_Device* device : s.devices()) {
    const int id = idOf(s, device);
    s.expect(ids.insert(id).second, "ids that differ", std::to_string(id) + " twice");
    auto lookup = make<PJRT_Client_LookupDevice_Args>();
    lookup.client = s.client();
    lookup.id = id;
    s.must(&PJRT_Api::PJRT_Client_LookupDevice, lookup);
    s.expect(lookup.device == device, "the device of id " + std::to_string(id), "another");
  }
}

ISTHMUS_CHECK(device, local_hardware_ids, kFramework,
              "looking up a local hardware id gives its device") {
  for (PJRT_Device* device : s.devices()) {
    auto id = make<PJRT_Device_LocalHardwareId_Args>();
    id.device = device;
    s.must(&PJRT_Api::PJRT_Device_LocalHardwareId, id);
    auto lookup = make<PJRT_Client_LookupAddressableDevice_Args>();
    lookup.client = s.client();
    lookup.local_hardware_id = id.local_hardware_id;
    s.must(&PJRT_Api::PJRT_Client_LookupAddressableDevice, lookup);
    s.expect(lookup.addressable_device == device, "the device", "another");
  }
}

ISTHMUS_CHECK(device, unknown_id, kFramework, "looking up an id that no device has is refused") {
  for (int id : {-1, 1 << 30}) {
    auto lookup = make<PJRT_Client_LookupDevice_Args>();
    lookup.client = s.client();
    lookup.id = id;
    s.mustFail(&PJRT_Api::PJRT_Client_LookupDevice, lookup, "for id " + std::to_string(id));
  }
}

ISTHMUS_CHECK(device, description, kFramework, "a device has a kind and texts that describe it") {
  auto get = make<PJRT_Device_GetDescription_Args>();
  get.device = s.device();
  s.must(&PJRT_Api::PJRT_Device_GetDescription, get);
  auto kind = make<PJRT_DeviceDescription_Kind_Args>();
  kind.device_description = get.device_description;
  s.must(&PJRT_Api::PJRT_DeviceDescription_Kind, kind);
  s.expect(kind.device_kind_size > 0, "a kind", "none");
  auto debug = make<PJRT_DeviceDescription_DebugString_Args>();
  debug.device_description = get.device_description;
  s.must(&PJRT_Api::PJRT_DeviceDescription_DebugString, debug);
  s.expect(debug.debug_string_size > 0, "a debug string", "none");
  auto text = make<PJRT_DeviceDescription_ToString_Args>();
  text.device_description = get.device_description;
  s.must(&PJRT_Api::PJRT_DeviceDescription_ToString, text);
  s.expect(text.to_string_size > 0, "a text", "none");
  auto process = make<PJRT_DeviceDescription_ProcessIndex_Args>();
  process.device_description = get.device_description;
  s.must(&PJRT_Api::PJRT_DeviceDescription_ProcessIndex, process);
  s.expect(process.process_index == 0, "process 0 in a job of one process",
           std::to_string(process.process_index));
}

ISTHMUS_CHECK(memory, default_is_addressable, kRuns,
              "a device's default memory is one of those that it can address") {
  PJRT_Memory* wanted = s.defaultMemory(s.device());
  auto args = make<PJRT_Device_AddressableMemories_Args>();
  args.device = s.device();
  s.must(&PJRT_Api::PJRT_Device_AddressableMemories, args);
  bool found = false;
  for (size_t i = 0; i < args.num_memories; ++i) found = found || args.memories[i] == wanted;
  s.expect(found, "the default memory among those of the device", "another");
}

ISTHMUS_CHECK(memory, describes_itself, kFramework,
              "a memory has a kind, texts, an id of its own, and devices that address it") {
  auto all = make<PJRT_Client_AddressableMemories_Args>();
  all.client = s.client();
  s.must(&PJRT_Api::PJRT_Client_AddressableMemories, all);
  s.expect(all.num_addressable_memories > 0, "memories", "none");
  std::set<int> ids;
  for (size_t i = 0; i < all.num_addressable_memories; ++i) {
    PJRT_Memory* memory = all.addressable_memories[i];
    auto id = make<PJRT_Memory_Id_Args>();
    id.memory = memory;
    s.must(&PJRT_Api::PJRT_Memory_Id, id);
    s.expect(ids.insert(id.id).second, "ids that differ", std::to_string(id.id) + " twice");
    auto kind = make<PJRT_Memory_Kind_Args>();
    kind.memory = memory;
    s.must(&PJRT_Api::PJRT_Memory_Kind, kind);
    s.expect(kind.kind_size > 0, "a kind", "none");
    auto text = make<PJRT_Memory_ToString_Args>();
    text.memory = memory;
    s.must(&PJRT_Api::PJRT_Memory_ToString, text);
    s.expect(text.to_string_size > 0, "a text", "none");
    auto devices = make<PJRT_Memory_AddressableByDevices_Args>();
    devices.memory = memory;
    s.must(&PJRT_Api::PJRT_Memory_AddressableByDevices, devices);
    s.expect(devices.num_devices > 0, "a device that addresses it", "none");
  }
}

ISTHMUS_CHECK(memory, statistics, kComplete,
              "memory in use grows by at least a new buffer's bytes, and falls when it is gone") {
  auto inUse = [&] {
    auto args = make<PJRT_Device_MemoryStats_Args>();
    args.device = s.device();
    s.mayLack(&PJRT_Api::PJRT_Device_MemoryStats, args);
    return args.bytes_in_use;
  };
  const int64_t before = inUse();
  Buffer buffer = s.fromHost(iota(PJRT_Buffer_Type_F32, {1 << 20}));
  s.succeed("the copy", s.awaitReady(buffer));
  const int64_t during = inUse();
  s.expect(during - before >= (4 << 20), "at least 4 MiB more in use",
           std::to_string(during - before));
  buffer.reset();
  s.expect(inUse() <= during - (4 << 20), "4 MiB less after its destruction",
           std::to_string(during - inUse()) + " bytes less");
}

ISTHMUS_CHECK(client, default_device_assignment, kFramework,
              "the default assignment of devices names devices that exist, each once") {
  const int count = static_cast<int>(s.devices().size());
  std::vector<int> ids(count, -1);
  auto args = make<PJRT_Client_DefaultDeviceAssignment_Args>();
  args.client = s.client();
  args.num_replicas = count;
  args.num_partitions = 1;
  args.default_assignment = ids.data();
  args.default_assignment_size = ids.size();
  s.must(&PJRT_Api::PJRT_Client_DefaultDeviceAssignment, args);
  std::set<int> known, given(ids.begin(), ids.end());
  for (PJRT_Device* device : s.devices()) known.insert(idOf(s, device));
  s.expect(given == known, "each device once", std::to_string(given.size()) + " ids");
}

ISTHMUS_CHECK(topology, of_the_client, kFramework, "a client's topology describes its devices") {
  auto get = make<PJRT_Client_TopologyDescription_Args>();
  get.client = s.client();
  s.mayLack(&PJRT_Api::PJRT_Client_TopologyDescription, get);
  auto devices = make<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
  devices.topology = get.topology;
  s.must(&PJRT_Api::PJRT_TopologyDescription_GetDeviceDescriptions, devices);
  auto all = make<PJRT_Client_Devices_Args>();
  all.client = s.client();
  s.must(&PJRT_Api::PJRT_Client_Devices, all);
  s.expect(devices.num_descriptions == all.num_devices,
           std::to_string(all.num_devices) + " descriptions",
           std::to_string(devices.num_descriptions));
  auto name = make<PJRT_TopologyDescription_PlatformName_Args>();
  name.topology = get.topology;
  s.must(&PJRT_Api::PJRT_TopologyDescription_PlatformName, name);
  s.expect(std::string(name.platform_name, name.platform_name_size) == s.platformName(),
           "the client's platform name", std::string(name.platform_name, name.platform_name_size));
}

}  // namespace isthmus::conformance

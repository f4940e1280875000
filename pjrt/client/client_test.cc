// Clients, devices, memories and topologies through the function table. The names and texts of the
// official conformance tests are kept where they have one.
#include <cstring>
#include <set>

#include "pjrt/testing/c_api_testing.h"

namespace isthmus::pjrt {
namespace {

using ClientTest = CApiTest;

TEST_F(ClientTest, PlatformNameIsCpu) {
  auto args = make<PJRT_Client_PlatformName_Args>();
  args.client = client_;
  ASSERT_PJRT_OK(call(api_.PJRT_Client_PlatformName, args));
  EXPECT_EQ(std::string(args.platform_name, args.platform_name_size), "cpu");
}

TEST_F(ClientTest, DevicesHaveIdsFromZero) {
  auto args = make<PJRT_Client_Devices_Args>();
  args.client = client_;
  ASSERT_PJRT_OK(call(api_.PJRT_Client_Devices, args));
  ASSERT_EQ(args.num_devices, static_cast<size_t>(kNumDevices));
  for (size_t i = 0; i < args.num_devices; ++i) {
    EXPECT_EQ(args.devices[i], device(i));
    auto description = make<PJRT_Device_GetDescription_Args>();
    description.device = args.devices[i];
    ASSERT_PJRT_OK(call(api_.PJRT_Device_GetDescription, description));
    auto id = make<PJRT_DeviceDescription_Id_Args>();
    id.device_description = description.device_description;
    ASSERT_PJRT_OK(call(api_.PJRT_DeviceDescription_Id, id));
    EXPECT_EQ(id.id, static_cast<int>(i));
    auto text = make<PJRT_DeviceDescription_ToString_Args>();
    text.device_description = description.device_description;
    ASSERT_PJRT_OK(call(api_.PJRT_DeviceDescription_ToString, text));
    EXPECT_EQ(std::string(text.to_string, text.to_string_size),
              "FunctionDevice(id=" + std::to_string(i) + ")");
    auto hardware = make<PJRT_Device_LocalHardwareId_Args>();
    hardware.device = args.devices[i];
    ASSERT_PJRT_OK(call(api_.PJRT_Device_LocalHardwareId, hardware));
    EXPECT_EQ(hardware.local_hardware_id, static_cast<int>(i));
  }
}

TEST_F(ClientTest, JobsNeedCallbacksAndAPlaceInThem) {
  struct {
    int64_t process, processes;
    const char* expected;
  } cases[] = {{2, 2, "node_id is 2 and num_nodes 2"}, {0, 2, "needs `kv_get_callback`"}};
  for (const auto& [process, processes, expected] : cases) {
    PJRT_NamedValue options[2];
    const char* names[] = {"node_id", "num_nodes"};
    for (int i = 0; i < 2; ++i) {
      options[i] = intOption(names[i], i == 0 ? process : processes);
    }
    auto args = make<PJRT_Client_Create_Args>();
    args.create_options = options;
    args.num_options = 2;
    Outcome outcome = call(api_.PJRT_Client_Create, args);
    EXPECT_EQ(outcome.code, PJRT_Error_Code_INVALID_ARGUMENT);
    EXPECT_NE(outcome.message.find(expected), std::string::npos) << outcome.message;
  }
}

TEST_F(ClientTest, DeviceAttributesAreListed) {
  auto args = make<PJRT_Device_GetAttributes_Args>();
  args.device = device(2);
  ASSERT_PJRT_OK(call(api_.PJRT_Device_GetAttributes, args));
  ASSERT_EQ(args.num_attributes, 1u);
  const PJRT_NamedValue& value = args.attributes[0];
  EXPECT_EQ(std::string(value.name, value.name_size), "coords");
  ASSERT_EQ(value.type, PJRT_NamedValue_kInt64List);
  ASSERT_EQ(value.value_size, 3u);
  EXPECT_EQ(value.int64_array_value[0], 2);
  ASSERT_NE(args.attributes_deleter, nullptr);
  args.attributes_deleter(args.device_attributes);
}

TEST_F(ClientTest, LookupDevice) {
  auto args = make<PJRT_Client_LookupDevice_Args>();
  args.client = client_;
  args.id = 1;
  ASSERT_PJRT_OK(call(api_.PJRT_Client_LookupDevice, args));
  EXPECT_EQ(args.device, device(1));
  for (int id : {-1, static_cast<int>(kNumDevices)}) {
    args.id = id;
    Outcome outcome = call(api_.PJRT_Client_LookupDevice, args);
    EXPECT_EQ(outcome.code, PJRT_Error_Code_INVALID_ARGUMENT);
    EXPECT_EQ(outcome.message, "No matching device found for device_id " + std::to_string(id));
    EXPECT_EQ(args.device, nullptr);
  }
  auto local = make<PJRT_Client_LookupAddressableDevice_Args>();
  local.client = client_;
  ASSERT_PJRT_OK(call(api_.PJRT_Client_LookupAddressableDevice, local));
  EXPECT_EQ(local.addressable_device, device(0));
  local.local_hardware_id = 77;
  EXPECT_FALSE(call(api_.PJRT_Client_LookupAddressableDevice, local).ok());
}

TEST_F(ClientTest, DefaultDeviceAssignment) {
  std::vector<int> ids(8, -1);
  auto args = make<PJRT_Client_DefaultDeviceAssignment_Args>();
  args.client = client_;
  args.num_replicas = 2;
  args.num_partitions = 1;
  args.default_assignment = ids.data();
  args.default_assignment_size = 2;
  ASSERT_PJRT_OK(call(api_.PJRT_Client_DefaultDeviceAssignment, args));
  EXPECT_EQ(ids, (std::vector{0, 1, -1, -1, -1, -1, -1, -1}));

  args.num_replicas = 4;
  args.num_partitions = 2;
  args.default_assignment_size = 7;
  Outcome outcome = call(api_.PJRT_Client_DefaultDeviceAssignment, args);
  EXPECT_EQ(outcome.code, PJRT_Error_Code_FAILED_PRECONDITION);
  EXPECT_EQ(outcome.message,
            "PJRT_Client_DefaultDeviceAssignment: `default_assignment_size` 7 < `num_replicas * "
            "num_partitions`, 4 * 2 = 8");
  args.num_replicas = args.num_partitions = 1 << 30;
  EXPECT_EQ(call(api_.PJRT_Client_DefaultDeviceAssignment, args).code,
            PJRT_Error_Code_FAILED_PRECONDITION);
  args.num_replicas = -1;
  EXPECT_EQ(call(api_.PJRT_Client_DefaultDeviceAssignment, args).code,
            PJRT_Error_Code_INVALID_ARGUMENT);
}

TEST_F(ClientTest, CompileInvalidOption) {
  std::string code = "stablehlo.add";
  PJRT_Program program = programOf(code);
  auto args = make<PJRT_Client_Compile_Args>();
  args.client = client_;
  args.program = &program;
  args.compile_options = "invalid compile options";
  args.compile_options_size = 23;
  Outcome outcome = call(api_.PJRT_Client_Compile, args);
  EXPECT_EQ(outcome.code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(outcome.message, "PJRT_Client_Compile: failed to deserialize CompileOptionsProto");
  EXPECT_EQ(args.executable, nullptr);
  destroy(args.executable);
}

TEST_F(ClientTest, CompileInvalidProgramFormat) {
  std::string code = "stablehlo.add";
  PJRT_Program program = programOf(code, "invalid");
  auto args = make<PJRT_Client_Compile_Args>();
  args.client = client_;
  args.program = &program;
  Outcome outcome = call(api_.PJRT_Client_Compile, args);
  EXPECT_EQ(outcome.code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(outcome.message, "Unknown program format 'invalid'.");
}

TEST_F(ClientTest, PluginAttributesAreUniqueAndComplete) {
  auto args = make<PJRT_Plugin_Attributes_Args>();
  ASSERT_PJRT_OK(call(api_.PJRT_Plugin_Attributes, args));
  std::set<std::string> names;
  for (size_t i = 0; i < args.num_attributes; ++i) {
    names.emplace(args.attributes[i].name, args.attributes[i].name_size);
  }
  EXPECT_EQ(names.size(), args.num_attributes);
  for (const char* name :
       {"xla_version", "stablehlo_current_version", "stablehlo_minimum_version"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST_F(ClientTest, MemoriesAndDevicesPointAtEachOther) {
  std::set<PJRT_Memory*> all;
  auto memories = make<PJRT_Client_AddressableMemories_Args>();
  memories.client = client_;
  ASSERT_PJRT_OK(call(api_.PJRT_Client_AddressableMemories, memories));
  for (size_t i = 0; i < memories.num_addressable_memories; ++i) {
    all.insert(memories.addressable_memories[i]);
  }
  std::set<int> ids;
  for (int i = 0; i < kNumDevices; ++i) {
    auto main = make<PJRT_Device_DefaultMemory_Args>();
    main.device = device(i);
    ASSERT_PJRT_OK(call(api_.PJRT_Device_DefaultMemory, main));
    EXPECT_EQ(main.memory, memory("device", i));
    for (const char* kind : {"device", "pinned_host", "unpinned_host"}) {
      PJRT_Memory* of = memory(kind, i);
      ASSERT_TRUE(all.contains(of)) << kind;
      auto devices = make<PJRT_Memory_AddressableByDevices_Args>();
      devices.memory = of;
      ASSERT_PJRT_OK(call(api_.PJRT_Memory_AddressableByDevices, devices));
      std::set<PJRT_Device*> set(devices.devices, devices.devices + devices.num_devices);
      EXPECT_TRUE(set.contains(device(i)));
      auto id = make<PJRT_Memory_Id_Args>();
      id.memory = of;
      ASSERT_PJRT_OK(call(api_.PJRT_Memory_Id, id));
      EXPECT_TRUE(ids.insert(id.id).second);
    }
  }
}

TEST_F(ClientTest, MemoryKindsHaveEqualNumbersEverywhere) {
  const PJRT_MemoryDescriptions_Extension* extension = nullptr;
  for (auto* node = api_.extension_start; node != nullptr; node = node->next) {
    if (node->type == PJRT_Extension_Type_MemoryDescriptions) {
      extension = reinterpret_cast<const PJRT_MemoryDescriptions_Extension*>(node);
    }
  }
  ASSERT_NE(extension, nullptr);
  auto description = make<PJRT_Device_GetDescription_Args>();
  description.device = device();
  ASSERT_PJRT_OK(call(api_.PJRT_Device_GetDescription, description));
  auto list = make<PJRT_DeviceDescription_MemoryDescriptions_Args>();
  list.device_description = description.device_description;
  ASSERT_PJRT_OK(call(extension->PJRT_DeviceDescription_MemoryDescriptions, list));
  ASSERT_EQ(list.num_memory_descriptions, 3u);
  EXPECT_EQ(list.default_memory_index, 0u);
  std::set<int> ids;
  for (size_t i = 0; i < 3; ++i) {
    auto kind = make<PJRT_MemoryDescription_Kind_Args>();
    kind.memory_description = list.memory_descriptions[i];
    ASSERT_PJRT_OK(call(extension->PJRT_MemoryDescription_Kind, kind));
    EXPECT_NE(kind.kind_id, 0);
    auto id = make<PJRT_Memory_Kind_Id_Args>();
    id.memory = memory({kind.kind, kind.kind_size}, 3);
    ASSERT_PJRT_OK(call(api_.PJRT_Memory_Kind_Id, id));
    EXPECT_EQ(id.kind_id, kind.kind_id);
    ids.insert(id.kind_id);
  }
  EXPECT_EQ(ids.size(), 3u);
}

TEST_F(ClientTest, MemoriesKeepTheFrameworksData) {
  PJRT_Memory* of = memory("device");
  static int destroyed;
  destroyed = 0;
  int key = 0, first = 1, second = 2;
  EXPECT_EQ(of->vtable->get_user_data(of, &key), nullptr);
  of->vtable->set_user_data(of, &key, &first, [](void*) { ++destroyed; });
  EXPECT_EQ(of->vtable->get_user_data(of, &key), &first);
  EXPECT_EQ(memory("device", 1)->vtable->get_user_data(memory("device", 1), &key), nullptr);
  of->vtable->set_user_data(of, &key, &second, [](void*) { ++destroyed; });
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(of->vtable->get_user_data(of, &key), &second);
  TearDown();
  EXPECT_EQ(destroyed, 2);
  SetUp();
}

TEST_F(ClientTest, OptionsAreChecked) {
  auto option = make<PJRT_NamedValue>();
  option.name = "no_such_option";
  option.name_size = 14;
  option.type = PJRT_NamedValue_kBool;
  option.value_size = 1;
  auto args = make<PJRT_Client_Create_Args>();
  args.create_options = &option;
  args.num_options = 1;
  Outcome outcome = call(api_.PJRT_Client_Create, args);
  EXPECT_EQ(outcome.code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find("no_such_option"), std::string::npos);
  EXPECT_EQ(args.client, nullptr);
}

TEST_F(ClientTest, CallbacksOfASingleProcessAreNotTouched) {
  auto args = make<PJRT_Client_Create_Args>();
  auto garbage = reinterpret_cast<void*>(uintptr_t{0xdeadbeef});
  std::memcpy(&args.kv_get_callback, &garbage, sizeof(garbage));
  std::memcpy(&args.kv_put_callback, &garbage, sizeof(garbage));
  std::memcpy(&args.kv_try_get_callback, &garbage, sizeof(garbage));
  args.kv_get_user_arg = args.kv_put_user_arg = args.kv_try_get_user_arg = garbage;
  ASSERT_PJRT_OK(call(api_.PJRT_Client_Create, args));
  auto destroy = make<PJRT_Client_Destroy_Args>();
  destroy.client = args.client;
  EXPECT_PJRT_OK(call(api_.PJRT_Client_Destroy, destroy));
}

TEST_F(ClientTest, BuffersOutliveTheirClient) {
  PJRT_Buffer* buffer = fromHost({1, 2, 3, 4});
  TearDown();
  EXPECT_EQ(toHost(buffer), (std::vector<float>{1, 2, 3, 4}));
  auto where = make<PJRT_Buffer_Memory_Args>();
  where.buffer = buffer;
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_Memory, where));
  auto kind = make<PJRT_Memory_Kind_Args>();
  kind.memory = where.memory;
  ASSERT_PJRT_OK(call(api_.PJRT_Memory_Kind, kind));
  EXPECT_EQ(std::string(kind.kind, kind.kind_size), "device");
  destroy(buffer);
  SetUp();
}

TEST_F(ClientTest, TopologyRoundTrips) {
  auto of = make<PJRT_Client_TopologyDescription_Args>();
  of.client = client_;
  ASSERT_PJRT_OK(call(api_.PJRT_Client_TopologyDescription, of));
  auto create = make<PJRT_TopologyDescription_Create_Args>();
  create.topology_name = "cpu:4";
  create.topology_name_size = 5;
  ASSERT_PJRT_OK(call(api_.PJRT_TopologyDescription_Create, create));
  auto serialize = make<PJRT_TopologyDescription_Serialize_Args>();
  serialize.topology = create.topology;
  ASSERT_PJRT_OK(call(api_.PJRT_TopologyDescription_Serialize, serialize));
  auto deserialize = make<PJRT_TopologyDescription_Deserialize_Args>();
  deserialize.serialized_topology = serialize.serialized_bytes;
  deserialize.serialized_topology_size = serialize.serialized_bytes_size;
  ASSERT_PJRT_OK(call(api_.PJRT_TopologyDescription_Deserialize, deserialize));
  serialize.serialized_topology_deleter(serialize.serialized_topology);

  std::set<uint64_t> fingerprints;
  for (PJRT_TopologyDescription* topology : {of.topology, create.topology, deserialize.topology}) {
    auto fingerprint = make<PJRT_TopologyDescription_Fingerprint_Args>();
    fingerprint.topology = topology;
    ASSERT_PJRT_OK(call(api_.PJRT_TopologyDescription_Fingerprint, fingerprint));
    fingerprints.insert(fingerprint.fingerprint);
    auto devices = make<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
    devices.topology = topology;
    ASSERT_PJRT_OK(call(api_.PJRT_TopologyDescription_GetDeviceDescriptions, devices));
    EXPECT_EQ(devices.num_descriptions, 4u);
    auto kinds = make<PJRT_TopologyDescription_GetMemorySpaceKindIds_Args>();
    kinds.topology = topology;
    ASSERT_PJRT_OK(call(api_.PJRT_TopologyDescription_GetMemorySpaceKindIds, kinds));
    EXPECT_EQ(kinds.num_memory_space_kind_ids, 3u);
    auto destroy = make<PJRT_TopologyDescription_Destroy_Args>();
    destroy.topology = topology;
    EXPECT_PJRT_OK(call(api_.PJRT_TopologyDescription_Destroy, destroy));
  }
  EXPECT_EQ(fingerprints.size(), 1u);
  deserialize.serialized_topology = "not a topology";
  deserialize.serialized_topology_size = 14;
  EXPECT_FALSE(call(api_.PJRT_TopologyDescription_Deserialize, deserialize).ok());
  create.topology_name = "v5e:2x2";
  create.topology_name_size = 7;
  EXPECT_EQ(call(api_.PJRT_TopologyDescription_Create, create).code,
            PJRT_Error_Code_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace isthmus::pjrt

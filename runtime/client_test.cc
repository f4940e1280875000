// Clients: devices, memories, lookup, options, statistics, and topologies as text.
#include "runtime/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "runtime/runtime_testing.h"

namespace isthmus {
namespace {

using isthmus::testing::f32;
using isthmus::testing::Fixture;
using isthmus::testing::FunctionBackend;
using ::testing::HasSubstr;

TEST(Client, DevicesAndMemoriesAgree) {
  Fixture fixture(3);
  Client& client = *fixture.client;
  ASSERT_EQ(client.devices().size(), 3u);
  EXPECT_EQ(client.addressableDevices().size(), 3u);
  EXPECT_EQ(client.memories().size(), 9u);
  std::set<int> ids;
  for (Device* device : client.devices()) {
    EXPECT_TRUE(device->isAddressable());
    EXPECT_EQ(device->defaultMemory()->kind(), "device");
    EXPECT_EQ(device->findMemory("pinned_host")->kind(), "pinned_host");
    EXPECT_EQ(device->findMemory("moon"), nullptr);
    for (Memory* memory : device->memories()) {
      EXPECT_TRUE(ids.insert(memory->id()).second);
      EXPECT_EQ(memory->devices().front(), device);
      EXPECT_NE(memory->kindId(), 0);
    }
  }
  EXPECT_EQ(client.devices()[0]->memories()[1]->kindId(),
            client.devices()[2]->memories()[1]->kindId());
}

TEST(Client, Lookup) {
  Fixture fixture(2);
  EXPECT_EQ(fixture.client->lookupDevice(1).value()->id(), 1);
  EXPECT_EQ(fixture.client->lookupAddressableDevice(0).value()->id(), 0);
  Status status = fixture.client->lookupDevice(2).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "No matching device found for device_id 2");
  EXPECT_FALSE(fixture.client->lookupDevice(-1).ok());
}

TEST(Client, DefaultDeviceAssignmentWrapsAround) {
  Fixture fixture(2);
  EXPECT_EQ(fixture.client->defaultDeviceAssignment(2, 1).deviceIds, (std::vector<int>{0, 1}));
  EXPECT_EQ(fixture.client->defaultDeviceAssignment(3, 1).deviceIds, (std::vector<int>{0, 1, 0}));
}

TEST(Client, Options) {
  FunctionBackend& backend = Fixture::newBackend();
  auto named = Client::create(backend, {{"platform_name", std::string("moon")}});
  EXPECT_EQ(named.value()->platformName(), "moon");
  EXPECT_EQ(named.value()->platformVersion(), "functions 1.0");
  EXPECT_FALSE(Client::create(backend, {{"platform_name", int64_t{3}}}).ok());
  EXPECT_FALSE(Client::create(backend, {{"num_devices", int64_t{0}}}).ok());
}

TEST(Client, StatisticsCount) {
  Fixture fixture;
  MemoryStats before = fixture.device().memoryStats();
  EXPECT_EQ(before.bytesInUse, 0);
  EXPECT_GT(before.bytesLimit, 0);
  BufferRef x = fixture.client->uninitialized(fixture.memory(), f32({100})).value();
  BufferRef y = fixture.client->uninitialized(fixture.memory(), f32({50})).value();
  x->release();
  MemoryStats after = fixture.device().memoryStats();
  EXPECT_EQ(after.bytesInUse, 200);
  EXPECT_EQ(after.peakBytesInUse, 600);
  EXPECT_EQ(after.allocations, 2);
  EXPECT_EQ(after.largestAllocation, 400);
  fixture.device().clearMemoryStats();
  EXPECT_EQ(fixture.device().memoryStats().peakBytesInUse, 200);
  Status status = fixture.client->uninitialized(fixture.memory(), f32({int64_t{1} << 50})).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("allocating in device[id=0, device=0]"));
}

TEST(Client, LimitsOfMemory) {
  FunctionBackend& backend = Fixture::newBackend();
  for (int64_t bad : {int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    EXPECT_FALSE(Client::create(backend, {{"memory_limit_bytes", bad}}).ok());
  }
  EXPECT_FALSE(Client::create(backend, {{"memory_limit_bytes", std::string("1")}}).ok());
  auto limit = [&](AttributeMap options) {
    auto client = Client::create(backend, std::move(options)).value();
    return client->devices()[0]->memoryStats().bytesLimit;
  };
  int64_t all = limit({});
  EXPECT_EQ(limit({{"memory_limit_bytes", int64_t{4096}}}), 4096);
  EXPECT_EQ(limit({{"memory_limit_bytes", int64_t{0}}}), all);
  EXPECT_EQ(limit({{"memory_limit_bytes", all}, {"memory_fraction", 0.5f}}), all / 2);
}

TEST(Client, CompilesByTheBackend) {
  Fixture fixture;
  isthmus::ProgramInfo info;
  info.name = "p";
  fixture.backend.add(info, [](const RunRequest&) -> Status { return {}; });
  CompileRequest request;
  request.code = "p";
  EXPECT_EQ(fixture.client->compile(request).value()->info().name, "p");
  request.code = "q";
  EXPECT_EQ(fixture.client->compile(request).status().message(), "no function for the program q");
  EXPECT_EQ(fixture.client->deserialize("p").value()->info().code, "p");
}

TEST(Topology, TextRoundTrip) {
  FunctionBackend& backend = Fixture::newBackend();
  Topology topology = Topology::create(backend, {{"num_devices", int64_t{2}}}).value();
  topology.attributes = {{"s", std::string("a b")},
                         {"i", int64_t{-5}},
                         {"f", 0.1f},
                         {"b", true},
                         {"v", std::vector<int64_t>{1, -2}}};
  std::string text = topology.serialize();
  Topology back = Topology::deserialize(text).value();
  EXPECT_EQ(back.serialize(), text);
  EXPECT_EQ(back.attributes, topology.attributes);
  EXPECT_EQ(back.devices.size(), 2u);
  EXPECT_EQ(back.devices[1].id, 1);
  EXPECT_EQ(back.devices[1].memories[0].isDefault, true);
  EXPECT_EQ(back.fingerprint(), topology.fingerprint());
  back.devices[1].kind = "other";
  EXPECT_NE(back.fingerprint(), topology.fingerprint());
}

TEST(Topology, HostileTextIsRefused) {
  FunctionBackend& backend = Fixture::newBackend();
  std::string text = Topology::create(backend, {}).value().serialize();
  EXPECT_FALSE(Topology::deserialize("").ok());
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(Topology::deserialize(text.substr(0, length)).ok()) << length;
  }
  EXPECT_FALSE(Topology::deserialize(text + "1 ").ok());
  EXPECT_FALSE(Topology::deserialize("isthmus-topology-1 99999999999999999999 x").ok());
  EXPECT_FALSE(Topology::deserialize("isthmus-topology-1 -4 x").ok());

  auto withDevices = [](std::string_view devices) {
    return Topology::deserialize("isthmus-topology-1 1 p1 v0 " + std::string(devices)).status();
  };
  EXPECT_TRUE(withDevices("2 0 0 0 1 k1 d0 0 1 0 1 1 k1 d0 0 ").ok());
  EXPECT_TRUE(withDevices("1 0 0 -1 1 k1 d0 0 ").ok());
  // Numbers that an int does not hold were cut off, to those of other devices.
  EXPECT_FALSE(withDevices("1 4294967296 0 0 1 k1 d0 0 ").ok());
  EXPECT_FALSE(withDevices("1 -1 0 0 1 k1 d0 0 ").ok());
  EXPECT_FALSE(withDevices("1 0 -1 0 1 k1 d0 0 ").ok());
  EXPECT_FALSE(withDevices("1 0 0 -2 1 k1 d0 0 ").ok());
  EXPECT_EQ(withDevices("2 3 0 0 1 k1 d0 0 3 0 1 1 k1 d0 0 ").message(),
            "serialized topology: two devices have the id 3");
}

}  // namespace
}  // namespace isthmus

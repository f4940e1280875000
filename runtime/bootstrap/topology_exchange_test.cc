// Processes that learn of each other's devices, each a thread here.
#include "runtime/bootstrap/topology_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "runtime/bootstrap/memory_key_value_store.h"

namespace isthmus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Topology localTopology(int numDevices, std::string version = "isthmus 1") {
  Topology topology;
  topology.platformName = "cpu";
  topology.platformVersion = std::move(version);
  for (int d = 0; d < numDevices; ++d) {
    DeviceDescription& device = topology.devices.emplace_back();
    device.id = device.localHardwareId = d;
    device.debugString = "CpuDevice(id=" + std::to_string(d) + ")";
    device.memories = {{"device", true}};
  }
  return topology;
}

struct Outcome {
  Status status;
  Topology topology;
};

// Processes 0, 1, … with these topologies, of `numProcesses`.
std::vector<Outcome> exchangeAll(std::vector<Topology> topologies, int numProcesses,
                                 int timeoutSeconds = 60) {
  testing::MemoryKeyValueStore store;
  std::vector<Outcome> outcomes(topologies.size());
  std::vector<std::thread> threads;
  for (size_t process = 0; process < topologies.size(); ++process) {
    threads.emplace_back([&, process] {
      ExchangeOptions options{static_cast<int>(process), numProcesses, "test/",
                              std::chrono::seconds(timeoutSeconds)};
      outcomes[process].topology = topologies[process];
      outcomes[process].status = exchangeTopologies(store, options, outcomes[process].topology);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

TEST(TopologyExchange, AllLearnOfAllDevices) {
  for (const Outcome& outcome : exchangeAll({localTopology(2), localTopology(1)}, 2)) {
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
    std::vector<int> ids, processes, local;
    for (const DeviceDescription& device : outcome.topology.devices) {
      ids.push_back(device.id);
      processes.push_back(device.processIndex);
      local.push_back(device.localHardwareId);
    }
    EXPECT_THAT(ids, ElementsAre(0, 1, 2048));  // XLA's numbers
    EXPECT_THAT(processes, ElementsAre(0, 0, 1));
    EXPECT_THAT(local, ElementsAre(0, 1, 0));
    EXPECT_EQ(outcome.topology.devices[2].debugString, "CpuDevice(id=2048)");
    EXPECT_EQ(processOfDevice(outcome.topology.devices[2].id), 1);
  }
}

TEST(TopologyExchange, SaysWhoIsMissing) {
  std::vector<Outcome> outcomes = exchangeAll({localTopology(1), localTopology(1)}, 4, 1);
  for (const Outcome& outcome : outcomes) {
    EXPECT_THAT(std::string(outcome.status.message()),
                HasSubstr("process 2, 3 of 4 did not join within 1 s"));
  }
}

TEST(TopologyExchange, RefusesOtherVersions) {
  for (const Outcome& outcome : exchangeAll({localTopology(1), localTopology(1, "isthmus 2")}, 2)) {
    EXPECT_EQ(outcome.status.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(outcome.status.message()),
                HasSubstr("process 0 runs isthmus 1, but process 1 runs isthmus 2"));
  }
}

TEST(TopologyExchange, RefusesSecondProcessWithOneIndex) {
  testing::MemoryKeyValueStore store;
  ExchangeOptions options{1, 2, "test/", std::chrono::seconds(0)};
  Topology first = localTopology(1), second = localTopology(1);
  std::thread waiting([&] { (void)exchangeTopologies(store, options, first); });
  ASSERT_TRUE(store.get("test/topology/1", std::chrono::seconds(60)).ok());
  Status status = exchangeTopologies(store, options, second);
  EXPECT_EQ(status.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()), HasSubstr("process 1 of 2 has joined"));
  ASSERT_TRUE(store.put("test/topology/all", "-given up").ok());
  waiting.join();
}

TEST(TopologyExchange, RefusesWhoComesTooLate) {
  testing::MemoryKeyValueStore store;
  Topology topology = localTopology(1);
  EXPECT_FALSE(
      exchangeTopologies(store, {0, 2, "test/", std::chrono::milliseconds(10)}, topology).ok());
  topology = localTopology(1);
  Status status = exchangeTopologies(store, {1, 2, "test/", std::chrono::seconds(60)}, topology);
  EXPECT_THAT(std::string(status.message()), HasSubstr("process 1 of 2 did not join"));
}

}  // namespace
}  // namespace isthmus

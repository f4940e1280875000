// Collectives among simulated devices: who meets whom, and what becomes of those who wait in vain.
#include "backends/simulated/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/simulated/function_backend.h"
#include "runtime/collectives/in_process.h"

namespace isthmus::simulated {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Services final : public RunServices {
 public:
  int numThreads() const override { return 1; }
  void parallelFor(int64_t tiles, int64_t, TileFunction function, void* context) override {
    function(context, 0, tiles);
  }
  void* allocateScratch(size_t) override { return nullptr; }
  void freeScratch(void*, size_t) override {}
  Collectives& collectives() override { return inProcess; }

  InProcessCollectives inProcess;
};

class SimulatedCollectivesTest : public ::testing::Test {
 protected:
  SimulatedCollectivesTest() : backend(host, {size_t{1} << 20}), collectives(backend) {
    EXPECT_TRUE(backend.describeDevices({{"num_devices", int64_t{2}}}).ok());
    for (int d : {0, 1}) block[d] = backend.device(d).allocate("device", 64).value().data;
  }
  void write(int device, std::vector<float> values) {
    DeviceEventRef event =
        backend.device(device).copyFromHost(block[device], 0, values.data(), 8, {}).value();
    ASSERT_TRUE(event->await().ok());
  }
  std::vector<float> read(int device) {
    std::vector<float> values(2);
    DeviceEventRef event =
        backend.device(device).copyToHost(block[device], 0, values.data(), 8, {}).value();
    EXPECT_TRUE(event->await().ok());
    return values;
  }
  StatusOr<DeviceEventRef> sum(int device, int64_t launchId, DeviceEvents after = {}) {
    const int64_t group[] = {0, 1};
    CollectiveCall call{launchId, 1, device, group, "sum at model.py:3"};
    DeviceCollective collective;
    collective.elements = 2;
    return collectives.enqueue(call, services, collective, {block[device], 0}, {block[device], 0},
                               after);
  }

  FunctionBackend host;
  Services services;
  SimulatedBackend backend;
  SimulatedCollectives collectives;
  void* block[2];
};

TEST_F(SimulatedCollectivesTest, nobody_waits_to_hand_over) {
  write(0, {1, 2});
  write(1, {10, 20});
  // In a loop, a device may be ahead by rounds.
  DeviceEventRef first = sum(0, 7).value();
  DeviceEventRef second = sum(0, 7, {&first, 1}).value();
  EXPECT_FALSE(first->isReady());
  DeviceEventRef third = sum(1, 7).value();
  EXPECT_TRUE(first->await().ok());
  EXPECT_FALSE(second->isReady());
  ASSERT_TRUE(sum(1, 7, {&third, 1}).value()->await().ok());
  EXPECT_TRUE(second->await().ok());
  EXPECT_THAT(read(0), ElementsAre(22, 44));
  EXPECT_THAT(read(1), ElementsAre(22, 44));
}

TEST_F(SimulatedCollectivesTest, launches_do_not_meet) {
  DeviceEventRef first = sum(0, 7).value();
  DeviceEventRef other = sum(1, 8).value();
  EXPECT_FALSE(first->isReady());
  services.inProcess.abortLaunch(7, internalError("device 1 ran out of memory"));
  EXPECT_THAT(std::string(first->await().message()), HasSubstr("out of memory"));
  EXPECT_FALSE(other->isReady());
  // Who comes later is told at once.
  EXPECT_FALSE(sum(1, 7).ok());
  backend.device(1).lose();
  EXPECT_EQ(other->await().code(), StatusCode::kUnavailable);
}

TEST_F(SimulatedCollectivesTest, an_error_before_is_everybodys) {
  DeviceEventRef failed = backend.device(1).promise();
  backend.device(1).fail(failed, internalError("a kernel failed"));
  DeviceEventRef first = sum(0, 7).value();
  DeviceEventRef second = sum(1, 7, {&failed, 1}).value();
  EXPECT_EQ(first->await().message(), "a kernel failed");
  EXPECT_EQ(second->await().message(), "a kernel failed");
}

}  // namespace
}  // namespace isthmus::simulated

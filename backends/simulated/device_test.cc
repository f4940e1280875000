// The device by itself: addresses, order, faults.
#include "backends/simulated/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

namespace isthmus::simulated {
namespace {

using ::testing::HasSubstr;

class SimulatedDevice : public ::testing::Test {
 protected:
  std::unique_ptr<Device> newDevice(DeviceOptions options = {size_t{1} << 20}) {
    return Device::create(options, machine).value();
  }
  void* block(Device& device, size_t bytes) { return device.allocate("device", bytes)->data; }
  Status wait(const StatusOr<DeviceEventRef>& event) {
    return event.ok() ? (*event)->await() : event.status();
  }

  Machine machine;
};

TEST_F(SimulatedDevice, HostPointersAndDeviceAddressesDoNotMix) {
  auto device = newDevice();
  void* data = block(*device, 100);
  char host[100];
  EXPECT_EQ(device->copyToHost(host, 0, host, 100, {}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_FALSE(device->copyToHost(data, 1, host, 128, {}).ok());
  EXPECT_TRUE(wait(device->copyToHost(data, 28, host, 100, {})).ok());
  EXPECT_DEATH(*static_cast<volatile char*>(data) = 1, "");
  device->release("device", data, 100, {});
  EXPECT_FALSE(device->copyToHost(data, 0, host, 1, {}).ok());
}

TEST_F(SimulatedDevice, CopiesFollowTheirEvents) {
  auto device = newDevice();
  auto other = newDevice();
  std::vector<int> values(100), back(100);
  std::iota(values.begin(), values.end(), 0);
  void* here = block(*device, 400);
  void* there = block(*other, 400);
  DeviceEventRef sent = device->copyFromHost(here, 0, values.data(), 400, {}).value();
  DeviceEventRef moved = other->copyFromDevice(there, 0, here, 400, {&sent, 1}).value();
  EXPECT_TRUE(wait(other->copyToHost(there, 0, back.data(), 400, {&moved, 1})).ok());
  EXPECT_EQ(back, values);
}

TEST_F(SimulatedDevice, WhatNothingOrdersIsReordered) {
  auto device = newDevice();
  auto gate = newDevice();
  std::atomic<bool> isOpen{false};
  DeviceEventRef open = gate->launch("gate", false,
                                     [&] {
                                       isOpen.wait(false);
                                       return Status();
                                     },
                                     {})
                            .value();
  std::vector<int> order;
  std::vector<DeviceEventRef> all;
  for (int i = 0; i < 20; ++i) {
    bool isOrdered = i == 10;
    all.push_back(device
                      ->launch("k", isOrdered,
                               [&order, i] {
                                 order.push_back(i);
                                 return Status();
                               },
                               {&open, 1})
                      .value());
  }
  isOpen = true;
  isOpen.notify_all();
  for (const DeviceEventRef& event : all) EXPECT_TRUE(event->await().ok());
  ASSERT_EQ(order.size(), 20u);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  // An ordered one keeps its place.
  EXPECT_EQ(order[10], 10);
  EXPECT_TRUE(std::all_of(order.begin(), order.begin() + 10, [](int i) { return i < 10; }));
}

TEST_F(SimulatedDevice, MemoryComesBackWithItsLastUse) {
  auto device = newDevice({1000});
  std::atomic<bool> isOpen{false};
  DeviceEventRef use = device
                           ->launch("use", false,
                                    [&] {
                                      isOpen.wait(false);
                                      return internalError("failed");
                                    },
                                    {})
                           .value();
  void* data = block(*device, 1000);
  EXPECT_EQ(device->allocate("device", 1).status().code(), StatusCode::kResourceExhausted);
  device->release("device", data, 1000, {&use, 1});
  auto again = device->allocate("device", 1000).value();
  EXPECT_EQ(again.data, data);
  ASSERT_NE(again.available, nullptr);
  EXPECT_FALSE(again.available->isReady());
  isOpen = true;
  isOpen.notify_all();
  // Also if the use failed.
  EXPECT_TRUE(again.available->await().ok());
  EXPECT_FALSE(use->await().ok());
}

TEST_F(SimulatedDevice, FaultsNameTheKernel) {
  auto device = newDevice();
  auto nothing = [] { return Status(); };
  device->inject(Fault::kKernel, "matmul");
  EXPECT_TRUE(wait(device->launch("add", false, nothing, {})).ok());
  EXPECT_THAT(wait(device->launch("the matmul", false, nothing, {})).message(),
              HasSubstr("the matmul"));
  EXPECT_TRUE(wait(device->launch("the matmul", false, nothing, {})).ok());
}

TEST_F(SimulatedDevice, ALostDeviceFailsEverything) {
  auto device = newDevice();
  auto nothing = [] { return Status(); };
  device->inject(Fault::kHang, "spin");
  DeviceEventRef spin = device->launch("spin", false, nothing, {}).value();
  DeviceEventRef next = device->launch("next", false, nothing, {&spin, 1}).value();
  EXPECT_FALSE(spin->isReady());
  device->lose();
  EXPECT_EQ(spin->await().code(), StatusCode::kUnavailable);
  EXPECT_EQ(next->await().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(device->launch("late", false, nothing, {}).ok());
  EXPECT_FALSE(device->allocate("device", 1).ok());
}

}  // namespace
}  // namespace isthmus::simulated

// The driver of a process, whichever client comes first.
#include "backends/shared/devices/driver_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isthmus/device_queue.h"

namespace isthmus {
namespace {

struct FakeDriver {
  int devices;
  int numDevices() const { return devices; }
};

class FakeQueue final : public DeviceQueue {
 public:
  explicit FakeQueue(int number) : device(number) {}
  StatusOr<Block> allocate(std::string_view, size_t) override { return none_; }
  void release(std::string_view, void*, size_t, DeviceEvents) override {}
  StatusOr<DeviceEventRef> copyFromHost(void*, size_t, const void*, size_t, DeviceEvents) override {
    return none_;
  }
  StatusOr<DeviceEventRef> copyToHost(const void*, size_t, void*, size_t, DeviceEvents) override {
    return none_;
  }
  StatusOr<DeviceEventRef> copyFromDevice(void*, int, const void*, size_t, DeviceEvents) override {
    return none_;
  }
  const int device;

 private:
  const Status none_ = unimplemented("a queue of a test");
};

struct FakeChoice {
  std::string library;
  int64_t count = 0;
  bool operator==(const FakeChoice&) const = default;
};

class FakeBackend final : public DriverBackend<FakeDriver, FakeQueue, FakeChoice> {
 public:
  FakeBackend() : DriverBackend("acme", "Acme") {}
  using DriverBackend::driver;
  using DriverBackend::openDriver;
  int drivers = 0;

  std::string platformVersion() const override { return "1"; }
  StatusOr<std::vector<DeviceDescription>> describeDevices(const AttributeMap&) override {
    return unimplemented("a backend of a test");
  }
  StatusOr<std::shared_ptr<const Executable>> compile(const CompileRequest&) override {
    return unimplemented("a backend of a test");
  }

 private:
  StatusOr<std::unique_ptr<FakeDriver>> createDriver(const FakeChoice& choice) override {
    if (choice.library.empty()) return notFound("no driver");
    ++drivers;
    return std::make_unique<FakeDriver>(static_cast<int>(choice.count));
  }
  std::unique_ptr<FakeQueue> createQueue(FakeDriver&, int device) override {
    return std::make_unique<FakeQueue>(device);
  }
};

TEST(DriverBackendTest, clients_that_choose_alike_share_a_driver) {
  FakeBackend backend;
  EXPECT_EQ(backend.driver(), nullptr);
  StatusOr<FakeDriver*> first = backend.openDriver({"libacme.so", 2}, "");
  StatusOr<FakeDriver*> second = backend.openDriver({"libacme.so", 2}, "");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(backend.drivers, 1);
  for (int device : {0, 1}) {
    EXPECT_EQ(static_cast<FakeQueue*>(backend.queue(device))->device, device);
  }
}

TEST(DriverBackendTest, clients_of_other_devices_are_refused) {
  FakeBackend backend;
  ASSERT_TRUE(backend.openDriver({"libacme.so", 2}, "").ok());
  for (const FakeChoice& other : {FakeChoice{"libacme.so", 1}, FakeChoice{"libother.so", 2}}) {
    Status status = backend.openDriver(other, "").status();
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()),
                ::testing::HasSubstr("other Acme devices: 2 by libacme.so"));
  }
}

TEST(DriverBackendTest, a_driver_that_is_not_there_may_come) {
  FakeBackend backend;
  EXPECT_EQ(backend.openDriver({"", 1}, "").status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(backend.openDriver({"libacme.so", 1}, "").ok());
}

TEST(DriverBackendTest, the_platforms_name_is_the_last_that_was_wanted) {
  FakeBackend backend;
  EXPECT_EQ(backend.platformName(), "acme");
  ASSERT_TRUE(backend.openDriver({"libacme.so", 1}, "mine").ok());
  EXPECT_EQ(backend.platformName(), "mine");
  ASSERT_TRUE(backend.openDriver({"libacme.so", 1}, "").ok());
  EXPECT_EQ(backend.platformName(), "mine");
}

}  // namespace
}  // namespace isthmus

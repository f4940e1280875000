// A backend whose memory the host cannot touch: every access must go through its copies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/fake_backend.h"
#include "runtime/host_to_device.h"

namespace isthmus {
namespace {

using isthmus::testing::f32;
using isthmus::testing::output;
using isthmus::testing::parameter;
using isthmus::testing::read;
using ::testing::ElementsAre;

// Device "addresses" are host addresses with a bit set that makes the processor refuse them.
constexpr uintptr_t kDeviceBit = uintptr_t{1} << 62;

template <typename T>
T* hostAddress(T* device) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(device) & ~kDeviceBit);
}

class RemoteBackend final : public Backend {
 public:
  std::string platformName() const override { return "remote"; }
  std::string platformVersion() const override { return "1"; }
  StatusOr<std::vector<DeviceDescription>> describeDevices(const AttributeMap&) override {
    return std::vector<DeviceDescription>{{0, 0, 0, "remote", "0", {}, {}},
                                          {1, 0, 1, "remote", "1", {}, {}}};
  }
  StatusOr<void*> allocate(int, std::string_view, size_t bytes) override {
    auto address = reinterpret_cast<uintptr_t>(hostAllocate(bytes));
    return reinterpret_cast<void*>(address | kDeviceBit);
  }
  void deallocate(int, std::string_view, void* data, size_t bytes) override {
    hostDeallocate(hostAddress(data), bytes);
  }
  bool isHostAddressable() const override { return false; }
  Status copyFromHost(int, void* device, size_t offset, const void* host, size_t bytes) override {
    if (isBroken) return internalError("the cable is cut");
    std::memcpy(hostAddress(static_cast<char*>(device)) + offset, host, bytes);
    return {};
  }
  Status copyToHost(int, const void* device, size_t offset, void* host, size_t bytes) override {
    if (isBroken) return internalError("the cable is cut");
    std::memcpy(host, hostAddress(static_cast<const char*>(device)) + offset, bytes);
    return {};
  }
  Status copyBetween(int, void* to, int, const void* from, size_t bytes) override {
    std::memcpy(hostAddress(to), hostAddress(from), bytes);
    return {};
  }
  StatusOr<std::shared_ptr<const Executable>> compile(const CompileRequest&) override {
    return unimplemented("compile");
  }
  bool isBroken = false;
};

class DeviceMemory : public ::testing::Test {
 protected:
  // Lives as long as the process, as backends do.
  static RemoteBackend& newBackend() {
    static auto& all = *new std::vector<std::unique_ptr<RemoteBackend>>;
    return *all.emplace_back(std::make_unique<RemoteBackend>());
  }
  RemoteBackend& backend = newBackend();
  Ref<Client> client = std::move(Client::create(backend)).value();
  Memory& memory = *client->devices()[0]->defaultMemory();
  Memory& otherMemory = *client->devices()[1]->defaultMemory();

  BufferRef buffer(const HostArray& array) {
    return std::move(client->bufferFromHost(memory, array)).value().buffer;
  }
  BufferRef buffer(const std::vector<float>& values) {
    return buffer(HostArray{values.data(), f32({static_cast<int64_t>(values.size())})});
  }
};

TEST_F(DeviceMemory, HostArraysGoThereAndBack) {
  std::vector<float> values(20000, 3);
  values[7] = 4;
  // Zero-copy cannot be.
  HostArray array{values.data(), f32({20000}), std::nullopt,
                  HostBufferSemantics::kImmutableZeroCopy};
  BufferRef x = buffer(array);
  EXPECT_NE(x->pointer().value(), values.data());
  EXPECT_EQ(read(*x).value(), values);
}

TEST_F(DeviceMemory, StridesOnBothWays) {
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const int64_t transposed[] = {4, 12};
  BufferRef x = buffer(HostArray{values.data(), f32({3, 2}), transposed});
  EXPECT_THAT(read(*x).value(), ElementsAre(1, 4, 2, 5, 3, 6));
  std::vector<float> out(6);
  ASSERT_TRUE(x->copyToHost(out.data(), 24, transposed).value().await().ok());
  EXPECT_EQ(out, values);
  float two[2];
  ASSERT_TRUE(x->copyRawToHost(two, 8, 8).await().ok());
  EXPECT_THAT(two, ElementsAre(2, 5));
}

TEST_F(DeviceMemory, CopiesAreSeparate) {
  BufferRef x = buffer({1, 2});
  for (Memory* target : {&memory, &otherMemory}) {
    BufferRef y = x->copyToMemory(*target).value();
    EXPECT_THAT(read(*y).value(), ElementsAre(1, 2));
    EXPECT_NE(y->pointer().value(), x->pointer().value());
  }
}

TEST_F(DeviceMemory, TransfersInPieces) {
  auto transfers = HostToDeviceTransfers::create(memory, {f32({2})}).value();
  float data[] = {1, 2};
  ASSERT_TRUE(transfers->transferData(0, data + 1, 4, 4, false).ok());
  ASSERT_TRUE(transfers->transferData(0, data, 0, 4, true).ok());
  EXPECT_THAT(read(*transfers->retrieve(0).value()).value(), ElementsAre(1, 2));
}

TEST_F(DeviceMemory, MustAliasCopiesByTheBackend) {
  for (bool isCheap : {false, true}) {
    ProgramInfo info;
    info.parameters = {parameter(f32({2}), DonationKind::kMustAlias, 0)};
    info.outputs = {output(f32({2}))};
    auto addOne = [](const RunRequest& request) -> Status {
      EXPECT_EQ(request.parameters[0], request.results[0]);
      auto* values = hostAddress(static_cast<float*>(request.results[0]));
      values[0] += 1;
      values[1] += 1;
      return {};
    };
    auto program =
        client->load(std::make_shared<isthmus::testing::FakeExecutable>(info, addOne, isCheap))
            .value();
    BufferRef x = buffer({1, 2});
    ASSERT_TRUE(x->addExternalReference().ok());
    BufferRef y = isthmus::testing::run(*program, {x.get()}).value();
    EXPECT_THAT(read(*y).value(), ElementsAre(2, 3));
    float kept[2];
    ASSERT_TRUE(backend.copyToHost(0, x->pointer().value(), 0, kept, 8).ok());
    EXPECT_THAT(kept, ElementsAre(1, 2));
  }
}

TEST_F(DeviceMemory, FailedPiecePoisonsTheBuffer) {
  auto transfers = HostToDeviceTransfers::create(memory, {f32({2})}).value();
  float data[] = {1, 2};
  backend.isBroken = true;
  EXPECT_FALSE(transfers->transferData(0, data, 0, 4, false).ok());
  backend.isBroken = false;
  ASSERT_TRUE(transfers->transferData(0, data + 1, 4, 4, true).ok());
  EXPECT_EQ(transfers->retrieve(0).value()->readyEvent().await().message(), "the cable is cut");
}

TEST_F(DeviceMemory, ErrorsOfCopiesArrive) {
  BufferRef x = buffer({1, 2});
  backend.isBroken = true;
  EXPECT_EQ(read(*x).status().message(), "the cable is cut");
  backend.isBroken = false;
}

}  // namespace
}  // namespace isthmus

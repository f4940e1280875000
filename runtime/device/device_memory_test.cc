// Memory that the host cannot touch: every access must go through the backend's copies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "backends/simulated/backend.h"
#include "isthmus/flags.h"
#include "runtime/buffer/host_to_device.h"
#include "runtime/runtime_testing.h"

namespace isthmus {
namespace {

using isthmus::testing::f32;
using isthmus::testing::FunctionBackend;
using isthmus::testing::FunctionExecutable;
using isthmus::testing::output;
using isthmus::testing::parameter;
using isthmus::testing::read;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DeviceMemory : public ::testing::TestWithParam<simulated::Interface> {
 protected:
  // Lives as long as the process, as backends do.
  static simulated::SimulatedBackend& newBackend() {
    struct Machine {
      FunctionBackend host;
      simulated::SimulatedBackend backend{host, {size_t{1} << 24}, GetParam()};
    };
    static auto& all = *new std::vector<std::unique_ptr<Machine>>;
    return all.emplace_back(std::make_unique<Machine>())->backend;
  }
  simulated::SimulatedBackend& backend = newBackend();
  Ref<Client> client = std::move(Client::create(backend, {{"num_devices", int64_t{2}}})).value();
  Memory& memory = *client->devices()[0]->defaultMemory();
  Memory& otherMemory = *client->devices()[1]->defaultMemory();

  BufferRef buffer(const HostArray& array) {
    return std::move(client->bufferFromHost(memory, array)).value().buffer;
  }
  BufferRef buffer(const std::vector<float>& values) {
    return buffer(HostArray{values.data(), f32({static_cast<int64_t>(values.size())})});
  }
};
INSTANTIATE_TEST_SUITE_P(Interfaces, DeviceMemory,
                         ::testing::Values(simulated::Interface::kSynchronous,
                                           simulated::Interface::kAsynchronous));

TEST_P(DeviceMemory, HostArraysGoThereAndBack) {
  std::vector<float> values(20000, 3);
  values[7] = 4;
  // Zero-copy cannot be.
  HostArray array{values.data(), f32({20000}), std::nullopt,
                  HostBufferSemantics::kImmutableZeroCopy};
  BufferRef x = buffer(array);
  EXPECT_NE(x->pointer().value(), values.data());
  EXPECT_EQ(read(*x).value(), values);
}

TEST_P(DeviceMemory, StridesOnBothWays) {
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

TEST_P(DeviceMemory, CopiesAreSeparate) {
  BufferRef x = buffer({1, 2});
  for (Memory* target : {&memory, &otherMemory}) {
    BufferRef y = x->copyToMemory(*target).value();
    EXPECT_THAT(read(*y).value(), ElementsAre(1, 2));
    EXPECT_NE(y->pointer().value(), x->pointer().value());
  }
}

TEST_P(DeviceMemory, TransfersInPieces) {
  auto transfers = HostToDeviceTransfers::create(memory, {f32({2})}).value();
  float data[] = {1, 2};
  ASSERT_TRUE(transfers->transferData(0, data + 1, 4, 4, false).ok());
  ASSERT_TRUE(transfers->transferData(0, data, 0, 4, true).ok());
  EXPECT_THAT(read(*transfers->retrieve(0).value()).value(), ElementsAre(1, 2));
}

TEST_P(DeviceMemory, MustAliasCopiesByTheBackend) {
  for (bool isCheap : {false, true}) {
    ProgramInfo info;
    info.parameters = {parameter(f32({2}), DonationKind::kMustAlias, 0)};
    info.outputs = {output(f32({2}))};
    auto addOne = [](const RunRequest& request) -> Status {
      EXPECT_EQ(request.parameters[0], request.results[0]);
      auto* values = static_cast<float*>(request.results[0]);
      values[0] += 1;
      values[1] += 1;
      return {};
    };
    simulated::Habits habits{.isCheap = isCheap};
    auto program =
        client->load(backend.wrap(std::make_shared<FunctionExecutable>(info, addOne, habits)))
            .value();
    BufferRef x = buffer({1, 2});
    ASSERT_TRUE(x->addExternalReference().ok());
    BufferRef y = isthmus::testing::run(*program, {x.get()}).value();
    EXPECT_THAT(read(*y).value(), ElementsAre(2, 3));
    float kept[2];
    const void* address = x->pointer().value();
    ASSERT_TRUE(backend.copyToHost(0, address, 0, kept, sizeof kept).ok());
    EXPECT_THAT(kept, ElementsAre(1, 2));
  }
}

TEST_P(DeviceMemory, FailedPiecePoisonsTheBuffer) {
  auto transfers = HostToDeviceTransfers::create(memory, {f32({2})}).value();
  float data[] = {1, 2};
  backend.device(0).inject(simulated::Fault::kCopy);
  // An asynchronous copy fails later.
  bool isSynchronous = GetParam() == simulated::Interface::kSynchronous;
  EXPECT_EQ(transfers->transferData(0, data, 0, 4, false).ok(), !isSynchronous);
  ASSERT_TRUE(transfers->transferData(0, data + 1, 4, 4, true).ok());
  EXPECT_EQ(transfers->retrieve(0).value()->readyEvent().await().message(), "a copy failed");
}

TEST_P(DeviceMemory, ErrorsOfCopiesArrive) {
  BufferRef x = buffer({1, 2});
  ASSERT_TRUE(x->readyEvent().await().ok());
  backend.device(0).inject(simulated::Fault::kCopy);
  EXPECT_EQ(read(*x).status().message(), "a copy failed");
}

// What hangs on a device that returns when it is done, while there is a timeout.
class HangingDevice : public DeviceMemory {
 protected:
  HangingDevice() {
    info.name = "hanging";
    info.parameters = {parameter(f32({2}))};
    info.outputs = {output(f32({2}))};
    x = buffer({1, 2});
    setFlagForTest("ISTHMUS_DEVICE_TIMEOUT_SECONDS", "1");
  }
  ~HangingDevice() override {
    for (int id : {0, 1}) backend.device(id).lose();
    setFlagForTest("ISTHMUS_DEVICE_TIMEOUT_SECONDS", "0");
  }
  Status run() {
    auto addOne = isthmus::testing::Fixture::addOneTo(2);
    auto program =
        client->load(backend.wrap(std::make_shared<FunctionExecutable>(info, addOne))).value();
    auto y = isthmus::testing::run(*program, {x.get()});
    return y.ok() ? (*y)->readyEvent().await() : y.status();
  }
  // That of the hang, and that of what comes later.
  void expectGivenUp(const Status& status, const std::string& what, int device = 0) {
    EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
    EXPECT_THAT(std::string(status.message()), HasSubstr(what + " has not ended on device " +
                                                         std::to_string(device) + " after 1 s"));
    EXPECT_EQ(client->devices()[static_cast<size_t>(device)]->givenUp().code(),
              StatusCode::kUnavailable);
  }

  ProgramInfo info;
  BufferRef x;
};
INSTANTIATE_TEST_SUITE_P(Interfaces, HangingDevice,
                         ::testing::Values(simulated::Interface::kSynchronous));

TEST_P(HangingDevice, InAProgram) {
  ASSERT_TRUE(run().ok());
  backend.device(0).inject(simulated::Fault::kHang);
  expectGivenUp(run(), "program hanging");
  EXPECT_EQ(run().code(), StatusCode::kUnavailable);
  EXPECT_EQ(read(*x).status().code(), StatusCode::kUnavailable);
}

TEST_P(HangingDevice, InACopyFromTheHost) {
  backend.device(0).inject(simulated::Fault::kHangingCopy);
  const float values[] = {1, 2};
  expectGivenUp(client->bufferFromHost(memory, HostArray{values, f32({2})}).status(), "a copy");
}

TEST_P(HangingDevice, InACopyToTheHost) {
  backend.device(0).inject(simulated::Fault::kHangingCopy);
  expectGivenUp(read(*x).status(), "a copy");
}

TEST_P(HangingDevice, InACopyBetweenDevices) {
  backend.device(1).inject(simulated::Fault::kHangingCopy);
  expectGivenUp(x->copyToMemory(otherMemory).value()->readyEvent().await(), "a copy", 1);
  EXPECT_TRUE(run().ok());
}

}  // namespace
}  // namespace isthmus

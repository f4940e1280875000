// The runtime on an asynchronous device: order by events alone, donation and deletion while work is
// in flight, errors that pass on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "backends/simulated/backend.h"
#include "isthmus/flags.h"
#include "runtime/buffer/host_to_device.h"
#include "runtime/runtime_testing.h"

namespace isthmus::simulated {
namespace {

using isthmus::testing::f32;
using isthmus::testing::output;
using isthmus::testing::parameter;
using isthmus::testing::read;
using isthmus::testing::run;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const float* in(const RunRequest& request, size_t i = 0) {
  return static_cast<const float*>(request.parameters[i]);
}
float* out(const RunRequest& request, size_t i = 0) {
  return static_cast<float*>(request.results[i]);
}

// A program that waits until the test lets it go on.
struct Gate {
  std::atomic<bool> isOpen{false};
  void open() {
    isOpen = true;
    isOpen.notify_all();
  }
};

// Of the last few tests: a thread of the runtime may still be looking at the device when a test and
// its memory are gone.
SimulatedBackend& newBackend(DeviceOptions options) {
  struct Machine {
    explicit Machine(DeviceOptions options) : backend(host, options) {}
    FunctionBackend host;
    SimulatedBackend backend;
  };
  constexpr size_t kKept = 8;
  static auto& latest = *new std::deque<std::unique_ptr<Machine>>;
  latest.push_back(std::make_unique<Machine>(options));
  if (latest.size() > kKept) latest.pop_front();
  return latest.back()->backend;
}

class OnSimulatedDevice : public ::testing::TestWithParam<int> {
 protected:
  OnSimulatedDevice()
      : backend(newBackend({size_t{1} << 24, std::chrono::microseconds(GetParam() % 3 * 20),
                            static_cast<uint32_t>(GetParam())})),
        client(std::move(Client::create(backend, {{"num_devices", int64_t{2}}})).value()) {}
  ~OnSimulatedDevice() override {
    client.reset();
    // The ends of work are told on threads of the runtime, which may be the last to have the
    // client.
    while (backend.device(0).memory().bytesInUse() + backend.device(1).memory().bytesInUse() > 0) {
      std::this_thread::yield();
    }
  }

  Memory& memory(size_t i = 0) { return *client->devices()[i]->defaultMemory(); }
  BufferRef buffer(const std::vector<float>& values, size_t device = 0) {
    HostArray array{values.data(), f32({static_cast<int64_t>(values.size())})};
    return std::move(client->bufferFromHost(memory(device), array)).value().buffer;
  }
  Ref<LoadedExecutable> load(std::string name, DonationKind donation,
                             isthmus::testing::Function run, int64_t count = 2) {
    ProgramInfo info;
    info.name = std::move(name);
    bool aliases = donation == DonationKind::kMustAlias;
    info.parameters = {parameter(f32({count}), donation, aliases ? 0 : -1)};
    info.outputs = {output(f32({count}))};
    auto program = std::make_shared<FunctionExecutable>(std::move(info), std::move(run));
    return client->load(backend.wrap(program)).value();
  }
  Ref<LoadedExecutable> addOne(DonationKind donation = DonationKind::kNone) {
    return load("addOne", donation, [](const RunRequest& request) {
      for (int i = 0; i < 2; ++i) out(request)[i] = in(request)[i] + 1;
      return Status();
    });
  }
  Ref<LoadedExecutable> gated(Gate& gate) {
    return load("gated", DonationKind::kNone, [&gate](const RunRequest& request) {
      gate.isOpen.wait(false);
      for (int i = 0; i < 2; ++i) out(request)[i] = in(request)[i] * 2;
      return Status();
    });
  }

  SimulatedBackend& backend;
  Ref<Client> client;
};
INSTANTIATE_TEST_SUITE_P(Seeds, OnSimulatedDevice, ::testing::Range(0, 6));

// Calls `step` until it says so; false if it does not for many seconds.
template <typename Step>
bool until(Step&& step) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!step()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

// Where the threads that wait compute, the device is told who waits.
TEST(SimulatedDevices, KnowWhoWaitsForWhatTheyLaunch) {
  SimulatedBackend& backend = newBackend({});
  Ref<Client> client = Client::create(backend, {}).value();
  ProgramInfo info;
  info.outputs = {output(f32({2}))};
  bool isAwaited = false;
  auto note = [&](const RunRequest& request) {
    isAwaited = request.isAwaited;
    return Status();
  };
  auto load = [&](Habits habits) {
    return client->load(backend.wrap(std::make_shared<FunctionExecutable>(info, note, habits)))
        .value();
  };
  auto isAwaitedWhere = [&](LoadedExecutable& program, bool asks) {
    BufferRef y = run(program, {}).value();
    // `definition` asks nobody.
    EXPECT_TRUE((asks ? y->readyEvent() : y->definition()).await().ok());
    return isAwaited;
  };

  auto program = load({.mayBlock = false, .waitersCompute = true});
  EXPECT_TRUE(until([&] { return isAwaitedWhere(*program, true); }));
  EXPECT_TRUE(until([&] { return !isAwaitedWhere(*program, false); }));
  for (Habits others : {Habits{.mayBlock = true, .waitersCompute = true},
                        Habits{.mayBlock = false, .waitersCompute = false}}) {
    auto other = load(others);
    for (int i = 0; i < 50; ++i) EXPECT_FALSE(isAwaitedWhere(*other, true));
  }
}

// As whoever loads the plugin says.
TEST(SimulatedDevices, OptionsOfTheClientSayTheOrderAndTheLatency) {
  constexpr int kPrograms = 12;
  constexpr int64_t kLatencyUs = 2000;
  std::vector<std::vector<int>> orders;
  for (int64_t seed : {0, 7}) {
    SimulatedBackend& backend = newBackend({});
    Ref<Client> client =
        Client::create(backend, {{"order_seed", seed}, {"latency_us", kLatencyUs}}).value();
    Gate gate;
    std::vector<int> order;  // by the device's one thread that computes
    std::vector<Ref<LoadedExecutable>> programs;
    for (int i = 0; i <= kPrograms; ++i) {
      ProgramInfo info;
      info.outputs = {output(f32({2}))};
      programs.push_back(
          client
              ->load(backend.wrap(std::make_shared<FunctionExecutable>(info,
                                                                       [&, i](const RunRequest&) {
                                                                         if (i == 0)
                                                                           gate.isOpen.wait(false);
                                                                         order.push_back(i);
                                                                         return Status();
                                                                       })))
              .value());
    }
    std::vector<BufferRef> results;
    for (const Ref<LoadedExecutable>& program : programs) {
      DeviceLaunch launch{{}, {&results.emplace_back(), 1}, nullptr};
      ASSERT_TRUE(program->execute({&launch, 1}, {}).ok());
    }
    const auto begin = std::chrono::steady_clock::now();
    gate.open();
    for (const BufferRef& result : results) EXPECT_TRUE(result->readyEvent().await().ok());
    EXPECT_GE(std::chrono::steady_clock::now() - begin,
              std::chrono::microseconds(kPrograms * kLatencyUs));
    results.clear();
    orders.push_back(order);
  }
  std::vector<int> sorted = orders[1];
  std::ranges::sort(sorted);
  EXPECT_EQ(orders[0], sorted);
  EXPECT_NE(orders[1], sorted);
}

TEST_P(OnSimulatedDevice, ArraysGoThereAndBack) {
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  for (auto semantics : {HostBufferSemantics::kImmutableOnlyDuringCall,
                         HostBufferSemantics::kImmutableUntilTransferCompletes,
                         HostBufferSemantics::kImmutableZeroCopy}) {
    std::vector<float> given = values;
    auto made =
        client->bufferFromHost(memory(), HostArray{given.data(), f32({6}), std::nullopt, semantics})
            .value();
    EXPECT_TRUE(made.hostMemoryDone.await().ok());
    given.assign(6, 0);
    EXPECT_EQ(read(*made.buffer).value(), values);
  }
  const int64_t transposed[] = {4, 12};
  auto x = client->bufferFromHost(memory(), HostArray{values.data(), f32({3, 2}), transposed})
               .value()
               .buffer;
  EXPECT_THAT(read(*x).value(), ElementsAre(1, 4, 2, 5, 3, 6));
  std::vector<float> back(6);
  ASSERT_TRUE(x->copyToHost(back.data(), 24, transposed).value().await().ok());
  EXPECT_EQ(back, values);
  float two[2];
  ASSERT_TRUE(x->copyRawToHost(two, 8, 8).await().ok());
  EXPECT_THAT(two, ElementsAre(2, 5));
}

TEST_P(OnSimulatedDevice, ChainsAreHandedOverInAdvance) {
  Gate gate;
  auto slow = gated(gate);
  auto add = addOne();
  BufferRef x = buffer({1, 2});
  BufferRef y = run(*slow, {x.get()}).value();
  BufferRef z = run(*add, {y.get()}).value();
  BufferRef elsewhere = z->copyToMemory(memory(1)).value();
  // All of it is on the devices' queues, though nothing has run.
  for (const BufferRef& buffer : {y, z, elsewhere}) {
    EXPECT_TRUE(buffer->usable().isReady());
    EXPECT_FALSE(buffer->definition().isReady());
  }
  gate.open();
  EXPECT_THAT(read(*elsewhere).value(), ElementsAre(3, 5));
}

TEST_P(OnSimulatedDevice, DeletedMemoryIsNotReusedTooEarly) {
  Gate gate;
  auto slow = gated(gate);
  std::vector<BufferRef> results;
  for (float i = 0; i < 20; ++i) {
    BufferRef x = buffer({i, i});
    results.push_back(run(*slow, {x.get()}).value());
    x->release();
    if (i == 10) gate.open();
  }
  for (float i = 0; i < 20; ++i) {
    EXPECT_THAT(read(*results[static_cast<size_t>(i)]).value(), ElementsAre(2 * i, 2 * i));
  }
}

TEST_P(OnSimulatedDevice, DonatedMemoryIsOverwrittenAfterItsReaders) {
  Gate gate;
  auto slow = gated(gate);
  auto add = addOne(DonationKind::kMustAlias);
  BufferRef x = buffer({1, 2});
  void* place = x->pointer().value();
  BufferRef doubled = run(*slow, {x.get()}).value();
  BufferRef added = run(*add, {x.get()}).value();
  EXPECT_TRUE(x->isDeleted());
  EXPECT_EQ(added->pointer().value(), place);
  gate.open();
  EXPECT_THAT(read(*added).value(), ElementsAre(2, 3));
  EXPECT_THAT(read(*doubled).value(), ElementsAre(2, 4));
}

TEST_P(OnSimulatedDevice, AReferencedDonationIsCopied) {
  auto add = addOne(DonationKind::kMustAlias);
  BufferRef x = buffer({1, 2});
  ASSERT_TRUE(x->addExternalReference().ok());
  BufferRef y = run(*add, {x.get()}).value();
  EXPECT_THAT(read(*y).value(), ElementsAre(2, 3));
  EXPECT_NE(x->pointer().value(), y->pointer().value());
  ASSERT_TRUE(x->dropExternalReference().ok());
}

TEST_P(OnSimulatedDevice, ErrorsPassOnAndNameTheKernel) {
  auto add = addOne();
  backend.device(0).inject(Fault::kKernel, "addOne");
  BufferRef x = buffer({1, 2});
  BufferRef y = run(*add, {x.get()}).value();
  BufferRef z = run(*add, {y.get()}).value();
  BufferRef elsewhere = z->copyToMemory(memory(1)).value();
  for (const BufferRef& buffer : {y, z, elsewhere}) {
    EXPECT_THAT(std::string(buffer->readyEvent().await().message()),
                HasSubstr("program addOne: kernel addOne read an address"));
    EXPECT_FALSE(read(*buffer).ok());
  }
  EXPECT_THAT(read(*run(*add, {x.get()}).value()).value(), ElementsAre(2, 3));
}

TEST_P(OnSimulatedDevice, FailedCopiesPoison) {
  backend.device(0).inject(Fault::kCopy);
  BufferRef x = buffer({1, 2});
  BufferRef y = run(*addOne(), {x.get()}).value();
  EXPECT_EQ(y->readyEvent().await().message(), "a copy failed");
}

TEST_P(OnSimulatedDevice, NoMemoryIsAnErrorOfTheResult) {
  BufferRef x = buffer({1, 2});
  auto add = addOne();
  backend.device(0).inject(Fault::kOutOfMemory);
  EXPECT_EQ(run(*add, {x.get()}).value()->readyEvent().await().code(),
            StatusCode::kResourceExhausted);
  EXPECT_THAT(read(*run(*add, {x.get()}).value()).value(), ElementsAre(2, 3));
}

TEST_P(OnSimulatedDevice, ALostDeviceEndsWhatWaits) {
  auto add = addOne();
  BufferRef x = buffer({1, 2});
  ASSERT_TRUE(x->readyEvent().await().ok());
  backend.device(0).inject(Fault::kHang, "addOne");
  BufferRef y = run(*add, {x.get()}).value();
  BufferRef z = run(*add, {y.get()}).value();
  EXPECT_FALSE(y->definition().isReady());
  backend.device(0).lose();
  EXPECT_EQ(z->readyEvent().await().code(), StatusCode::kUnavailable);
  EXPECT_EQ(run(*add, {x.get()}).value()->readyEvent().await().code(), StatusCode::kUnavailable);
}

TEST_P(OnSimulatedDevice, NoMemorySaysWhatIsThere) {
  ProgramInfo info;
  info.name = "jit_step";
  info.parameters = {parameter(f32({2}))};
  info.outputs = {output(f32({1 << 20})), output(f32({3}))};
  info.outputs[0].source = "train.py:12";
  auto program =
      std::make_shared<FunctionExecutable>(info, [](const RunRequest&) { return Status(); });
  auto loaded = client->load(backend.wrap(program)).value();
  BufferRef x = buffer({1, 2});
  Buffer* arguments[] = {x.get()};
  BufferRef results[2];
  DeviceLaunch launch{arguments, results, nullptr};
  ASSERT_TRUE(loaded->execute({&launch, 1}, {}).ok());
  Status status = client->uninitialized(memory(), f32({7 << 19})).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("asked for 14.0 MiB, in use are 3 blocks of 4.0 MiB: "
                        "tensor<1048576xf32> of 4.0 MiB (result 0 of jit_step at train.py:12), "));
  EXPECT_THAT(std::string(status.message()),
              ::testing::AllOf(HasSubstr("tensor<3xf32> of 12 bytes (result 1 of jit_step)"),
                               HasSubstr("tensor<2xf32> of 8 bytes (from the host)")));
  EXPECT_EQ(memory().stats().bytesInUse, (4 << 20) + 12 + 8);
}

TEST_P(OnSimulatedDevice, AFractionOfTheMemory) {
  for (float bad : {0.0f, -1.0f, 1.5f}) {
    EXPECT_FALSE(Client::create(backend, {{"memory_fraction", bad}}).ok());
  }
  auto half = Client::create(backend, {{"memory_fraction", 0.5f}}).value();
  Memory& memory = *half->devices()[0]->defaultMemory();
  EXPECT_EQ(memory.stats().bytesLimit, 1 << 23);
  EXPECT_TRUE(half->uninitialized(memory, f32({2 << 20})).ok());
  Status status = half->uninitialized(memory, f32({(2 << 20) + 1})).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("the limit of 8.0 MiB is reached"));
}

TEST_P(OnSimulatedDevice, AHangIsNoticed) {
  setFlagForTest("ISTHMUS_DEVICE_TIMEOUT_SECONDS", "1");
  auto add = addOne();
  BufferRef x = buffer({1, 2});
  ASSERT_TRUE(x->readyEvent().await().ok());
  backend.device(0).inject(Fault::kHang, "addOne");
  BufferRef y = run(*add, {x.get()}).value();
  Status status = run(*add, {y.get()}).value()->readyEvent().await();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("program addOne has not ended on device 0"));
  // What comes later is told at once.
  EXPECT_EQ(run(*add, {x.get()}).value()->readyEvent().await().code(), StatusCode::kUnavailable);
  backend.device(0).lose();
  setFlagForTest("ISTHMUS_DEVICE_TIMEOUT_SECONDS", "0");
}

TEST_P(OnSimulatedDevice, ACopyHasItsOwnTime) {
  auto half = load("half", DonationKind::kNone, [](const RunRequest& request) {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    for (int i = 0; i < 2; ++i) out(request)[i] = in(request)[i] / 2;
    return Status();
  });
  setFlagForTest("ISTHMUS_DEVICE_TIMEOUT_SECONDS", "1");
  BufferRef x = buffer({8, 16});
  for (int i = 0; i < 3; ++i) x = run(*half, {x.get()}).value();
  StatusOr<std::vector<float>> values = read(*x);
  setFlagForTest("ISTHMUS_DEVICE_TIMEOUT_SECONDS", "0");
  ASSERT_TRUE(values.ok()) << values.status().message();
  EXPECT_THAT(*values, ElementsAre(1, 2));
}

// The device goes on with what was told to have failed, on memory that must still be there.
TEST_P(OnSimulatedDevice, AfterTheTimeoutMemoryStaysUntilTheDeviceIsDone) {
  Gate gate;
  auto slow = gated(gate);
  setFlagForTest("ISTHMUS_DEVICE_TIMEOUT_SECONDS", "1");
  BufferRef x = buffer({1, 2});
  ASSERT_TRUE(x->readyEvent().await().ok());
  BufferRef y = run(*slow, {x.get()}).value();
  std::vector<float> dense(2, -1), strided(2, -1);
  const int64_t backwards[] = {-4};
  Event copied[] = {y->copyToHost(dense.data(), 8).value(),
                    y->copyToHost(strided.data() + 1, 8, backwards).value()};
  for (const Event& copy : copied) EXPECT_FALSE(copy.await().ok());
  y->release();
  gate.open();
  // The copies happen when the program has ended.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_THAT(dense, ElementsAre(-1, -1));
  EXPECT_THAT(strided, ElementsAre(-1, -1));
  setFlagForTest("ISTHMUS_DEVICE_TIMEOUT_SECONDS", "0");
}

// What only the test ends.
class EventOfTest final : public DeviceEvent {
 public:
  bool isReady() const override { return gate_.isOpen; }
  Status await() const override {
    gate_.isOpen.wait(false);
    return {};
  }
  void end() { gate_.open(); }

 private:
  Gate gate_;
};

TEST_P(OnSimulatedDevice, WhatIsGivenUpIsKeptUntilItsEventIsReady) {
  setFlagForTest("ISTHMUS_DEVICE_TIMEOUT_SECONDS", "1");
  isthmus::Device& device = *client->addressableDevices()[0];
  const std::shared_ptr<EventOfTest> ends[] = {std::make_shared<EventOfTest>(),
                                               std::make_shared<EventOfTest>()};
  std::weak_ptr<int> kept[2];
  Promise told[2];
  for (int i = 0; i < 2; ++i) {
    auto used = std::make_shared<int>(i);
    kept[i] = used;
    device.whenDone(isthmus::Device::Lane::kLaunches, ends[i], "work",
                    [used, promise = told[i], client = client](Status end) { promise.set(end); });
  }
  EXPECT_EQ(told[0].event().await().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(told[1].event().await().code(), StatusCode::kUnavailable);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (const auto& used : kept) EXPECT_FALSE(used.expired());
  for (const auto& end : ends) end->end();
  while (!kept[0].expired() || !kept[1].expired()) std::this_thread::yield();
  setFlagForTest("ISTHMUS_DEVICE_TIMEOUT_SECONDS", "0");
}

// Where the device may read late, it reads a copy.
TEST_P(OnSimulatedDevice, WhereThereIsATimeoutTheCallersArraysAreNotReadLater) {
  constexpr int64_t kMost = 3 << 20;  // of 4 Mi elements of memory
  using Upload = std::function<BufferRef(const HostArray&)>;
  for (const Upload& upload : {
           Upload([&](const HostArray& array) {
             auto made = client->bufferFromHost(memory(), array).value();
             EXPECT_TRUE(made.hostMemoryDone.isReady());
             return made.buffer;
           }),
           Upload([&](const HostArray& array) {
             auto transfers = HostToDeviceTransfers::create(memory(), {array.type}).value();
             EXPECT_TRUE(transfers->transferData(0, array.data, 0, 4 * kMost, true).ok());
             return transfers->retrieve(0).value();
           }),
           Upload([&](const HostArray& array) {
             auto transfers = HostToDeviceTransfers::create(memory(), {array.type}).value();
             EXPECT_TRUE(transfers->transferArray(0, array).ok());
             return transfers->retrieve(0).value();
           }),
       }) {
    // Nothing goes there before the program has ended.
    Gate gate;
    auto program = load(
        "gated", DonationKind::kNone,
        [&gate](const RunRequest&) {
          gate.isOpen.wait(false);
          return Status();
        },
        kMost / 2);
    BufferRef y =
        run(*program, {client->uninitialized(memory(), f32({kMost / 2})).value().get()}).value();
    y->release();
    setFlagForTest("ISTHMUS_DEVICE_TIMEOUT_SECONDS", "600");
    std::vector<float> values(kMost, 1);
    BufferRef x = upload(HostArray{values.data(), f32({kMost}), std::nullopt,
                                   HostBufferSemantics::kImmutableUntilTransferCompletes});
    values.assign(kMost, 2);
    gate.open();
    EXPECT_EQ(std::ranges::count(read(*x).value(), 1.0f), kMost);
    setFlagForTest("ISTHMUS_DEVICE_TIMEOUT_SECONDS", "0");
  }
}

TEST_P(OnSimulatedDevice, TransfersInPieces) {
  auto transfers = HostToDeviceTransfers::create(memory(), {f32({2}), f32({2})}).value();
  float data[] = {1, 2};
  ASSERT_TRUE(transfers->transferData(0, data + 1, 4, 4, false).ok());
  Event last = transfers->transferData(0, data, 0, 4, true).value();
  BufferRef x = transfers->retrieve(0).value();
  BufferRef unfinished = transfers->retrieve(1).value();
  transfers.reset();  // what has been handed over still comes
  EXPECT_THAT(read(*x).value(), ElementsAre(1, 2));
  EXPECT_TRUE(last.await().ok());
  EXPECT_EQ(unfinished->readyEvent().await().code(), StatusCode::kCancelled);
}

TEST_P(OnSimulatedDevice, ViewsShareWhatIsNotThereYet) {
  Gate gate;
  auto slow = gated(gate);
  BufferRef y = run(*slow, {buffer({1, 2}).get()}).value();
  BufferRef view = y->bitcast({ElementType::kS32, {2}}).value();
  EXPECT_TRUE(view->usable().isReady());
  gate.open();
  float values[2];
  ASSERT_TRUE(view->copyRawToHost(values, 0, 8).await().ok());
  EXPECT_THAT(values, ElementsAre(2, 4));
}

TEST_P(OnSimulatedDevice, ThreadsMayLaunchAtOnce) {
  auto add = addOne(DonationKind::kMustAlias);
  std::vector<std::thread> threads;
  for (float t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      BufferRef x = buffer({t, 0});
      for (int i = 0; i < 50; ++i) x = run(*add, {x.get()}).value();
      EXPECT_THAT(read(*x).value(), ElementsAre(t + 50, 50));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace isthmus::simulated

// Launches: checks, donation, aliasing, errors, order, several devices.
#include "runtime/executable/loaded_executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>

#include "runtime/collectives/in_process.h"
#include "runtime/runtime_testing.h"

namespace isthmus {
namespace {

using isthmus::testing::f32;
using isthmus::testing::Fixture;
using isthmus::testing::output;
using isthmus::testing::parameter;
using isthmus::testing::read;
using isthmus::testing::run;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string messageOf(const Status& status) { return std::string(status.message()); }

class Launches : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Modes, Launches, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Inline" : "Queued"; });

TEST_P(Launches, ComputeAndComplete) {
  Fixture fixture;
  auto addOne = fixture.addOne(3, GetParam());
  BufferRef x = fixture.buffer({1, 2, 3});
  Event complete = Event::of(internalError("untouched"));
  BufferRef y = run(*addOne, {x.get()}, {}, &complete).value();
  EXPECT_TRUE(complete.await().ok());
  EXPECT_TRUE(y->readyEvent().await().ok());
  EXPECT_THAT(read(*y).value(), ElementsAre(2, 3, 4));
  EXPECT_THAT(read(*x).value(), ElementsAre(1, 2, 3));
}

TEST_P(Launches, InlineRunsOnTheCallingThread) {
  Fixture fixture;
  isthmus::ProgramInfo info;
  info.outputs = {output(f32({1}))};
  std::thread::id thread;
  auto program = fixture.load(
      info,
      [&](const RunRequest&) -> Status {
        thread = std::this_thread::get_id();
        return {};
      },
      GetParam());
  BufferRef y = run(*program, {}).value();
  ASSERT_TRUE(y->readyEvent().await().ok());
  EXPECT_EQ(thread == std::this_thread::get_id(), GetParam());
}

TEST_P(Launches, LongChainsOfDependentLaunches) {
  Fixture fixture;
  auto addOne = fixture.addOne(1, GetParam());
  BufferRef x = fixture.buffer({0});
  for (int i = 0; i < 2000; ++i) x = run(*addOne, {x.get()}).value();
  EXPECT_THAT(read(*x).value(), ElementsAre(2000));
}

TEST_P(Launches, ErrorsOfTheProgramPoisonResults) {
  Fixture fixture;
  isthmus::ProgramInfo info;
  info.parameters = {parameter(f32({1}))};
  info.outputs = {output(f32({1}))};
  auto fails = fixture.load(
      info, [](const RunRequest&) { return internalError("the machine is on fire"); }, GetParam());
  auto addOne = fixture.addOne(1, GetParam());
  BufferRef x = fixture.buffer({0});
  Event complete;
  BufferRef y = run(*fails, {x.get()}, {}, &complete).value();
  BufferRef z = run(*addOne, {y.get()}).value();
  EXPECT_EQ(complete.await().message(), "the machine is on fire");
  EXPECT_EQ(z->readyEvent().await().message(), "the machine is on fire");
  EXPECT_EQ(read(*z).status().code(), StatusCode::kInternal);
  EXPECT_THAT(read(*x).value(), ElementsAre(0));
}

TEST_P(Launches, ErrorBuffersPoisonResults) {
  Fixture fixture;
  auto addOne = fixture.addOne(1, GetParam());
  BufferRef x =
      fixture.client->errorBuffer(fixture.memory(), f32({1}), internalError("bad")).value();
  BufferRef y = run(*addOne, {x.get()}).value();
  EXPECT_EQ(y->readyEvent().await().message(), "bad");
}

TEST_P(Launches, MustAliasReusesTheMemory) {
  Fixture fixture;
  auto addOne = fixture.addOne(2, GetParam(), DonationKind::kMustAlias);
  BufferRef x = fixture.buffer({1, 2});
  void* address = x->pointer().value();
  BufferRef y = run(*addOne, {x.get()}).value();
  EXPECT_TRUE(x->isDeleted());
  EXPECT_THAT(messageOf(x->readyEvent().await()), HasSubstr("deleted or donated"));
  EXPECT_THAT(read(*y).value(), ElementsAre(2, 3));
  EXPECT_EQ(y->pointer().value(), address);
  EXPECT_FALSE(run(*addOne, {x.get()}).ok());
}

TEST_P(Launches, DonationChainsUseOneBlock) {
  Fixture fixture;
  auto addOne = fixture.addOne(2, GetParam(), DonationKind::kMustAlias);
  BufferRef x = fixture.buffer({1, 2});
  void* address = x->pointer().value();
  for (int i = 0; i < 500; ++i) x = run(*addOne, {x.get()}).value();
  EXPECT_THAT(read(*x).value(), ElementsAre(501, 502));
  EXPECT_EQ(x->pointer().value(), address);
  EXPECT_EQ(fixture.memory().stats().peakBytesInUse, 8);
}

// The caller is ahead of the device all the time, as in a training loop.
TEST(Launch, DonationChainsOfSlowLaunchesUseOneBlock) {
  Fixture fixture;
  isthmus::ProgramInfo info;
  info.name = "slow";
  info.parameters = {parameter(f32({2}), DonationKind::kMustAlias, 0)};
  info.outputs = {output(f32({2}))};
  auto slow = fixture.load(
      info,
      [](const RunRequest& run) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        return Fixture::addOneTo(2)(run);
      },
      false);
  BufferRef x = fixture.buffer({1, 2});
  void* address = x->pointer().value();
  for (int i = 0; i < 300; ++i) x = run(*slow, {x.get()}).value();
  EXPECT_THAT(read(*x).value(), ElementsAre(301, 302));
  EXPECT_EQ(x->pointer().value(), address);
  EXPECT_EQ(fixture.memory().stats().peakBytesInUse, 8);
}

TEST_P(Launches, MustAliasCopiesWhatIsReferencedOutside) {
  Fixture fixture;
  auto addOne = fixture.addOne(2, GetParam(), DonationKind::kMustAlias);
  BufferRef x = fixture.buffer({1, 2});
  ASSERT_TRUE(x->addExternalReference().ok());
  const auto* seen = static_cast<const float*>(x->pointer().value());
  BufferRef y = run(*addOne, {x.get()}).value();
  EXPECT_THAT(read(*y).value(), ElementsAre(2, 3));
  EXPECT_EQ(seen[0], 1);
  EXPECT_EQ(x->pointer().value(), seen);
  EXPECT_TRUE(x->dropExternalReference().ok());
  EXPECT_FALSE(x->pointer().ok());
}

TEST_P(Launches, MustAliasCopiesMemoryOfTheHost) {
  Fixture fixture;
  constexpr int64_t kCount = 100000;
  auto addOne = fixture.addOne(kCount, GetParam(), DonationKind::kMustAlias);
  std::vector<float> values(kCount, 5);
  HostArray array{values.data(), f32({kCount}), std::nullopt,
                  HostBufferSemantics::kImmutableZeroCopy};
  auto made = fixture.client->bufferFromHost(fixture.memory(), array).value();
  ASSERT_EQ(made.buffer->pointer().value(), values.data());
  BufferRef y = run(*addOne, {made.buffer.get()}).value();
  EXPECT_EQ(read(*y).value(), std::vector<float>(kCount, 6));
  EXPECT_EQ(values, std::vector<float>(kCount, 5));
  EXPECT_TRUE(made.hostMemoryDone.await().ok());
}

TEST_P(Launches, MustAliasCopiesMemorySharedWithAnotherBuffer) {
  Fixture fixture(2);
  auto addOne = fixture.addOne(2, GetParam(), DonationKind::kMustAlias);
  BufferRef x = fixture.buffer({1, 2});
  BufferRef other = x->copyToMemory(fixture.memory(1)).value();
  BufferRef y = run(*addOne, {x.get()}).value();
  EXPECT_THAT(read(*y).value(), ElementsAre(2, 3));
  EXPECT_THAT(read(*other).value(), ElementsAre(1, 2));
}

TEST_P(Launches, NonDonatableArgumentsStay) {
  Fixture fixture;
  auto addOne = fixture.addOne(2, GetParam(), DonationKind::kMustAlias);
  BufferRef x = fixture.buffer({1, 2});
  const int64_t kept[] = {0};
  ExecuteOptions options;
  options.nonDonatable = kept;
  BufferRef y = run(*addOne, {x.get()}, options).value();
  EXPECT_THAT(read(*y).value(), ElementsAre(2, 3));
  EXPECT_FALSE(x->isDeleted());
  EXPECT_THAT(read(*x).value(), ElementsAre(1, 2));
}

TEST_P(Launches, MayDonateGivesTheMemoryBack) {
  Fixture fixture;
  auto addOne = fixture.addOne(2, GetParam(), DonationKind::kMayDonate);
  BufferRef x = fixture.buffer({1, 2});
  BufferRef y = run(*addOne, {x.get()}).value();
  EXPECT_TRUE(x->isDeleted());
  EXPECT_THAT(read(*y).value(), ElementsAre(2, 3));
  EXPECT_EQ(fixture.memory().stats().bytesInUse, 8);
}

// f(x, x) with one x donated.
TEST_P(Launches, DonatedBufferMustNotComeTwice) {
  Fixture fixture;
  for (int donated : {0, 1}) {
    isthmus::ProgramInfo info;
    info.name = "f";
    auto kind = [&](int i) {
      return i == donated ? DonationKind::kMayDonate : DonationKind::kNone;
    };
    info.parameters = {parameter(f32({1}), kind(0)), parameter(f32({1}), kind(1))};
    info.outputs = {output(f32({1}))};
    auto program = fixture.load(info, Fixture::addOneTo(1), GetParam());
    BufferRef x = fixture.buffer({1});
    Status status = run(*program, {x.get(), x.get()}).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(messageOf(status), HasSubstr("same buffer as another argument that is donated"));
    // Nothing was launched and nothing donated.
    EXPECT_FALSE(x->isDeleted());
    EXPECT_THAT(read(*x).value(), ElementsAre(1));
    BufferRef y = fixture.buffer({5});
    EXPECT_THAT(read(*run(*program, {x.get(), y.get()}).value()).value(), ElementsAre(2));
  }
}

TEST_P(Launches, BadArgumentsAreRefused) {
  Fixture fixture(2);
  auto addOne = fixture.addOne(3, GetParam());
  BufferRef x = fixture.buffer({1, 2, 3});
  EXPECT_EQ(run(*addOne, {}).status().message(),
            "execute add_one: got 0 arguments, the program has 1 parameters");
  BufferRef small = fixture.buffer({1, 2});
  EXPECT_EQ(run(*addOne, {small.get()}).status().message(),
            "execute add_one: argument 0 is tensor<2xf32>, expected tensor<3xf32>");
  BufferRef elsewhere = fixture.buffer({1, 2, 3}, 1);
  EXPECT_EQ(run(*addOne, {elsewhere.get()}).status().message(),
            "execute add_one: argument 0 is on device 1, expected device 0");
  EXPECT_EQ(run(*addOne, {nullptr}).status().message(), "execute add_one: argument 0 is null");
  x->release();
  EXPECT_THAT(messageOf(run(*addOne, {x.get()}).status()), HasSubstr("deleted or donated"));
  DeviceLaunch launches[2];
  EXPECT_THAT(messageOf(addOne->execute(launches, {})), HasSubstr("arguments for 2 devices"));
  addOne->release();
  EXPECT_THAT(messageOf(run(*addOne, {small.get()}).status()), HasSubstr("was deleted"));
}

TEST_P(Launches, OutOfMemoryIsAnErrorOfTheResult) {
  Fixture fixture;
  isthmus::ProgramInfo info;
  info.outputs = {output(f32({int64_t{1} << 50}))};
  auto program = fixture.load(info, [](const RunRequest&) -> Status { return {}; }, GetParam());
  BufferRef y = run(*program, {}).value();
  EXPECT_EQ(y->readyEvent().await().code(), StatusCode::kResourceExhausted);
}

TEST(Launch, DeletingAnExecutableRacesWithItsLaunches) {
  Fixture fixture;
  for (bool isCheap : {true, false}) {
    auto addOne = fixture.addOne(1, isCheap);
    std::atomic<int> launched{0};
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) {
      callers.emplace_back([&] {
        BufferRef x = fixture.buffer({1});
        StatusOr<BufferRef> y = run(*addOne, {x.get()});
        for (; y.ok(); y = run(*addOne, {x.get()})) {
          EXPECT_THAT(read(**y).value(), ElementsAre(2));
          ++launched;
        }
        EXPECT_THAT(std::string(y.status().message()), HasSubstr("was deleted"));
      });
    }
    while (launched < 20) std::this_thread::yield();
    addOne->release();
    for (std::thread& caller : callers) caller.join();
  }
}

TEST(Launch, DroppedHandlesDoNotDisturbWorkInFlight) {
  Fixture fixture;
  auto addOne = fixture.addOne(1, false);
  for (int i = 0; i < 300; ++i) {
    BufferRef x = fixture.buffer({1});
    BufferRef y = run(*addOne, {x.get()}).value();
    BufferRef z = run(*addOne, {y.get()}).value();
    x->release();
    y->release();
    x.reset();
    y.reset();
    if (i % 3 != 0) EXPECT_THAT(read(*z).value(), ElementsAre(3));
    z->release();
  }
  addOne.reset();
  fixture.client.reset();
}

TEST(Launch, WaitsForArgumentsWithoutBlockingTheCallerOrTheQueue) {
  Fixture fixture;
  auto addOne = fixture.addOne(1, false);
  auto [late, promise] =
      AliasPromise::make(fixture.memory(), std::make_shared<const ArrayType>(f32({1})));
  BufferRef y = run(*addOne, {late.get()}).value();
  BufferRef x = fixture.buffer({10});
  BufferRef independent = run(*addOne, {x.get()}).value();
  EXPECT_THAT(read(*independent).value(), ElementsAre(11));
  EXPECT_FALSE(y->readyEvent().isReady());
  ASSERT_TRUE(promise->fulfill(*independent).ok());
  EXPECT_THAT(read(*y).value(), ElementsAre(12));
  EXPECT_FALSE(promise->fulfill(*independent).ok());
}

TEST(Launch, PointerOfAPendingResultIsFinal) {
  Fixture fixture;
  auto addOne = fixture.addOne(1, false, DonationKind::kMustAlias);
  auto [late, promise] =
      AliasPromise::make(fixture.memory(), std::make_shared<const ArrayType>(f32({1})));
  BufferRef y = run(*addOne, {late.get()}).value();
  void* address = y->pointer().value();
  BufferRef x = fixture.buffer({1});
  ASSERT_TRUE(promise->fulfill(*x).ok());
  EXPECT_THAT(read(*y).value(), ElementsAre(2));
  EXPECT_EQ(y->pointer().value(), address);
  EXPECT_THAT(read(*x).value(), ElementsAre(1));
}

TEST(Launch, PointerOfAPendingResultIsThatOfTheDonatedArgument) {
  Fixture fixture;
  Promise gate;
  isthmus::ProgramInfo info;
  info.parameters = {parameter(f32({1}), DonationKind::kMustAlias, 0)};
  info.outputs = {output(f32({1}))};
  auto addOne = fixture.load(info, [&](const RunRequest& request) -> Status {
    ISTHMUS_RETURN_IF_ERROR(gate.event().await());
    return Fixture::addOneTo(1)(request);
  });
  BufferRef x = fixture.buffer({1});
  void* address = x->pointer().value();
  BufferRef y = run(*addOne, {x.get()}).value();
  BufferRef z = run(*addOne, {y.get()}).value();
  EXPECT_EQ(z->pointer().value(), address);
  gate.set();
  EXPECT_THAT(read(*z).value(), ElementsAre(3));
  EXPECT_EQ(fixture.memory().stats().peakBytesInUse, 4);
}

TEST(Launch, QueuedLaunchCanBePoisoned) {
  Fixture fixture;
  auto addOne = fixture.addOne(1, false);
  auto [late, promise] =
      AliasPromise::make(fixture.memory(), std::make_shared<const ArrayType>(f32({1})));
  ExecuteOptions options;
  options.launchId = 7;
  BufferRef y = run(*addOne, {late.get()}, options).value();
  EXPECT_FALSE(fixture.device().poisonExecution(8, internalError("poison")));
  EXPECT_TRUE(fixture.device().poisonExecution(7, internalError("poison")));
  BufferRef x = fixture.buffer({1});
  ASSERT_TRUE(promise->fulfill(*x).ok());
  EXPECT_EQ(y->readyEvent().await().message(), "poison");
  EXPECT_FALSE(fixture.device().poisonExecution(7, internalError("poison")));
}

TEST(Launch, TooManyInFlightBlockTheCaller) {
  Fixture fixture;
  Promise gate;
  isthmus::ProgramInfo info;
  info.outputs = {output(f32({1}))};
  // By value: what is still in flight outlives the test.
  auto program = fixture.load(info, [gate](const RunRequest&) { return gate.event().await(); });
  std::atomic<int> launched{0};
  std::thread caller([&] {
    for (int i = 0; i < 40; ++i) {
      (void)run(*program, {}).value();
      ++launched;
    }
  });
  while (launched < 32) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(launched, 32);
  gate.set();
  caller.join();
  EXPECT_EQ(launched, 40);
}

// The count of each program that was ever loaded stayed for as long as the client.
TEST(LaunchIds, ForgetProgramsThatNobodyHas) {
  LaunchIds ids;
  auto kept = ids.of(1, 2, false);
  int64_t first = kept->next(0);
  int64_t firstOfAll = ids.of(2, 2, true)->next(0);
  for (uint64_t program = 3; program < 1000; ++program) (void)ids.of(program, 2, false);
  EXPECT_LT(ids.size(), 200u);
  // One that is compiled again goes on; over several processes also if it was gone meanwhile.
  EXPECT_EQ(ids.of(1, 2, false), kept);
  EXPECT_NE(ids.of(1, 2, false)->next(0), first);
  EXPECT_NE(ids.of(2, 2, true)->next(0), firstOfAll);
}

// A caller waited again for each launch that was behind, if others between them had ended long ago.
TEST(Launch, StuckDeviceBlocksTheCallerOnce) {
  Fixture fixture;
  constexpr auto kPatience = std::chrono::milliseconds(20);
  constexpr int kInFlight = 32;
  Promise stuck[kInFlight / 2];
  for (const Promise& promise : stuck) {
    EXPECT_TRUE(fixture.device().throttle(promise.event(), kPatience));
    EXPECT_TRUE(fixture.device().throttle(Event(), kPatience));
  }
  Promise more[kInFlight];
  int given = 0;
  for (const Promise& promise : more) {
    if (!fixture.device().throttle(promise.event(), kPatience)) ++given;
  }
  EXPECT_EQ(given, 1);
  // Progress: the first that has ended since is a reason to wait for the next.
  more[0].set();
  EXPECT_TRUE(fixture.device().throttle(Event(), kPatience));
  EXPECT_FALSE(fixture.device().throttle(Event(), kPatience));
  EXPECT_TRUE(fixture.device().throttle(Event(), kPatience));
}

TEST(Launch, ProgramMayLaunchAnotherOnItsOwnDevice) {
  Fixture fixture;
  auto inner = fixture.addOne(1, false);
  isthmus::ProgramInfo info;
  info.outputs = {output(f32({1}))};
  auto outer = fixture.load(info, [&](const RunRequest& request) -> Status {
    BufferRef x = fixture.buffer({41});
    ISTHMUS_ASSIGN_OR_RETURN(BufferRef y, run(*inner, {x.get()}));
    ISTHMUS_ASSIGN_OR_RETURN(std::vector<float> values, read(*y));
    *static_cast<float*>(request.results[0]) = values[0];
    return {};
  });
  EXPECT_THAT(read(*run(*outer, {}).value()).value(), ElementsAre(42));
}

TEST(Launch, ProgramMayLaunchAnotherWhileADeviceWaitsForIt) {
  Fixture fixture(2);
  auto inner = fixture.addOne(1, false);
  isthmus::ProgramInfo info;
  info.outputs = {output(f32({1}))};
  info.options.numPartitions = 2;
  // Device 1 runs something on device 0, which waits for device 1 in a collective.
  auto outer = fixture.load(info, [&](const RunRequest& request) -> Status {
    float value = 1;
    if (request.deviceId == 1) {
      BufferRef x = fixture.buffer({41});
      ISTHMUS_ASSIGN_OR_RETURN(BufferRef y, run(*inner, {x.get()}));
      ISTHMUS_ASSIGN_OR_RETURN(std::vector<float> values, read(*y));
      value = values[0];
    }
    const int64_t group[] = {0, 1};
    CollectiveCall call{request.launchId, 1, request.deviceId, group, "test"};
    return request.services->collectives().allReduce(call, ReductionKind::kSum, ElementType::kF32,
                                                     1, &value, request.results[0]);
  });
  BufferRef results[2];
  DeviceLaunch launches[] = {{{}, {&results[0], 1}, nullptr}, {{}, {&results[1], 1}, nullptr}};
  ASSERT_TRUE(outer->execute(launches, {}).ok());
  EXPECT_THAT(read(*results[0]).value(), ElementsAre(43));
}

TEST(Launch, UserCodeOfACheapProgramFailsTheCall) {
  Fixture fixture;
  isthmus::ProgramInfo info;
  info.parameters = {parameter(f32({1}))};
  info.outputs = {output(f32({1}))};
  auto fails =
      fixture.load(info, [](const RunRequest&) { return internalError("mine"); }, true, true);
  BufferRef x = fixture.buffer({7});
  EXPECT_EQ(messageOf(run(*fails, {x.get()}).status()), "mine");
  EXPECT_THAT(read(*x).value(), ElementsAre(7));
  // It did not even run if its argument is an error.
  auto poison =
      fixture.load(info, [](const RunRequest&) { return internalError("earlier"); }, true);
  BufferRef y = run(*poison, {x.get()}).value();
  EXPECT_EQ(run(*fails, {y.get()}).value()->readyEvent().await().message(), "earlier");
}

// JAX's own CPU client does so, and programs rely on it: what a callback prints comes before what
// its caller prints next.
TEST(Launch, UserCodeRunsOnTheCallingThread) {
  Fixture fixture;
  isthmus::ProgramInfo info;
  info.parameters = {parameter(f32({1}))};
  info.outputs = {output(f32({1}))};
  std::thread::id thread;
  auto program = fixture.load(
      info,
      [&](const RunRequest& request) {
        thread = std::this_thread::get_id();
        return Fixture::addOneTo(1)(request);
      },
      false, true);
  BufferRef x = fixture.buffer({1});
  BufferRef y = run(*program, {x.get()}).value();
  EXPECT_EQ(thread, std::this_thread::get_id());
  EXPECT_TRUE(y->readyEvent().isReady());
  // Nobody can wait for an argument that is the caller's to give.
  auto [late, promise] = fixture.alias();
  BufferRef z = run(*program, {late.get()}).value();
  ASSERT_TRUE(promise->fulfill(*x).ok());
  EXPECT_THAT(read(*z).value(), ElementsAre(2));
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(Launch, UserCodeHoldsUpNoOtherProgram) {
  for (bool isQueued : {false, true}) {
    Fixture fixture;
    isthmus::ProgramInfo info;
    info.parameters = {parameter(f32({1}))};
    info.outputs = {output(f32({1}))};
    Promise promise;
    auto waits = fixture.load(
        info,
        [&](const RunRequest& request) {
          *static_cast<float*>(request.results[0]) = 5;
          return promise.event().await();
        },
        false, true);
    BufferRef x = fixture.buffer({1});
    auto [late, promiseOfArgument] = fixture.alias();
    BufferRef y;
    std::thread caller(
        [&, argument = isQueued ? late : x] { y = run(*waits, {argument.get()}).value(); });
    ASSERT_TRUE(promiseOfArgument->fulfill(*x).ok());
    auto addOne = fixture.addOne(1, false);
    EXPECT_THAT(read(*run(*addOne, {x.get()}).value()).value(), ElementsAre(2));
    promise.set({});
    caller.join();
    EXPECT_THAT(read(*y).value(), ElementsAre(5));
  }
}

// JAX waits for the last launch of each device.
TEST(Launch, UserCodeHasEndedWhereLaterUserCodeHas) {
  for (bool isQueued : {false, true}) {
    Fixture fixture;
    isthmus::ProgramInfo info;
    info.parameters = {parameter(f32({1}))};
    Promise promise;
    auto waits =
        fixture.load(info, [&](const RunRequest&) { return promise.event().await(); }, false, true);
    auto fails =
        fixture.load(info, [](const RunRequest&) { return internalError("mine"); }, false, true);
    auto succeeds = fixture.load(info, [](const RunRequest&) { return Status(); }, false, true);
    BufferRef x = fixture.buffer({1});
    auto [late, promiseOfArgument] = fixture.alias();
    Event first, second, third;
    Buffer* lateOne[] = {late.get()};
    Buffer* lastOne[] = {isQueued ? late.get() : x.get()};
    DeviceLaunch launches[] = {
        {lateOne, {}, &first}, {lateOne, {}, &second}, {lastOne, {}, &third}};
    ASSERT_TRUE(waits->execute({&launches[0], 1}, {}).ok());
    ASSERT_TRUE(fails->execute({&launches[1], 1}, {}).ok());
    ASSERT_TRUE(succeeds->execute({&launches[2], 1}, {}).ok());
    ASSERT_TRUE(promiseOfArgument->fulfill(*x).ok());
    EXPECT_FALSE(
        second.awaitUntil(std::chrono::steady_clock::now() + std::chrono::milliseconds(20)));
    EXPECT_FALSE(third.isReady());
    promise.set({});
    EXPECT_TRUE(third.await().ok());
    EXPECT_TRUE(first.isReady());
    EXPECT_EQ(messageOf(second.await()), "mine");
  }
}

TEST(Launch, PortableExecutableRunsAnywhere) {
  Fixture fixture(3);
  isthmus::ProgramInfo info;
  info.parameters = {parameter(f32({1}))};
  info.outputs = {output(f32({1}))};
  info.options.compilePortableExecutable = true;
  for (bool isCheap : {false, true}) {
    auto program = fixture.load(
        info,
        [](const RunRequest& request) -> Status {
          *static_cast<float*>(request.results[0]) =
              *static_cast<const float*>(request.parameters[0]) + request.deviceId;
          return {};
        },
        isCheap);
    EXPECT_TRUE(program->addressableDevices().empty());
    for (size_t i = 0; i < 3; ++i) {
      BufferRef x = fixture.buffer({10}, i);
      BufferRef y;
      Buffer* arguments[] = {x.get()};
      DeviceLaunch launch{arguments, {&y, 1}, nullptr};
      ASSERT_TRUE(program->executeOn(fixture.device(i), launch, {}).ok());
      EXPECT_THAT(read(*y).value(), ElementsAre(10 + i));
      EXPECT_EQ(&y->device(), &fixture.device(i));
      EXPECT_FALSE(program->execute({&launch, 1}, {}).ok());
      EXPECT_FALSE(program->executeOn(fixture.device((i + 1) % 3), launch, {}).ok());
    }
  }
}

// ---- Several devices
// ------------------------------------------------------------------------------

// Each device contributes its argument; all get the sum.
Ref<LoadedExecutable> sumOverDevices(Fixture& fixture, int devices, int failingDevice = -1) {
  isthmus::ProgramInfo info;
  info.name = "sum";
  info.fingerprint = "sum over " + std::to_string(devices);
  info.parameters = {parameter(f32({1}))};
  info.outputs = {output(f32({1}))};
  info.options.numPartitions = devices;
  return fixture.load(info, [failingDevice](const RunRequest& request) -> Status {
    if (request.deviceId == failingDevice) return internalError("device down");
    std::vector<int64_t> group;
    for (int id : request.assignment->deviceIds) group.push_back(id);
    CollectiveCall call{request.launchId, 1, request.deviceId, group, "add at test"};
    return request.services->collectives().allReduce(call, ReductionKind::kSum, ElementType::kF32,
                                                     1, request.parameters[0], request.results[0]);
  });
}

struct Everywhere {
  std::vector<BufferRef> arguments, results;
  Status status;
};

Everywhere launchEverywhere(LoadedExecutable& program, std::vector<BufferRef> arguments) {
  Everywhere all{std::move(arguments), {}, {}};
  size_t count = all.arguments.size();
  all.results.resize(count);
  std::vector<Buffer*> pointers;
  for (BufferRef& argument : all.arguments) pointers.push_back(argument.get());
  std::vector<DeviceLaunch> launches(count);
  for (size_t i = 0; i < count; ++i) {
    launches[i].arguments = {&pointers[i], 1};
    launches[i].results = {&all.results[i], 1};
  }
  all.status = program.execute(launches, {});
  return all;
}

TEST(MultiDevice, CollectivesMeet) {
  Fixture fixture(4);
  auto sum = sumOverDevices(fixture, 4);
  ASSERT_EQ(sum->addressableDevices().size(), 4u);
  EXPECT_EQ(sum->addressableLogicalIds()[3].partition, 3);
  std::vector<BufferRef> values;
  for (int i = 0; i < 4; ++i) values.push_back(fixture.buffer({float(i + 1)}, i));
  for (int round = 0; round < 20; ++round) {
    Everywhere all = launchEverywhere(*sum, values);
    ASSERT_TRUE(all.status.ok()) << all.status.message();
    values = all.results;
  }
  // 10 in the first round, times 4 in each later one.
  float expected = 10;
  for (int round = 1; round < 20; ++round) expected *= 4;
  for (BufferRef& value : values) EXPECT_THAT(read(*value).value(), ElementsAre(expected));
}

TEST(MultiDevice, LaunchesOfSeveralThreadsDoNotLockEachOtherUp) {
  Fixture fixture(3);
  auto sum = sumOverDevices(fixture, 3);
  auto addOne = fixture.addOne(1, false);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        std::vector<BufferRef> values;
        BufferRef first = fixture.buffer({1});
        values.push_back(run(*addOne, {first.get()}).value());
        for (int i = 1; i < 3; ++i) values.push_back(fixture.buffer({1}, i));
        Everywhere all = launchEverywhere(*sum, values);
        ASSERT_TRUE(all.status.ok());
        for (BufferRef& value : all.results) EXPECT_THAT(read(*value).value(), ElementsAre(4));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(MultiDevice, OneFailureFailsAll) {
  Fixture fixture(3);
  auto sum = sumOverDevices(fixture, 3, 1);
  std::vector<BufferRef> values;
  for (int i = 0; i < 3; ++i) values.push_back(fixture.buffer({1}, i));
  Everywhere all = launchEverywhere(*sum, values);
  ASSERT_TRUE(all.status.ok());
  for (BufferRef& result : all.results) {
    EXPECT_THAT(messageOf(result->readyEvent().await()), HasSubstr("device down"));
  }
  // The next launch is not affected.
  auto fine = sumOverDevices(fixture, 3);
  Everywhere again = launchEverywhere(*fine, values);
  EXPECT_THAT(read(*again.results[0]).value(), ElementsAre(3));
}

TEST(MultiDevice, PoisonedArgumentFailsAll) {
  Fixture fixture(2);
  auto sum = sumOverDevices(fixture, 2);
  BufferRef good = fixture.buffer({1});
  BufferRef bad =
      fixture.client->errorBuffer(fixture.memory(1), f32({1}), internalError("bad")).value();
  Everywhere all = launchEverywhere(*sum, {good, bad});
  for (BufferRef& result : all.results) EXPECT_EQ(result->readyEvent().await().message(), "bad");
}

TEST_P(Launches, RefusedOverDevicesLeaveEverythingAsItWas) {
  Fixture fixture(2);
  isthmus::ProgramInfo info;
  info.parameters = {parameter(f32({1}), DonationKind::kMayDonate)};
  info.outputs = {output(f32({1}))};
  info.options.numReplicas = 2;
  auto program = fixture.load(info, Fixture::addOneTo(1), GetParam());
  EXPECT_EQ(program->addressableLogicalIds()[1].replica, 1);
  BufferRef a = fixture.buffer({1}, 0), b = fixture.buffer({1}, 1);
  b->release();
  Everywhere all = launchEverywhere(*program, {a, b});
  EXPECT_FALSE(all.status.ok());
  EXPECT_FALSE(a->isDeleted());
  EXPECT_THAT(read(*a).value(), ElementsAre(1));
  EXPECT_FALSE(all.results[0]);
  EXPECT_EQ(fixture.client->collectives().numLaunches(), 0u);
}

TEST_P(Launches, WhatIsThrownOnOneDeviceIsAnErrorOfItsResults) {
  Fixture fixture(2);
  isthmus::ProgramInfo info;
  info.parameters = {parameter(f32({1}), DonationKind::kMayDonate)};
  info.outputs = {output(f32({1}))};
  info.options.numReplicas = 2;
  auto program = fixture.load(
      info,
      [](const RunRequest& request) -> Status {
        if (request.replica == 0) throw std::bad_alloc();
        return Fixture::addOneTo(1)(request);
      },
      GetParam());
  Everywhere all = launchEverywhere(*program, {fixture.buffer({1}, 0), fixture.buffer({2}, 1)});
  ASSERT_TRUE(all.status.ok()) << all.status.message();
  EXPECT_EQ(all.results[0]->readyEvent().await().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(read(*all.results[1]).value(), ElementsAre(3));
}

// Devices that do not meet need no threads of their own, unless there is much to do.
TEST_P(Launches, RunOnTheCallingThreadForDevicesThatDoNotMeet) {
  for (bool meets : {false, true}) {
    Fixture fixture(3);
    isthmus::ProgramInfo info;
    info.parameters = {parameter(f32({1}))};
    info.outputs = {output(f32({1}))};
    info.options.numPartitions = 3;
    if (meets) info.exchanges = "something";
    std::array<std::thread::id, 3> threads;
    auto program = fixture.load(
        info,
        [&](const RunRequest& request) -> Status {
          threads[request.deviceId] = std::this_thread::get_id();
          return Fixture::addOneTo(1)(request);
        },
        GetParam());
    std::vector<BufferRef> values;
    for (int i = 0; i < 3; ++i) values.push_back(fixture.buffer({float(i)}, i));
    Everywhere all = launchEverywhere(*program, values);
    ASSERT_TRUE(all.status.ok());
    for (int i = 0; i < 3; ++i) {
      EXPECT_THAT(read(*all.results[i]).value(), ElementsAre(float(i + 1)));
      EXPECT_EQ(threads[i] == std::this_thread::get_id(), GetParam() && !meets);
    }
  }
}

TEST(MultiDevice, SeparateCallsOfOneLaunchMeet) {
  Fixture fixture(2);
  auto sum = sumOverDevices(fixture, 2);
  BufferRef x[] = {fixture.buffer({1}, 0), fixture.buffer({2}, 1)};
  for (int round = 0; round < 10; ++round) {
    BufferRef y[2];
    for (int i = 0; i < 2; ++i) {
      Buffer* arguments[] = {x[i].get()};
      DeviceLaunch launch{arguments, {&y[i], 1}, nullptr};
      ASSERT_TRUE(sum->executeOn(fixture.device(i), launch, {}).ok());
    }
    for (BufferRef& result : y) EXPECT_THAT(read(*result).value(), ElementsAre(3));
  }
}

TEST(MultiDevice, ThreadsThatEachCompileAProgramMeet) {
  Fixture fixture(2);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&fixture, i] {
      for (int round = 0; round < 10; ++round) {
        Ref<LoadedExecutable> sum = sumOverDevices(fixture, 2);
        BufferRef x = fixture.buffer({static_cast<float>(1 + i)}, i), y;
        Buffer* arguments[] = {x.get()};
        DeviceLaunch launch{arguments, {&y, 1}, nullptr};
        ASSERT_TRUE(sum->executeOn(fixture.device(i), launch, {}).ok());
        EXPECT_THAT(read(*y).value(), ElementsAre(3));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Load, BadAssignmentsAreRefused) {
  Fixture fixture(2);
  auto tryLoad = [&](DeviceAssignment assignment) {
    isthmus::ProgramInfo info;
    info.options.deviceAssignment = std::move(assignment);
    auto executable =
        std::make_shared<isthmus::testing::FunctionExecutable>(info, isthmus::testing::Function());
    return messageOf(fixture.client->load(executable).status());
  };
  EXPECT_THAT(tryLoad({1, 2, {0}}), HasSubstr("has 1 devices"));
  EXPECT_THAT(tryLoad({1, 1, {5}}), HasSubstr("No matching device found for device_id 5"));
  EXPECT_THAT(tryLoad({1, 2, {0, 0}}), HasSubstr("device 0 twice"));
  EXPECT_EQ(tryLoad({1, 2, {1, 0}}), "");
}

TEST(Throttle, WaitsOnceForWhatTheCallerHasYetToDo) {
  Fixture fixture;
  auto addOne = fixture.addOne(1, /*isCheap=*/false);
  auto [x, promise] =
      AliasPromise::make(fixture.memory(), std::make_shared<const ArrayType>(f32({1})));
  auto begin = std::chrono::steady_clock::now();
  std::vector<BufferRef> results;
  for (int i = 0; i < 40; ++i) results.push_back(run(*addOne, {x.get()}).value());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(9));
  BufferRef value = fixture.buffer({41});
  ASSERT_TRUE(promise->fulfill(*value).ok());
  EXPECT_THAT(read(*results.back()).value(), ElementsAre(42));
}

}  // namespace
}  // namespace isthmus

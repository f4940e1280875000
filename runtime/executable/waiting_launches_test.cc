// Launches that wait for what their caller has yet to do: nobody is blocked, nothing overflows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "isthmus/flags.h"
#include "isthmus/run_services.h"
#include "runtime/runtime_testing.h"

namespace isthmus {
namespace {

using isthmus::testing::f32;
using isthmus::testing::Fixture;
using isthmus::testing::read;
using isthmus::testing::run;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WaitingLaunches, DoNotBlockTheCaller) {
  Fixture fixture;
  auto addOne = fixture.addOne(1, false);
  auto start = std::chrono::steady_clock::now();
  for (int round = 0; round < 4; ++round) {
    auto [late, promise] = fixture.alias();
    // More than may be in flight, in a row and beside each other.
    BufferRef chain = late;
    std::vector<BufferRef> results;
    for (int i = 0; i < 40; ++i) {
      chain = run(*addOne, {chain.get()}).value();
      results.push_back(run(*addOne, {late.get()}).value());
    }
    BufferRef copy = chain->copyToMemory(fixture.memory()).value();
    for (int i = 0; i < 40; ++i) copy = run(*addOne, {copy.get()}).value();
    BufferRef x = fixture.buffer({1});
    ASSERT_TRUE(promise->fulfill(*x).ok());
    EXPECT_THAT(read(*chain).value(), ElementsAre(41));
    EXPECT_THAT(read(*copy).value(), ElementsAre(81));
    for (BufferRef& result : results) EXPECT_THAT(read(*result).value(), ElementsAre(2));
  }
  // Each round alone takes 5 s where launches wait for each other's end.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
}

TEST(WaitingLaunches, AreBounded) {
  Fixture fixture;
  auto addOne = fixture.addOne(1, false);
  auto [late, promise] = fixture.alias();
  constexpr size_t kMost = 1 << 16;
  ASSERT_TRUE(fixture.client->admitForCaller(kMost, late->definition().callersPart()).ok());
  Status status = run(*addOne, {late.get()}).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("execute add_one: 65536 launches wait"));
  // Others are not concerned, and when the caller has done his part the next ones are admitted.
  BufferRef x = fixture.buffer({1});
  EXPECT_THAT(read(*run(*addOne, {x.get()}).value()).value(), ElementsAre(2));
  ASSERT_TRUE(promise->fulfill(*x).ok());
  auto [later, promised] = fixture.alias();
  BufferRef y = run(*addOne, {later.get()}).value();
  ASSERT_TRUE(promised->fulfill(*x).ok());
  EXPECT_THAT(read(*y).value(), ElementsAre(2));
}

// Each takes over the memory of the one before, when memory is first needed.
TEST(WaitingLaunches, LongChainsOfDonationsNeedNoStack) {
  constexpr int kLength = 60'000;
  Fixture fixture;
  auto addOne = fixture.addOne(1, false, DonationKind::kMustAlias);
  for (bool asksForMemory : {false, true}) {
    auto [late, promise] = fixture.alias();
    BufferRef last = late;
    // The runtime's own threads are not slowed down.
    std::thread([&] {
      TaskQueue::markQueueThread();
      for (int i = 0; i < kLength; ++i) last = run(*addOne, {last.get()}).value();
    }).join();
    if (asksForMemory) {
      EXPECT_NE(last->pointer().value(), nullptr);
    }
    BufferRef x = fixture.buffer({1});
    ASSERT_TRUE(promise->fulfill(*x).ok());
    EXPECT_THAT(read(*last).value(), ElementsAre(kLength + 1));
  }
}

TEST(WaitingLaunches, LongChainsOfCopiesNeedNoStack) {
  constexpr int kLength = 100'000;
  Fixture fixture;
  auto [late, promise] = fixture.alias();
  BufferRef last = late;
  for (int i = 0; i < kLength; ++i) last = last->copyToMemory(fixture.memory()).value();
  BufferRef x = fixture.buffer({7});
  ASSERT_TRUE(promise->fulfill(*x).ok());
  EXPECT_THAT(read(*last).value(), ElementsAre(7));
}

// An alias that waits for itself would never be there, nor anything that uses it.
TEST(AliasOfItself, IsRefused) {
  Fixture fixture;
  auto addOne = fixture.addOne(1, false);
  auto refuse = [&](Buffer& late, AliasPromise& promise, Buffer& source) {
    Status status = promise.fulfill(source);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("fulfilled with itself"));
    EXPECT_EQ(late.readyEvent().await().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(source.readyEvent().await().code(), StatusCode::kInvalidArgument);
  };
  {
    auto [late, promise] = fixture.alias();
    refuse(*late, *promise, *late);
  }
  {
    auto [late, promise] = fixture.alias();
    BufferRef y = run(*addOne, {late.get()}).value();
    BufferRef z = run(*addOne, {y.get()}).value();
    refuse(*late, *promise, *z);
  }
  {
    auto [late, promise] = fixture.alias();
    refuse(*late, *promise, *late->copyToMemory(fixture.memory()).value());
  }
  {
    auto [late, promise] = fixture.alias();
    refuse(*late, *promise, *late->bitcast(f32({1, 1})).value());
  }
}

TEST(AliasOfItself, IsFoundOverOthers) {
  Fixture fixture;
  auto [a, promiseOfA] = fixture.alias();
  auto [b, promiseOfB] = fixture.alias();
  auto [c, promiseOfC] = fixture.alias();
  ASSERT_TRUE(promiseOfA->fulfill(*b).ok());
  isthmus::ProgramInfo info;
  info.parameters = {isthmus::testing::parameter(f32({1})), isthmus::testing::parameter(f32({1}))};
  info.outputs = {isthmus::testing::output(f32({1}))};
  auto first = fixture.load(info, Fixture::addOneTo(1));
  BufferRef y = run(*first, {c.get(), a.get()}).value();
  EXPECT_EQ(promiseOfB->fulfill(*y).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(a->readyEvent().await().code(), StatusCode::kInvalidArgument);
  BufferRef x = fixture.buffer({1});
  ASSERT_TRUE(promiseOfC->fulfill(*x).ok());
  EXPECT_EQ(y->readyEvent().await().code(), StatusCode::kInvalidArgument);
}

// Device 0 stays in user code; device 1 waits for it in vain, and all results say so before that
// code returns.
TEST(StuckUserCode, DoesNotKeepTheErrorOfTheOthers) {
  setFlagForTest("ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS", "1");
  Fixture fixture(2);
  isthmus::ProgramInfo info;
  info.outputs = {isthmus::testing::output(f32({1}))};
  info.options.numPartitions = 2;
  Promise gate;
  auto program = fixture.load(
      info,
      [gate](const RunRequest& request) -> Status {
        Collectives& collectives = request.services->collectives();
        if (request.deviceId == 0) {
          collectives.announce(request.launchId, 0, "custom call @stays at file.py:3");
          (void)gate.event().await();
          collectives.announce(request.launchId, 0, nullptr);
          *static_cast<float*>(request.results[0]) = 1;
        }
        const int64_t group[] = {0, 1};
        CollectiveCall call{request.launchId, 1, request.deviceId, group, "test"};
        float value = 1;
        return collectives.allReduce(call, ReductionKind::kSum, ElementType::kF32, 1, &value,
                                     request.results[0]);
      },
      false, true);
  BufferRef results[2];
  Event complete[2];
  DeviceLaunch launches[] = {{{}, {&results[0], 1}, &complete[0]},
                             {{}, {&results[1], 1}, &complete[1]}};
  ASSERT_TRUE(program->execute(launches, {}).ok());
  for (BufferRef& result : results) {
    Status status = result->readyEvent().await();
    EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("for device 0 (which is in custom call @stays at file.py:3)"));
  }
  EXPECT_FALSE(complete[1].await().ok());
  EXPECT_FALSE(complete[0].isReady());
  // What the code still writes to stays until it returns.
  results[0]->release();
  results[0] = nullptr;
  gate.set();
  EXPECT_EQ(complete[0].await().code(), StatusCode::kDeadlineExceeded);
  setFlagForTest("ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS", "600");
}

}  // namespace
}  // namespace isthmus

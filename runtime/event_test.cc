// Events: order and threads of callbacks, waiting, joining, and lifetime.
#include "runtime/event.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace isthmus {
namespace {

TEST(Event, DefaultHasHappened) {
  Event event;
  EXPECT_TRUE(event.isReady());
  EXPECT_TRUE(event.status().ok());
  EXPECT_TRUE(event.await().ok());
  bool called = false;
  event.onReady([&](const Status& status) { called = status.ok(); });
  EXPECT_TRUE(called);
}

TEST(Event, CarriesItsError) {
  Event event = Event::of(invalidArgument("no such thing"));
  EXPECT_TRUE(event.isReady());
  EXPECT_EQ(event.await().message(), "no such thing");
  EXPECT_TRUE(Event::of(Status()).status().ok());
}

TEST(Event, CallbacksRunOnceInOrder) {
  Promise promise;
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) {
    promise.event().onReady([&order, i](const Status&) { order.push_back(i); });
  }
  EXPECT_TRUE(order.empty());
  EXPECT_FALSE(promise.event().isReady());
  EXPECT_TRUE(promise.set());
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_FALSE(promise.set(internalError("second")));
  EXPECT_TRUE(promise.event().status().ok());
  promise.event().onReady([&](const Status&) { order.push_back(9); });
  EXPECT_EQ(order.size(), 6u);
}

TEST(Event, CallbackOutlivesTheHandles) {
  int calls = 0;
  auto promise = std::make_unique<Promise>();
  promise->event().onReady([&](const Status& status) { calls += status.ok() ? 0 : 1; });
  Promise copy = *promise;
  promise.reset();
  copy.set(internalError("late"));
  EXPECT_EQ(calls, 1);
}

TEST(Event, CallbackMayUseTheSameEvent) {
  Promise promise;
  Event event = promise.event();
  bool nested = false;
  event.onReady([&](const Status&) {
    EXPECT_TRUE(event.isReady());
    event.onReady([&](const Status&) { nested = true; });
  });
  promise.set();
  EXPECT_TRUE(nested);
}

TEST(Event, MoveOnlyCallbackIsDestroyedEvenIfTheEventNeverHappens) {
  auto watched = std::make_shared<int>(1);
  {
    Promise promise;
    promise.event().onReady(
        [p = std::make_unique<std::shared_ptr<int>>(watched)](const Status&) {});
    EXPECT_EQ(watched.use_count(), 2);
  }
  EXPECT_EQ(watched.use_count(), 1);
}

TEST(Event, AwaitWakesManyThreads) {
  for (int round = 0; round < 50; ++round) {
    Promise promise;
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, event = promise.event()] {
        if (event.await().code() == StatusCode::kAborted) ++failures;
        event.onReady([&](const Status&) { ++failures; });
      });
    }
    promise.set(Status(StatusCode::kAborted, "gone"));
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(failures, 8);
  }
}

TEST(Event, RegistrationRacesWithSetting) {
  for (int round = 0; round < 500; ++round) {
    Promise promise;
    std::atomic<int> calls{0};
    std::thread setter([&] { promise.set(); });
    for (int i = 0; i < 10; ++i) promise.event().onReady([&](const Status&) { ++calls; });
    setter.join();
    EXPECT_EQ(calls, 10);
  }
}

TEST(Event, AwaitUntilGivesUp) {
  Promise promise;
  auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
  EXPECT_FALSE(promise.event().awaitUntil(soon));
  std::thread setter([&] { promise.set(); });
  auto late = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  EXPECT_TRUE(promise.event().awaitUntil(late));
  setter.join();
}

TEST(WhenAll, HappensAfterTheLastWithTheFirstError) {
  Promise a, b, c;
  std::vector<Event> events = {a.event(), Event(), b.event(), c.event()};
  Event all = whenAll(events);
  c.set(internalError("c"));
  a.set();
  EXPECT_FALSE(all.isReady());
  b.set(internalError("b"));
  ASSERT_TRUE(all.isReady());
  EXPECT_EQ(all.status().message(), "b");
}

// Each event kept the join by its callback, and the join each event.
TEST(WhenAll, KeepsNoEventsThatNobodyElseHas) {
  auto token = std::make_shared<int>();
  {
    Promise a, b;
    a.event().onReady([token](const Status&) {});
    const Event both[] = {a.event(), b.event()};
    Event all = whenAll(both);
    b.set();
    EXPECT_FALSE(all.isReady());
  }
  EXPECT_EQ(token.use_count(), 1);
}

TEST(Event, LongChainsNeedNoStack) {
  constexpr int kLength = 300'000;
  std::vector<Promise> chain(kLength);
  std::vector<int> order;
  for (int i = 0; i + 1 < kLength; ++i) {
    chain[i].event().onReady([&, i](const Status& status) {
      order.push_back(i);
      chain[i + 1].set(status);
    });
  }
  chain.front().set(internalError("first"));
  EXPECT_EQ(chain.back().event().await().message(), "first");
  ASSERT_EQ(order.size(), kLength - 1u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(CallersPart, FollowsFromCauses) {
  EXPECT_TRUE(Promise().event().callersPart().isReady());
  Promise a = Promise::ofCaller(), b = Promise::ofCaller();
  Promise afterA = Promise::after(a.event()), running;
  EXPECT_FALSE(Promise::after(afterA.event()).event().callersPart().isReady());
  const Event both[] = {afterA.event(), running.event(), b.event()};
  Event part = callersPart(both);
  Event all = whenAll(both);
  a.set();
  EXPECT_TRUE(afterA.event().callersPart().isReady());
  EXPECT_FALSE(part.isReady());
  EXPECT_FALSE(all.callersPart().isReady());
  b.set(internalError("ready all the same"));
  EXPECT_TRUE(part.isReady());
  EXPECT_TRUE(all.callersPart().isReady());
  EXPECT_FALSE(all.isReady());
  // What joins events keeps them until they have happened.
  afterA.set();
  running.set();
  EXPECT_TRUE(all.isReady());
}

TEST(CallersPart, IsHandedOver) {
  Promise a = Promise::ofCaller(), b = Promise::ofCaller(), running;
  EXPECT_FALSE(a.handOver(a.event()));
  EXPECT_FALSE(a.event().callersPart().isReady());
  EXPECT_TRUE(a.handOver(b.event()));
  EXPECT_FALSE(b.handOver(Promise::after(a.event()).event()));
  EXPECT_FALSE(a.event().callersPart().isReady());
  EXPECT_TRUE(b.handOver(running.event()));
  EXPECT_TRUE(a.event().callersPart().isReady());
  EXPECT_FALSE(a.event().isReady());
}

TEST(WhenAll, ReadyEventsNeedNothing) {
  std::vector<Event> events = {Event(), Event()};
  EXPECT_TRUE(whenAll(events).isReady());
  events.push_back(Event::of(internalError("x")));
  EXPECT_EQ(whenAll(events).await().message(), "x");
  EXPECT_TRUE(whenAll({}).isReady());
}

}  // namespace
}  // namespace isthmus

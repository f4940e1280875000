// Recordings: who is in them, in which order, how much fits, and that nobody is waited for.
#include "base/trace/recorder.h"

#include <gtest/gtest.h>

#include <thread>

namespace isthmus::trace {
namespace {

const EventInfo kInfo{.name = "work"};

Event eventAt(int64_t beginNs) {
  Event event;
  event.info = &kInfo;
  event.beginNs = beginNs;
  event.endNs = beginNs + 1;
  return event;
}

int64_t countOf(const Recording& recording) {
  int64_t count = 0;
  for (const ThreadEvents& thread : recording.threads) {
    count += static_cast<int64_t>(thread.events.size());
  }
  return count;
}

TEST(Recorder, RecordsNothingUntilItIsStarted) {
  EXPECT_FALSE(isOn());
  record(eventAt(1));
  {
    Scope scope("unseen");
  }
  EXPECT_TRUE(take().threads.empty());
  ASSERT_TRUE(start());
  EXPECT_TRUE(isOn());
  stop();
  EXPECT_FALSE(isOn());
  record(eventAt(2));
  EXPECT_EQ(countOf(take()), 0);
}

TEST(Recorder, OneAtATimeAndThenTheNext) {
  for (int64_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(start());
    EXPECT_FALSE(start());
    record(eventAt(round));
    stop();
    EXPECT_FALSE(start()) << "before it was taken";
    Recording recording = take();
    ASSERT_EQ(countOf(recording), 1);
    EXPECT_EQ(recording.threads[0].events[0].beginNs, round);
    EXPECT_LE(recording.beginNs, recording.endNs);
    // 2020 to 2100.
    EXPECT_GT(recording.unixBeginNs, int64_t{1'577'836'800} * 1'000'000'000);
    EXPECT_LT(recording.unixBeginNs, int64_t{4'102'444'800} * 1'000'000'000);
  }
}

TEST(Recorder, EachThreadHasItsList) {
  constexpr int kThreads = 8;
  constexpr int kEvents = 500;
  ASSERT_TRUE(start());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < kEvents; ++i) record(eventAt(t * kEvents + i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  Recording recording = take();
  ASSERT_EQ(recording.threads.size(), static_cast<size_t>(kThreads));
  std::vector<int> seen(kThreads * kEvents);
  for (const ThreadEvents& thread : recording.threads) {
    EXPECT_GT(thread.threadId, 0);
    ASSERT_EQ(thread.events.size(), static_cast<size_t>(kEvents));
    for (size_t i = 0; i < thread.events.size(); ++i) {
      EXPECT_EQ(thread.events[i].beginNs, thread.events[0].beginNs + static_cast<int64_t>(i));
      ++seen[static_cast<size_t>(thread.events[i].beginNs)];
    }
  }
  EXPECT_EQ(seen, std::vector<int>(kThreads * kEvents, 1));
}

// Threads that go on recording while it is stopped, taken and started again.
TEST(Recorder, MayBeTakenWhileOthersRecord) {
  std::atomic<bool> isOver{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!isOver) {
        Scope scope("busy", "thread");
        record(eventAt(now()));
        std::this_thread::yield();
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(start());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Recording recording = take();
    for (const ThreadEvents& thread : recording.threads) {
      for (const Event& event : thread.events) {
        ASSERT_TRUE(event.info->name == "work" || event.info->name == "busy thread");
      }
    }
  }
  isOver = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(Recorder, DropsAndCountsWhatDoesNotFit) {
  ASSERT_TRUE(start(/*maxEvents=*/10));
  std::vector<Event> batch(4, eventAt(1));
  for (int i = 0; i < 5; ++i) record(batch);  // two batches fit
  record(eventAt(2));
  record(eventAt(3));
  record(eventAt(4));
  Recording recording = take();
  EXPECT_EQ(countOf(recording), 10);
  EXPECT_EQ(recording.dropped, 3 * 4 + 1);
}

TEST(Recorder, KeepsWhatEventsPointTo) {
  auto info = std::make_shared<const EventInfo>(EventInfo{.name = "kept"});
  std::weak_ptr<const EventInfo> observer = info;
  ASSERT_TRUE(start());
  Event event = eventAt(1);
  event.info = info.get();
  record(event, info);
  record(event, info);
  info.reset();
  stop();
  {
    Recording recording = take();
    EXPECT_EQ(recording.threads[0].events[0].info->name, "kept");
    EXPECT_EQ(recording.owners.size(), 1u);
    EXPECT_FALSE(observer.expired());
  }
  EXPECT_TRUE(observer.expired());
}

TEST(Recorder, ScopesTakeTheirTimeAndNames) {
  ASSERT_TRUE(start());
  {
    Scope outer("compile", "jit_f", 7);
    Scope inner("stage");
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  Recording recording = take();
  ASSERT_EQ(countOf(recording), 2);
  const Event& inner = recording.threads[0].events[0];
  const Event& outer = recording.threads[0].events[1];
  EXPECT_EQ(inner.info->name, "stage");
  EXPECT_EQ(outer.info->name, "compile jit_f");
  EXPECT_EQ(outer.bytes, 7);
  EXPECT_GE(inner.endNs - inner.beginNs, 3'000'000);
  EXPECT_LE(outer.beginNs, inner.beginNs);
  EXPECT_GE(outer.endNs, inner.endNs);
}

}  // namespace
}  // namespace isthmus::trace

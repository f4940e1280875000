// Who runs ahead and who waits, and on which thread their programs then run.
#include "runtime/executable/caller_habit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "runtime/runtime_testing.h"

namespace isthmus {
namespace {

using isthmus::testing::Fixture;
using isthmus::testing::FunctionExecutable;
using isthmus::testing::output;
using isthmus::testing::run;
using std::chrono::microseconds;

const CallerHabit::Clock::time_point kReturned{std::chrono::hours(1)};

// A launch, and a question that long after it.
void launchAndAsk(CallerHabit& habit, microseconds after, uint32_t back = 0) {
  uint32_t number = habit.beginLaunch();
  EXPECT_NE(number, 0u);
  habit.endLaunch(kReturned);
  habit.ask(number - back, kReturned + after);
}

TEST(CallerHabit, IsLearntFromAFewLaunches) {
  CallerHabit habit;
  EXPECT_FALSE(habit.waits());
  for (int i = 0; i < 5; ++i) launchAndAsk(habit, microseconds(40));
  EXPECT_TRUE(habit.waits());
  for (int i = 0; i < 20; ++i) launchAndAsk(habit, microseconds(40));
  habit.beginLaunch();  // not asked for, which the next one tells
  habit.beginLaunch();
  EXPECT_TRUE(habit.waits()) << "an exception";
  habit.beginLaunch();
  EXPECT_FALSE(habit.waits()) << "two in a row";
}

TEST(CallerHabit, WhoAsksLaterOrForAnEarlierResultDoesNotWait) {
  CallerHabit late, earlier;
  for (int i = 0; i < 20; ++i) {
    launchAndAsk(late, std::chrono::milliseconds(1));
    launchAndAsk(earlier, microseconds(1), 1);
  }
  EXPECT_FALSE(late.waits());
  EXPECT_FALSE(earlier.waits());
}

// Launches until `isDone` says that the last one ran where it should; false after many seconds.
template <typename Step>
bool launchUntil(Step&& step) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < deadline) {
    if (step()) return true;
  }
  return false;
}

TEST(CallerHabit, ShortProgramsRunOnTheThreadOfACallerWhoWaits) {
  Fixture fixture;
  std::thread::id thread;
  ProgramInfo info;
  info.outputs = {output(testing::f32({1}))};
  auto note = [&](const RunRequest&) -> Status {
    thread = std::this_thread::get_id();
    return {};
  };
  auto make = [&](bool mayBlock) {
    simulated::Habits habits{.mayBlock = mayBlock};
    return std::move(fixture.client->load(std::make_shared<FunctionExecutable>(info, note, habits)))
        .value();
  };
  auto isHere = [&] { return thread == std::this_thread::get_id(); };

  auto program = make(false);
  EXPECT_TRUE(launchUntil([&] {
    BufferRef y = run(*program, {}).value();
    EXPECT_TRUE(y->readyEvent().await().ok());
    return isHere();
  }));
  EXPECT_TRUE(launchUntil([&] {
    BufferRef y = run(*program, {}).value();
    EXPECT_TRUE(y->definition().await().ok());  // asks nobody
    return !isHere();
  }));

  auto blocking = make(true);
  for (int i = 0; i < 50; ++i) {
    BufferRef y = run(*blocking, {}).value();
    EXPECT_TRUE(y->readyEvent().await().ok());
    EXPECT_FALSE(isHere());
  }
}

}  // namespace
}  // namespace isthmus

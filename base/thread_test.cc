// Threads of ours: their signals and mode, and what happens where none can be made.
#include "isthmus/thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <csignal>
#include <future>

#include "isthmus/float_mode.h"

namespace isthmus {
namespace {

// More than an address space: no such thread can be made.
constexpr size_t kImpossibleStack = size_t{1} << 60;

sigset_t signalsOfCaller() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return mask;
}

TEST(Thread, BlocksSignalsAndLeavesTheCallers) {
  sigset_t inside;
  sigemptyset(&inside);
  {
    ThreadGroup group;
    ASSERT_TRUE(group.start({}, [&] { inside = signalsOfCaller(); }));
  }
  EXPECT_EQ(sigismember(&inside, SIGINT), 1);
  EXPECT_EQ(sigismember(&inside, SIGTERM), 1);
  // A fault of the thread's own must reach the host program's handler.
  for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) EXPECT_EQ(sigismember(&inside, own), 0) << own;
  sigset_t mine = signalsOfCaller();
  EXPECT_EQ(sigismember(&mine, SIGINT), 0);
}

TEST(Thread, CallersSignalsComeBackWhenNoneCanBeMade) {
  EXPECT_FALSE(startDetachedThread({.stackBytes = kImpossibleStack}, [] {}));
  ThreadGroup group;
  EXPECT_FALSE(group.start({.stackBytes = kImpossibleStack}, [] {}));
  EXPECT_EQ(group.size(), 0u);
  sigset_t mine = signalsOfCaller();
  EXPECT_EQ(sigismember(&mine, SIGINT), 0);
}

TEST(Thread, AnExceptionEndsOnlyTheThread) {
  std::atomic<bool> wasThere{false};
  {
    ThreadGroup group;
    ASSERT_TRUE(group.start({}, [&] {
      wasThere = true;
      throw std::bad_alloc();
    }));
  }
  EXPECT_TRUE(wasThere);
}

TEST(Thread, DoesNotInheritTheFloatMode) {
  std::fesetround(FE_UPWARD);
  int rounding = -1;
  {
    ThreadGroup group;
    ASSERT_TRUE(group.start({}, [&] { rounding = std::fegetround(); }));
  }
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(rounding, FE_TONEAREST);
}

float half(float x) {
  volatile float y = x;
  y = y * 0.5f;
  return y;
}

TEST(FloatMode, IsPinnedAndComesBack) {
  constexpr float kSmallest = 1.17549435e-38f;  // half of it is subnormal
  std::fesetround(FE_DOWNWARD);
  feenableexcept(FE_DIVBYZERO | FE_INVALID);
  {
    ScopedFloatMode mode(FloatMode::kProgram);
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    EXPECT_EQ(half(kSmallest), 0.0f);
    volatile float zero = 0.0f;
    volatile float infinity = 1.0f / zero;  // does not trap
    EXPECT_GT(infinity, 1.0f);
    ScopedFloatMode inner(FloatMode::kIeee);
    EXPECT_NE(half(kSmallest), 0.0f);
  }
  EXPECT_EQ(std::fegetround(), FE_DOWNWARD);
  EXPECT_EQ(fegetexcept(), FE_DIVBYZERO | FE_INVALID);
  EXPECT_EQ(std::fetestexcept(FE_DIVBYZERO), 0);  // the program's flags are the program's
  fedisableexcept(FE_ALL_EXCEPT);
  std::fesetround(FE_TONEAREST);
}

}  // namespace
}  // namespace isthmus

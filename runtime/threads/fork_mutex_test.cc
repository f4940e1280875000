// Forks while other threads hold mutexes.
#include "runtime/threads/fork_mutex.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "runtime/runtime_testing.h"

namespace isthmus {
namespace {

#if !__has_feature(thread_sanitizer)
// True if a child that does `work` ends well.
template <typename Work>
bool survives(Work&& work) {
  constexpr unsigned kPatienceSeconds = 60;
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    alarm(kPatienceSeconds);
    _exit(work() ? 42 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 42;
}

// Calls `busy` from two threads until it goes.
class Busy {
 public:
  template <typename F>
  explicit Busy(F busy) {
    for (int i = 0; i < 2; ++i) {
      threads_.emplace_back([this, busy] {
        while (!stops_) busy();
      });
    }
  }
  ~Busy() {
    stops_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stops_{false};
  std::vector<std::thread> threads_;
};

TEST(ForkMutex, IsFreeAndItsContentsWholeInChildren) {
  ForkMutex outer(ForkMutex::Rank::kOuter), inner;
  int64_t a = 0, b = 0;
  auto add = [&] {
    std::lock_guard lock(outer);
    ++a;
    std::lock_guard innerLock(inner);
    ++b;
  };
  Busy busy(add);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(survives([&] {
      add();
      ForkMutex another;
      std::lock_guard lock(another);
      return a == b;
    }));
  }
}

TEST(ForkMutex, ChildrenUseTheClientOfTheirParent) {
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "AddressSanitizer's own quarantine stays locked in the child of a fork";
#endif
  isthmus::testing::Fixture fixture(2);
  auto queued = fixture.addOne(1, false);
  auto use = [&] {
    auto loaded = fixture.addOne(1, false);
    BufferRef x = fixture.buffer({1});
    BufferRef y = isthmus::testing::run(*queued, {x.get()}).value();
    return isthmus::testing::read(*isthmus::testing::run(*loaded, {y.get()}).value())->at(0) == 3;
  };
  // Constants of functions are made when these are first called, and a child that is made meanwhile
  // waits for them for ever.
  ASSERT_TRUE(use());
  Busy busy([&] { (void)use(); });
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(survives(use));
}
#endif

}  // namespace
}  // namespace isthmus

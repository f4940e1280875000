// Parallel loops: every tile once, grain, nesting, many callers, fork.
#include "runtime/threads/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "isthmus/flags.h"

namespace isthmus {
namespace {

// Four threads whatever the machine has, so that loops really are parallel.
[[maybe_unused]] const bool kEnvironmentSet = setenv("ISTHMUS_NUM_THREADS", "4", 1) == 0;

TEST(ParallelFor, UsesTheFlag) { EXPECT_EQ(computeThreads(), 4); }

TEST(ParallelFor, CoversEveryTileOnce) {
  for (int64_t tiles : {0, 1, 2, 3, 7, 64, 1000, 12345}) {
    for (int64_t grain : {1, 3, 100, 100000}) {
      std::vector<std::atomic<int>> counts(tiles);
      std::atomic<int> shortRanges{0};
      parallelFor(tiles, grain, [&](int64_t begin, int64_t end) {
        if (end - begin < grain && end != tiles) ++shortRanges;
        for (int64_t i = begin; i < end; ++i) ++counts[i];
      });
      EXPECT_EQ(shortRanges, 0);
      for (int64_t i = 0; i < tiles; ++i) ASSERT_EQ(counts[i], 1) << tiles << " " << grain;
    }
  }
}

TEST(ParallelFor, UsesSeveralThreads) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> arrived{0};
  parallelFor(4, 1, [&](int64_t begin, int64_t end) {
    // Waits for a second thread, so one alone cannot run all tiles; bounded, for a clear failure.
    ++arrived;
    for (int i = 0; i < 10000 && arrived < 2; ++i) usleep(1000);
    std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_GE(threads.size(), 2u);
}

TEST(ParallelFor, NestedCallsStayOnTheirThread) {
  std::atomic<int64_t> sum{0};
  parallelFor(8, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      auto thread = std::this_thread::get_id();
      parallelFor(100, 1, [&](int64_t b, int64_t e) {
        EXPECT_EQ(thread, std::this_thread::get_id());
        sum += e - b;
      });
    }
  });
  EXPECT_EQ(sum, 800);
}

TEST(ParallelFor, ManyCallersShareThePool) {
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum{0};
  for (int t = 0; t < 6; ++t) {
    callers.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        parallelFor(50, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 6 * 100 * 50);
}

TEST(ParallelFor, ResultsAreVisibleToTheCaller) {
  std::vector<int> values(100000);
  for (int round = 1; round <= 20; ++round) {
    parallelFor(static_cast<int64_t>(values.size()), 100, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) values[i] = round;
    });
    for (int value : values) ASSERT_EQ(value, round);
  }
}

#if !__has_feature(thread_sanitizer)
TEST(ParallelFor, WorksInAChildOfFork) {
  parallelFor(100, 1, [](int64_t, int64_t) {});
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::atomic<int64_t> sum{0};
    parallelFor(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    _exit(sum == 1000 ? 42 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 42);
}
#endif

}  // namespace
}  // namespace isthmus

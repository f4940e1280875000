// Task queues: order, idleness, destruction from within, and fork.
#include "runtime/threads/task_queue.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "runtime/event.h"

namespace isthmus {
namespace {

TEST(TaskQueue, RunsInOrderOnOneThread) {
  std::vector<int> order;
  std::thread::id thread;
  {
    TaskQueue queue("test");
    EXPECT_TRUE(queue.isIdle());
    for (int i = 0; i < 1000; ++i) {
      queue.push([&, i] {
        order.push_back(i);
        if (i == 0) thread = std::this_thread::get_id();
        EXPECT_EQ(thread, std::this_thread::get_id());
        EXPECT_TRUE(queue.isOwnThread());
      });
    }
    EXPECT_FALSE(queue.isOwnThread());
  }
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[i], i);
}

TEST(TaskQueue, BusyWhileATaskRuns) {
  TaskQueue queue("test");
  Promise start, finish;
  queue.push([&] {
    start.set();
    (void)finish.event().await();
  });
  (void)start.event().await();
  EXPECT_FALSE(queue.isIdle());
  finish.set();
  while (!queue.isIdle()) std::this_thread::yield();
}

TEST(TaskQueue, ManyThreadsPush) {
  std::atomic<int> sum{0};
  {
    TaskQueue queue("test");
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 500; ++i) queue.push([&] { ++sum; });
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(sum, 2000);
}

TEST(TaskQueue, LastTaskMayDestroyTheQueue) {
  Promise done;
  auto* queue = new TaskQueue("test");
  queue->push([&] {
    delete queue;
    done.set();
  });
  EXPECT_TRUE(done.event().await().ok());
}

#if !__has_feature(thread_sanitizer)
TEST(TaskQueue, ChildOfForkHasItsOwnThread) {
  TaskQueue queue("test");
  Promise first;
  queue.push([&] { first.set(); });
  (void)first.event().await();
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Promise second;
    queue.push([&] { second.set(); });
    (void)second.event().await();
    _exit(42);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 42);
}
#endif

}  // namespace
}  // namespace isthmus

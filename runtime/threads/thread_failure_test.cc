// What runs where the machine gives us no thread: queues, loops, launches. Every pthread_create of
// this process fails until a test says otherwise.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <vector>

#include "runtime/runtime_testing.h"
#include "runtime/threads/task_queue.h"
#include "runtime/threads/thread_pool.h"

namespace {
std::atomic<int> threadsLeft{0};
}

// What a sanitizer put into this executable in the place of pthread_create; it must see every
// thread whose join it sees.
extern "C" __attribute__((weak)) int __interceptor_pthread_create(pthread_t* thread,
                                                                  const pthread_attr_t* attributes,
                                                                  void* (*function)(void*),
                                                                  void* argument);

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*function)(void*), void* argument) {
  using Create = decltype(&pthread_create);
  static const auto create = __interceptor_pthread_create != nullptr
                                 ? &__interceptor_pthread_create
                                 : reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threadsLeft.fetch_sub(1) <= 0) return EAGAIN;
  return create(thread, attributes, function, argument);
}

namespace isthmus {
namespace {

using isthmus::testing::f32;
using isthmus::testing::Fixture;
using isthmus::testing::output;
using isthmus::testing::parameter;
using isthmus::testing::read;
using isthmus::testing::run;
using ::testing::ElementsAre;

class WithoutThreads : public ::testing::Test {
 protected:
  void SetUp() override { threadsLeft = 0; }
};

TEST_F(WithoutThreads, QueuesRunTasksInOrderOnWhoPushes) {
  TaskQueue queue("test");
  std::vector<int> order;
  queue.push([&] {
    EXPECT_TRUE(queue.isOwnThread());
    queue.push([&] { order.push_back(2); });  // not before this one is done
    order.push_back(1);
  });
  queue.push([&] { order.push_back(3); });
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
  EXPECT_TRUE(queue.isIdle());
}

TEST_F(WithoutThreads, QueuesStartTheirThreadOnceThereIsOne) {
  std::atomic<bool> isElsewhere{false};
  const pthread_t mine = pthread_self();
  {
    TaskQueue queue("test");
    queue.push([&] { EXPECT_TRUE(pthread_equal(mine, pthread_self())); });
    threadsLeft = 1;
    queue.push([&] { isElsewhere = !pthread_equal(mine, pthread_self()); });
  }
  EXPECT_TRUE(isElsewhere);
}

TEST_F(WithoutThreads, LoopsCoverEverything) {
  std::vector<std::atomic<int>> seen(10'000);
  for (int round = 0; round < 2000; ++round) {
    parallelFor(static_cast<int64_t>(seen.size()), 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) seen[i].fetch_add(1, std::memory_order_relaxed);
    });
  }
  for (std::atomic<int>& count : seen) EXPECT_EQ(count, 2000);
}

TEST_F(WithoutThreads, ProgramsRunOnWhoLaunchesThem) {
  Fixture fixture;
  BufferRef x = fixture.buffer({1, 2});
  BufferRef y = run(*fixture.addOne(2, /*isCheap=*/false), {x.get()}).value();
  EXPECT_THAT(read(*y).value(), ElementsAre(2, 3));

  ProgramInfo info;
  info.parameters = {parameter(f32({2}))};
  info.outputs = {output(f32({2}))};
  auto callback = fixture.load(info, Fixture::addOneTo(2), false, /*callsUserCode=*/true);
  EXPECT_THAT(read(*run(*callback, {y.get()}).value()).value(), ElementsAre(3, 4));
}

// The parts of a launch wait for each other: one thread cannot run one after the other.
class Gangs : public WithoutThreads, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(UserCode, Gangs, ::testing::Bool());

TEST_P(Gangs, OfSeveralDevicesFail) {
  for (int threads = 0; threads < 2; ++threads) {
    threadsLeft = threads;
    // A part that ends before the next is launched would leave its thread to that one. It may
    // outlive this function: an error of one part is told before the others have ended.
    auto isLaunched = std::make_shared<std::atomic<bool>>(false);
    Fixture fixture(2);
    ProgramInfo info;
    info.outputs = {output(f32({1}))};
    info.options.numReplicas = 2;
    auto executable = std::make_shared<isthmus::testing::FunctionExecutable>(
        info,
        [isLaunched](const RunRequest& request) -> Status {
          isLaunched->wait(false);
          return internalError("part ", request.replica, " ran");
        },
        simulated::Habits{.callsUserCode = GetParam()});
    auto loaded = std::move(fixture.client->load(executable)).value();
    std::vector<BufferRef> results(2);
    std::vector<DeviceLaunch> launches(2);
    for (size_t d = 0; d < 2; ++d) launches[d].results = {&results[d], 1};
    const bool isOk = loaded->execute(launches, {}).ok();
    *isLaunched = true;
    isLaunched->notify_all();
    ASSERT_TRUE(isOk);
    EXPECT_EQ(results[1]->readyEvent().await().code(), StatusCode::kResourceExhausted);
    EXPECT_FALSE(results[0]->readyEvent().await().ok());
  }
}

}  // namespace
}  // namespace isthmus

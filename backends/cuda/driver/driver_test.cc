// The driver layer over the fake driver: order, memory, errors.
#include "backends/cuda/driver/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "backends/cuda/driver/autotune.h"
#include "backends/cuda/driver/blas.h"
#include "backends/cuda/driver/dnn/dnn.h"
#include "backends/cuda/driver/fake/fake_blas.h"
#include "backends/cuda/driver/fake/fake_cuda.h"
#include "backends/cuda/driver/fake/fake_dnn.h"
#include "backends/cuda/driver/fake/fake_testing.h"
#include "backends/cuda/launch/graph_cache.h"
#include "backends/cuda/launch/launch_choice.h"
#include "backends/cuda/launch/program_graph.h"
#include "isthmus/flags.h"

extern "C" {
isthmus::cuda::CUresult cuCtxGetCurrent(isthmus::cuda::CUcontext* context);
isthmus::cuda::CUresult cuCtxSetCurrent(isthmus::cuda::CUcontext context);
}

namespace isthmus::cuda {
namespace {

using testing::HasSubstr;

constexpr const char* kPtx =
    ".version 7.0\n.visible .entry add(\n.param .u64 a,\n.param .u64 b\n)\n{ ret; }\n";

std::string log() { return FAKE(fake_cuda_log)(); }

std::unique_ptr<Driver> makeDriver(int devices = 1, uint64_t memory = 1 << 20) {
  FAKE(fake_cuda_reset)(devices, 90, memory);
  StatusOr<std::unique_ptr<Driver>> driver = Driver::create(ISTHMUS_FAKE_CUDA, {}, 0);
  EXPECT_TRUE(driver.ok()) << driver.status().message();
  return std::move(*driver);
}

std::shared_ptr<const WorkText> workText(const std::string& name) {
  return std::make_shared<WorkText>(WorkText{name, {}});
}

// b += a, one float per thread.
void addKernel(void* const* arguments, unsigned blocks, unsigned threads) {
  for (unsigned i = 0; i < blocks * threads; ++i) {
    static_cast<float*>(arguments[1])[i] += static_cast<float*>(arguments[0])[i];
  }
}

TEST(CudaDriver, a_missing_driver_is_said_in_a_sentence) {
  StatusOr<std::unique_ptr<Driver>> driver = Driver::create("libnowhere.so.1", {}, 0);
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(driver.status().message()),
              HasSubstr("no NVIDIA driver at libnowhere.so.1: "));
}

TEST(CudaDriver, another_library_lacks_functions) {
  StatusOr<std::unique_ptr<Driver>> driver = Driver::create("libdl.so.2", {}, 0);
  ASSERT_FALSE(driver.ok());
  EXPECT_THAT(std::string(driver.status().message()), HasSubstr("has no cuInit"));
}

TEST(CudaDriver, no_device_and_old_devices_are_refused) {
  auto reset = FAKE(fake_cuda_reset);
  reset(0, 90, 1);
  EXPECT_THAT(std::string(Driver::create(ISTHMUS_FAKE_CUDA, {}, 0).status().message()),
              HasSubstr("finds no device"));
  reset(1, 75, 1);
  Status old = Driver::create(ISTHMUS_FAKE_CUDA, {}, 0).status();
  EXPECT_EQ(old.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(old.message()), HasSubstr("compute capability 7.5, expected 8.0"));
}

TEST(CudaDriver, devices_are_chosen_by_number_and_given_out_again) {
  FAKE(fake_cuda_reset)(3, 90, 1);
  EXPECT_EQ((*Driver::create(ISTHMUS_FAKE_CUDA, {}, 0))->numDevices(), 3);
  EXPECT_EQ((*Driver::create(ISTHMUS_FAKE_CUDA, {2, 0}, 0))->numDevices(), 2);
  auto shared = Driver::create(ISTHMUS_FAKE_CUDA, {2, 1}, 4);
  EXPECT_EQ((*shared)->numDevices(), 4);
  EXPECT_EQ((*shared)->numGpus(), 2);
  EXPECT_EQ(Driver::create(ISTHMUS_FAKE_CUDA, {3}, 0).status().code(), StatusCode::kNotFound);
}

TEST(CudaDriver, gpus_see_each_others_memory_where_they_can) {
  auto driver = makeDriver(4);
  for (const char* line :
       {"device 1 sees memory of 0\n", "device 0 sees memory of 1\n", "device 0 sees memory of 2\n",
        "device 1 sees memory of 2\n", "device 2 sees memory of 1\n"}) {
    EXPECT_THAT(log(), HasSubstr(line));
  }
  EXPECT_THAT(log(), testing::Not(HasSubstr("device 3")));
  EXPECT_THAT(log(), testing::Not(HasSubstr("memory of 3")));
}

TEST(CudaDriver, copies_happen_when_somebody_waits) {
  auto driver = makeDriver();
  void* data = *driver->allocate(0, Queue::kTransfer, 4);
  int sent = 7, received = 0;
  ASSERT_TRUE(driver->copy(0, Queue::kTransfer, data, &sent, 4).ok());
  StatusOr<DeviceEvent> written = driver->record(0, Queue::kTransfer);
  ASSERT_TRUE(written.ok());
  EXPECT_FALSE(*driver->isDone(0, *written));
  // The other stream waits for the copy by the event alone.
  ASSERT_TRUE(driver->wait(0, Queue::kCompute, *written).ok());
  ASSERT_TRUE(driver->copy(0, Queue::kCompute, &received, data, 4).ok());
  EXPECT_EQ(received, 0);
  ASSERT_TRUE(driver->synchronize(0, Queue::kCompute).ok());
  EXPECT_EQ(received, 7);
  EXPECT_TRUE(*driver->isDone(0, *written));
  driver->free(0, Queue::kTransfer, data);
}

TEST(CudaDriver, events_are_used_again) {
  auto driver = makeDriver();
  void* data = *driver->allocate(0, Queue::kTransfer, 4);
  int sent = 7;
  for (int i = 0; i < 100; ++i) {
    // Given back before it has happened: what waits for it still waits.
    ASSERT_TRUE(driver->copy(0, Queue::kTransfer, data, &sent, 4).ok());
    ASSERT_TRUE(driver->wait(0, Queue::kCompute, *driver->record(0, Queue::kTransfer)).ok());
    int received = 0;
    ASSERT_TRUE(driver->copy(0, Queue::kCompute, &received, data, 4).ok());
    StatusOr<DeviceEvent> other = driver->record(0, Queue::kDownload);
    ASSERT_TRUE(driver->await(0, *other).ok());
    ASSERT_TRUE(driver->synchronize(0, Queue::kCompute).ok());
    EXPECT_EQ(received, sent++);
  }
  EXPECT_LE(FAKE(fake_cuda_count)("cuEventCreate"), 2);
  driver->free(0, Queue::kTransfer, data);
}

TEST(CudaDriver, the_callers_context_stays_current) {
  auto driver = makeDriver(2);
  auto current = FAKE(cuCtxGetCurrent);
  CUcontext context = nullptr;
  auto of = [](int device) {
    return reinterpret_cast<CUcontext>(static_cast<uintptr_t>(device) + 1);
  };
  for (CUcontext before : {CUcontext{}, of(1), of(0)}) {
    FAKE(cuCtxSetCurrent)(before);
    void* data = *driver->allocate(0, Queue::kTransfer, 4);
    {
      StatusOr<DeviceEvent> event = driver->recordTimed(0, Queue::kTransfer);
    }
    driver->free(0, Queue::kTransfer, data);
    EXPECT_FALSE(driver->loadModule(0, "nonsense").ok());
    current(&context);
    EXPECT_EQ(context, before);
    StatusOr<ContextScope> scope = driver->enter(0);
    current(&context);
    EXPECT_EQ(context, of(0));
  }
}

TEST(CudaDriver, memory_runs_out_with_numbers_and_comes_back) {
  auto driver = makeDriver(1, 1000);
  void* data = *driver->allocate(0, Queue::kCompute, 800);
  StatusOr<void*> more = driver->allocate(0, Queue::kCompute, 300);
  EXPECT_EQ(more.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(more.status().message()), HasSubstr("800 of 1000 are in use"));
  driver->free(0, Queue::kCompute, data);
  // The free is still on its way; the next allocation waits for it.
  StatusOr<void*> again = driver->allocate(0, Queue::kCompute, 300);
  EXPECT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(driver->memoryUse(0).usedBytes, 300u);
  EXPECT_EQ(driver->memoryUse(0).peakBytes, 800u);
  driver->free(0, Queue::kCompute, *again);
}

// As a collective that waits for a launch of the thread that asks for memory.
TEST(CudaDriver, room_is_not_made_of_work_that_does_not_end) {
  auto driver = makeDriver(2, 1000);
  void* data = *driver->allocate(0, Queue::kCompute, 800);
  FAKE(fake_cuda_hold)(1);
  char host[4];
  ASSERT_TRUE(driver->copy(0, Queue::kTransfer, host, data, 4).ok());
  driver->free(0, Queue::kTransfer, data);
  EXPECT_EQ(driver->allocate(0, Queue::kAllocate, 300).status().code(),
            StatusCode::kResourceExhausted);
  FAKE(fake_cuda_hold)(0);
  // What does end is waited for.
  StatusOr<void*> later = driver->allocate(0, Queue::kAllocate, 300);
  EXPECT_TRUE(later.ok()) << later.status().message();
}

TEST(CudaDriver, devices_of_one_gpu_make_room_for_each_other) {
  FAKE(fake_cuda_reset)(2, 90, 1'000'000);
  auto driver = *Driver::create(ISTHMUS_FAKE_CUDA, {1}, 2);
  ASSERT_EQ(driver->numGpus(), 1);
  // Kept by the other one, or what it frees when it is asked to.
  driver->keep(1, *driver->allocate(1, Queue::kCompute, 200'000), 200'000);
  EXPECT_EQ(driver->memoryUse(0).usedBytes, 0u);
  StatusOr<void*> data = driver->allocate(0, Queue::kCompute, 900'000);
  ASSERT_TRUE(data.ok()) << data.status().message();
  driver->onExhausted(0, [&] { driver->free(0, Queue::kCompute, std::exchange(*data, nullptr)); });
  StatusOr<void*> again = driver->allocate(1, Queue::kCompute, 700'000);
  EXPECT_TRUE(again.ok()) << again.status().message();
}

TEST(CudaDriver, what_the_drivers_compiler_said_is_in_the_error) {
  auto driver = makeDriver();
  StatusOr<std::unique_ptr<DeviceModule>> module = driver->loadModule(0, "nonsense");
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(std::string(module.status().message()), HasSubstr("CUDA_ERROR_INVALID_PTX"));
  EXPECT_THAT(std::string(module.status().message()),
              HasSubstr("the driver says: ptxas fatal: Missing .version directive"));
}

struct Launched {
  std::unique_ptr<DeviceModule> module;
  CUfunction kernel;
  float* a;
  float* b;
};

Launched prepare(Driver& driver) {
  Launched l;
  FAKE(fake_cuda_kernel)("add", addKernel);
  l.module = std::move(*driver.loadModule(0, kPtx));
  l.kernel = *driver.findKernel(*l.module, 0, "add");
  l.a = static_cast<float*>(*driver.allocate(0, Queue::kCompute, 32));
  l.b = static_cast<float*>(*driver.allocate(0, Queue::kCompute, 32));
  for (int i = 0; i < 8; ++i) {
    l.a[i] = 1;
    l.b[i] = static_cast<float>(i);
  }
  return l;
}

TEST(CudaDriver, kernels_run_over_their_arguments) {
  auto driver = makeDriver();
  Launched l = prepare(*driver);
  EXPECT_FALSE(driver->findKernel(*l.module, 0, "subtract").ok());
  void* arguments[] = {l.a, l.b};
  ASSERT_TRUE(driver->launch(0, Queue::kCompute, l.kernel, 2, 4, arguments).ok());
  EXPECT_EQ(l.b[7], 7);
  ASSERT_TRUE(driver->synchronize(0, Queue::kCompute).ok());
  EXPECT_EQ(l.b[7], 8);
  EXPECT_THAT(log(), HasSubstr("launch add 2x4 on stream 0"));
  // Nothing to do is no launch.
  EXPECT_TRUE(driver->launch(0, Queue::kCompute, l.kernel, 0, 4, arguments).ok());
}

TEST(CudaDriver, a_fault_breaks_the_device_for_good) {
  auto driver = makeDriver(2);
  Launched l = prepare(*driver);
  FAKE(fake_cuda_fault)("add");
  void* arguments[] = {l.a, l.b};
  ASSERT_TRUE(driver->launch(0, Queue::kCompute, l.kernel, 2, 4, arguments).ok());
  void* kept = *driver->allocate(0, Queue::kCompute, 100);
  driver->keep(0, kept, 100);
  driver->setUnderWay(0, workText("program e"), [] { return true; });
  driver->setUnderWay(0, workText("program f"), [] { return false; });
  Status lost = driver->synchronize(0, Queue::kCompute);
  EXPECT_EQ(lost.code(), StatusCode::kUnavailable);
  EXPECT_THAT(std::string(lost.message()),
              HasSubstr("device 0 was lost by an earlier error: cuStreamSynchronize"));
  EXPECT_THAT(std::string(lost.message()), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_THAT(std::string(lost.message()), HasSubstr("under way: program f"));
  EXPECT_EQ(driver->synchronize(0, Queue::kTransfer).message(), lost.message());
  EXPECT_EQ(driver->copy(0, Queue::kTransfer, l.a, l.b, 4).message(), lost.message());
  EXPECT_EQ(driver->takeKept(0, 100), nullptr);
  EXPECT_EQ(driver->allocate(0, Queue::kCompute, 100).status().code(), StatusCode::kUnavailable);
}

TEST(CudaDriver, a_fault_names_the_work_that_was_marked) {
  setFlagForTest("ISTHMUS_CUDA_MARK_KERNELS", "1");
  for (bool isBehind : {false, true}) {
    auto driver = makeDriver(2);
    Launched l = prepare(*driver);
    const FakeKernelScope kernel("add", addKernel);
    void* arguments[] = {l.a, l.b};
    auto launch = [&] { return driver->launch(0, Queue::kCompute, l.kernel, 2, 4, arguments); };
    driver->setUnderWay(0, workText("program f"), [] { return false; });
    ASSERT_TRUE(driver->enqueueMarked(0, "kernel a", launch).ok());
    ASSERT_TRUE(driver->synchronize(0, Queue::kCompute).ok());
    ASSERT_TRUE(driver->enqueueMarked(0, "kernel b", launch).ok());
    if (isBehind) ASSERT_TRUE(driver->mark(0, "").ok());
    FAKE(fake_cuda_fault)("add");
    ASSERT_TRUE(launch().ok());
    ASSERT_TRUE(driver->enqueueMarked(0, "kernel c", launch).ok());
    const Status lost = driver->synchronize(0, Queue::kCompute);
    EXPECT_EQ(lost.code(), StatusCode::kUnavailable);
    // What was not marked is as much as without marks.
    EXPECT_THAT(std::string(lost.message()),
                testing::EndsWith(isBehind ? "; under way: program f" : "; it was at kernel b"));
  }
  setFlagForTest("ISTHMUS_CUDA_MARK_KERNELS", "0");
}

// Whichever call it is that the driver tells of it.
TEST(CudaDriver, the_first_call_after_a_fault_says_what_was_under_way) {
  const std::function<Status(Driver&, const DeviceEvent&)> calls[] = {
      [](Driver& driver, const DeviceEvent& event) { return driver.isDone(0, event).status(); },
      [](Driver& driver, const DeviceEvent& event) { return driver.await(0, event); },
      [](Driver& driver, const DeviceEvent&) {
        return driver.allocate(0, Queue::kAllocate, 4).status();
      },
      [](Driver& driver, const DeviceEvent&) {
        return driver.record(0, Queue::kDownload).status();
      },
  };
  for (const auto& call : calls) {
    auto driver = makeDriver();
    StatusOr<DeviceEvent> event = driver->record(0, Queue::kCompute);
    ASSERT_TRUE(event.ok());
    // Asked for by who is next under way, too.
    driver->setUnderWay(0, workText("program f"), [&] { return !driver->isDone(0, *event).ok(); });
    for (const char* name : {"cuEventQuery", "cuMemAllocAsync", "cuEventRecord"}) {
      FAKE(fake_cuda_fail)(name, CUDA_ERROR_LAUNCH_FAILED, 1);
    }
    Status status = call(*driver, *event);
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr("under way: program f"));
    driver->setUnderWay(0, workText("program g"), [] { return false; });
  }
  auto driver = makeDriver();
  StatusOr<DeviceEvent> event = driver->record(0, Queue::kCompute);
  driver->setUnderWay(0, workText("program f"), [&] { return !driver->isDone(0, *event).ok(); });
  FAKE(fake_cuda_fail)("cuEventQuery", CUDA_ERROR_LAUNCH_FAILED, 1);
  driver->setUnderWay(0, workText("program g"), [] { return false; });
  EXPECT_TRUE(driver->isLost(0));
}

TEST(GraphCache, programs_are_recorded_when_addresses_come_back) {
  auto driver = makeDriver();
  Launched l = prepare(*driver);
  GraphCache cache(*driver, 0);
  void* arguments[] = {l.a, l.b};
  int enqueued = 0;
  auto enqueue = [&](Queue queue) {
    ++enqueued;
    return driver->launch(0, queue, l.kernel, 2, 4, arguments);
  };
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(cache.run({l.a, l.b}, enqueue).ok());
  ASSERT_TRUE(driver->synchronize(0, Queue::kCompute).ok());
  EXPECT_EQ(l.b[0], 5);
  EXPECT_EQ(enqueued, 2);  // once as it is, once recorded
  EXPECT_EQ(cache.replays(), 4);
  ASSERT_TRUE(cache.run({l.b, l.a}, enqueue).ok());
  EXPECT_EQ(enqueued, 3);
  EXPECT_EQ(cache.replays(), 4);
}

TEST(GraphCache, what_cannot_be_recorded_is_enqueued_as_it_is) {
  auto driver = makeDriver();
  Launched l = prepare(*driver);
  GraphCache cache(*driver, 0);
  void* arguments[] = {l.a, l.b};
  int recordings = 0;
  auto enqueue = [&](Queue queue) -> Status {
    ISTHMUS_RETURN_IF_ERROR(driver->launch(0, queue, l.kernel, 2, 4, arguments));
    if (queue != Queue::kRecording) return {};
    ++recordings;
    return internalError("a library that allocates memory");
  };
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(cache.run({l.a, l.b}, enqueue).ok());
  ASSERT_TRUE(driver->synchronize(0, Queue::kCompute).ok());
  EXPECT_EQ(l.b[0], 5);
  EXPECT_EQ(recordings, 1);
  EXPECT_EQ(cache.replays(), 0);
}

TEST(LaunchChoice, takes_the_way_that_is_over_earlier) {
  auto driver = makeDriver();
  Launched l = prepare(*driver);
  void* arguments[] = {l.a, l.b};
  auto launch = [&](int times) -> Status {
    for (int i = 0; i < times; ++i) {
      ISTHMUS_RETURN_IF_ERROR(driver->launch(0, Queue::kCompute, l.kernel, 2, 4, arguments));
    }
    return {};
  };
  // Each launch takes the fake's device as long as the next.
  auto choose = [&](int steps, int inGraph, int untilMade) -> std::pair<std::optional<bool>, bool> {
    LaunchChoice choice(*driver, 0);
    bool ranGraph = false;
    for (int i = 0; i < 20; ++i) {
      ranGraph = false;
      Status status = choice.run([&] { return launch(steps); },
                                 [&]() -> StatusOr<bool> {
                                   ranGraph = true;
                                   const bool isMade = untilMade-- <= 0;
                                   ISTHMUS_RETURN_IF_ERROR(launch(isMade ? inGraph : steps));
                                   return isMade;
                                 });
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_TRUE(driver->synchronize(0, Queue::kCompute).ok());
    }
    return {choice.takesGraph(), ranGraph};
  };
  EXPECT_EQ(choose(9, 2, 0), std::pair(std::optional(true), true));
  EXPECT_EQ(choose(2, 9, 0), std::pair(std::optional(false), false));
  // While there is no graph, nothing is known of it.
  EXPECT_EQ(choose(9, 2, 5), std::pair(std::optional(true), true));
  EXPECT_EQ(choose(9, 2, 99), std::pair(std::optional<bool>(), true));
}

TEST(LaunchChoice, errors_are_those_of_the_run) {
  auto driver = makeDriver();
  LaunchChoice choice(*driver, 0);
  auto fails = [] { return internalError("no such kernel"); };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(choice.run(fails, [&]() -> StatusOr<bool> { return fails(); }).code(),
              StatusCode::kInternal);
  }
}

TEST(ProgramGraph, follows_the_addresses_of_each_run) {
  auto driver = makeDriver();
  Launched l = prepare(*driver);
  ProgramGraph graph(*driver, 0);
  // A sum into b, which is copied to one of several places, unless that is b itself.
  float* places[] = {static_cast<float*>(*driver->allocate(0, Queue::kCompute, 32)),
                     static_cast<float*>(*driver->allocate(0, Queue::kCompute, 32)), l.b};
  auto run = [&](float* to) {
    return graph.run([&](ProgramGraph::Target& target) -> Status {
      void* arguments[] = {l.a, l.b};
      ISTHMUS_RETURN_IF_ERROR(target.launch(l.kernel, 0, 4, arguments));
      ISTHMUS_RETURN_IF_ERROR(target.launch(l.kernel, 2, 4, arguments));
      return target.copy(to, l.b, 32);
    });
  };
  float expected = 0;
  for (int which : {0, 0, 1, 0, 0, 2, 2, 1}) {
    ASSERT_TRUE(run(places[which]).ok());
    ASSERT_TRUE(driver->synchronize(0, Queue::kCompute).ok());
    EXPECT_EQ(places[which][0], ++expected);
  }
  EXPECT_EQ(graph.replays(), 7);
  // Two copies to elsewhere; without one, and with one again, the graph was made anew.
  EXPECT_EQ(graph.updates(), 2);
  EXPECT_THAT(log(), testing::Not(HasSubstr("capture")));
}

TEST(ProgramGraph, an_error_gives_it_up) {
  auto driver = makeDriver();
  Launched l = prepare(*driver);
  ProgramGraph graph(*driver, 0);
  auto run = [&](void* b) {
    return graph.run([&](ProgramGraph::Target& target) {
      void* arguments[] = {l.a, b};
      return target.launch(l.kernel, 2, 4, arguments);
    });
  };
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(run(l.b).ok());
  int nowhere = 0;
  EXPECT_FALSE(run(&nowhere).ok());
  ASSERT_TRUE(run(l.b).ok());
  ASSERT_TRUE(driver->synchronize(0, Queue::kCompute).ok());
  EXPECT_EQ(l.b[0], 4);
}

// The driver has no memory for a graph, when it is made or when it is launched: once, or for good.
TEST(ProgramGraph, is_done_without_where_there_is_no_memory_for_it) {
  for (const char* function : {"cuGraphInstantiateWithFlags", "cuGraphLaunch"}) {
    for (bool isForGood : {false, true}) {
      auto driver = makeDriver();
      Launched l = prepare(*driver);
      ProgramGraph graph(*driver, 0);
      FAKE(fake_cuda_fail)(function, CUDA_ERROR_OUT_OF_MEMORY, isForGood ? 1000 : 1);
      for (int i = 0; i < 5; ++i) {
        Status status = graph.run([&](ProgramGraph::Target& target) {
          void* arguments[] = {l.a, l.b};
          return target.launch(l.kernel, 2, 4, arguments);
        });
        ASSERT_TRUE(status.ok()) << status.message();
      }
      ASSERT_TRUE(driver->synchronize(0, Queue::kCompute).ok());
      EXPECT_EQ(l.b[0], 5);
      EXPECT_EQ(graph.replays(), isForGood ? 0 : 4);
      // Room was made, once.
      EXPECT_EQ(FAKE(fake_cuda_count)("cuMemPoolTrimTo"), 1);
    }
  }
}

TEST(GraphCache, is_done_without_where_there_is_no_memory_for_a_launch) {
  auto driver = makeDriver();
  Launched l = prepare(*driver);
  GraphCache cache(*driver, 0);
  void* arguments[] = {l.a, l.b};
  FAKE(fake_cuda_fail)("cuGraphLaunch", CUDA_ERROR_OUT_OF_MEMORY, 1000);
  for (int i = 0; i < 5; ++i) {
    Status status = cache.run({l.a, l.b}, [&](Queue queue) {
      return driver->launch(0, queue, l.kernel, 2, 4, arguments);
    });
    ASSERT_TRUE(status.ok()) << status.message();
  }
  ASSERT_TRUE(driver->synchronize(0, Queue::kCompute).ok());
  EXPECT_EQ(l.b[0], 5);
  EXPECT_EQ(cache.replays(), 0);
}

TEST(CudaDriver, room_is_made_for_a_launch) {
  auto driver = makeDriver();
  Launched l = prepare(*driver);
  void* arguments[] = {l.a, l.b};
  FAKE(fake_cuda_fail)("cuLaunchKernel", CUDA_ERROR_OUT_OF_MEMORY, 1);
  Status status = driver->launch(0, Queue::kCompute, l.kernel, 2, 4, arguments);
  EXPECT_TRUE(status.ok()) << status.message();
  FAKE(fake_cuda_fail)("cuLaunchKernel", CUDA_ERROR_OUT_OF_MEMORY, 2);
  status = driver->launch(0, Queue::kCompute, l.kernel, 2, 4, arguments);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
}

TEST(GraphCache, an_error_while_recording_leaves_the_stream_usable) {
  auto driver = makeDriver();
  Launched l = prepare(*driver);
  GraphCache cache(*driver, 0);
  auto fails = [](Queue) { return internalError("no"); };
  EXPECT_FALSE(cache.run({l.a}, fails).ok());
  EXPECT_FALSE(cache.run({l.a}, fails).ok());
  EXPECT_TRUE(driver->synchronize(0, Queue::kCompute).ok());
  EXPECT_TRUE(driver->synchronize(0, Queue::kRecording).ok());
}

TEST(GraphCache, what_others_enqueue_meanwhile_is_not_recorded) {
  auto driver = makeDriver();
  Launched l = prepare(*driver);
  GraphCache cache(*driver, 0);
  void* arguments[] = {l.a, l.b};
  auto enqueue = [&](Queue queue) {
    // Another program's launch.
    ISTHMUS_RETURN_IF_ERROR(driver->launch(0, Queue::kCompute, l.kernel, 2, 4, arguments));
    return driver->launch(0, queue, l.kernel, 2, 4, arguments);
  };
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(cache.run({l.a}, enqueue).ok());
  ASSERT_TRUE(driver->synchronize(0, Queue::kCompute).ok());
  // Two runs enqueued both; the two replays have one each, and so has the recorded one.
  EXPECT_EQ(l.b[0], 2 + 4);
}

TEST(ProgramGraph, copies_of_more_than_a_pitch_are_nodes) {
  auto driver = makeDriver();
  Launched l = prepare(*driver);
  constexpr size_t kBytes = size_t{3} << 30;  // never copied here
  StatusOr<GraphTemplate> graph = driver->createGraph(0);
  ASSERT_TRUE(graph.ok());
  StatusOr<CUgraphNode> node = driver->addCopy(*graph, nullptr, l.b, l.a, kBytes);
  ASSERT_TRUE(node.ok()) << node.status().message();
  StatusOr<std::unique_ptr<DeviceGraph>> made = driver->instantiate(*std::move(graph));
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(driver->updateCopy(**made, *node, l.a, l.b, kBytes).ok());
}

BlasProduct numberByNumber() {
  BlasProduct product;
  product.lhs.stride = product.rhs.stride = 1;
  return product;
}

// Ways to compute nothing, by so many copies each: with none, one fails.
StatusOr<size_t> fastestOfCopies(Driver& driver, const std::vector<int>& copies) {
  constexpr size_t kBytes = 4 << 20;
  return fastestOf(
      driver, 0,
      {copies.size(),
       {kBytes, kBytes, 1},
       [&](size_t candidate, std::span<void* const> buffers) -> Status {
         if (copies[candidate] == 0) return internalError("it has failed");
         for (int i = 0; i < copies[candidate]; ++i) {
           ISTHMUS_RETURN_IF_ERROR(driver.copy(0, Queue::kCompute, buffers[1], buffers[0], kBytes));
         }
         return {};
       }});
}

TEST(Autotune, finds_the_fastest) {
  auto driver = makeDriver(1, uint64_t{64} << 20);
  EXPECT_EQ(*fastestOfCopies(*driver, {40, 1, 40}), 1u);
  EXPECT_EQ(*fastestOfCopies(*driver, {0, 40, 0, 2}), 3u);
  EXPECT_EQ(*fastestOfCopies(*driver, {5}), 0u);
  EXPECT_EQ(fastestOfCopies(*driver, {0, 0}).status().message(), "it has failed");
  // What was tried in is free again.
  ASSERT_TRUE(driver->synchronize(0, Queue::kCompute).ok());
  EXPECT_EQ(driver->memoryUse(0).usedBytes, 0u);
}

TEST(Autotune, takes_the_first_where_there_is_no_memory) {
  auto driver = makeDriver(1, uint64_t{6} << 20);
  bool isAsked = false;
  driver->onExhausted(0, [&] { isAsked = true; });
  EXPECT_EQ(*fastestOfCopies(*driver, {40, 1}), 0u);
  // Nobody gives anything up for it.
  EXPECT_FALSE(isAsked);
}

TEST(Blas, times_algorithms_of_large_products) {
  auto driver = makeDriver(1, uint64_t{256} << 20);
  StatusOr<std::unique_ptr<Blas>> blas = Blas::load(ISTHMUS_FAKE_CUDA, *driver);
  ASSERT_TRUE(blas.ok()) << blas.status().message();
  BlasProduct product;
  product.rows = 2;
  product.columns = 1024;
  product.contracting = 1024;
  product.lhs.stride = product.rhs.stride = 1024;
  auto plan = (*blas)->tunedPlan(0, product);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(*(*blas)->tunedPlan(0, product), *plan);
  auto logOf = [&](const BlasPlan& one) {
    void* memory = *driver->allocate(0, Queue::kCompute, size_t{5} << 20);
    EXPECT_TRUE(driver->clear(0, Queue::kCompute, memory, size_t{5} << 20).ok());
    void* scratch = *driver->allocate(0, Queue::kCompute, kBlasScratchBytes);
    auto* numbers = static_cast<float*>(memory);
    const size_t before = std::string(FAKE(fake_cuda_log)()).size();
    EXPECT_TRUE((*blas)
                    ->multiply(0, Queue::kCompute, one, numbers, numbers + 2048, nullptr,
                               numbers + 2048 + (1 << 20), scratch)
                    .ok());
    EXPECT_TRUE(driver->synchronize(0, Queue::kCompute).ok());
    driver->free(0, Queue::kCompute, memory);
    driver->free(0, Queue::kCompute, scratch);
    return std::string(FAKE(fake_cuda_log)()).substr(before);
  };
  EXPECT_NE(logOf(**plan).find("matmul by algorithm 1"), std::string::npos);
  // The heuristics' first without, and of what is too small to be timed.
  setFlagForTest("ISTHMUS_CUDA_AUTOTUNE", "1");
  auto first = (*blas)->tunedPlan(0, product);
  setFlagForTest("ISTHMUS_CUDA_AUTOTUNE", "12");
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(logOf(**first).find("algorithm"), std::string::npos);
  product.contracting = 8;
  EXPECT_EQ(*(*blas)->tunedPlan(0, product), *(*blas)->plan(0, product));
}

TEST(Blas, is_asked_once_for_each_product_and_device) {
  auto driver = makeDriver(2);
  StatusOr<std::unique_ptr<Blas>> blas = Blas::load(ISTHMUS_FAKE_CUDA, *driver);
  ASSERT_TRUE(blas.ok()) << blas.status().message();
  const int before = FAKE(fake_blas_questions)();
  auto questions = [&] { return FAKE(fake_blas_questions)() - before; };
  BlasProduct product = numberByNumber();
  auto plan = (*blas)->plan(0, product);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(*(*blas)->plan(0, product), *plan);
  EXPECT_EQ(questions(), 1);
  EXPECT_NE(*(*blas)->plan(1, product), *plan);
  EXPECT_EQ(questions(), 2);
  product.isTf32 = true;
  EXPECT_NE(*(*blas)->plan(0, product), *plan);
  EXPECT_EQ(questions(), 3);
  // One that it does not compute.
  product.operands = BlasType::kF64;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ((*blas)->plan(0, product).status().code(), StatusCode::kUnimplemented);
  }
  EXPECT_EQ(questions(), 4);
}

TEST(Blas, says_once_that_it_cannot_be_used) {
  auto driver = makeDriver();
  StatusOr<std::unique_ptr<Blas>> blas = Blas::load(ISTHMUS_FAKE_CUDA, *driver);
  ASSERT_TRUE(blas.ok()) << blas.status().message();
  FAKE(fake_blas_refuse)(1);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ((*blas)->plan(0, numberByNumber()).status().code(), StatusCode::kInternal);
  }
  FAKE(fake_blas_refuse)(0);
  std::string said = testing::internal::GetCapturedStderr();
  size_t at = said.find("cublasLtCreate failed with status 1; own kernels multiply");
  ASSERT_NE(at, said.npos) << said;
  EXPECT_EQ(said.find("cublasLtCreate", at + 1), said.npos) << said;
}

// Once room is made for it; it is asked again where that does not help.
TEST(Blas, may_find_no_memory_for_a_while) {
  constexpr int kAllocFailed = 3, kInternalError = 14;
  auto driver = makeDriver();
  StatusOr<std::unique_ptr<Blas>> blas = Blas::load(ISTHMUS_FAKE_CUDA, *driver);
  ASSERT_TRUE(blas.ok()) << blas.status().message();
  auto code = [&] { return (*blas)->plan(0, numberByNumber()).status().code(); };
  FAKE(fake_blas_fail)(kInternalError, 2, 0);
  EXPECT_EQ(code(), StatusCode::kInternal);
  FAKE(fake_blas_fail)(kAllocFailed, 2, 0);
  EXPECT_EQ(code(), StatusCode::kResourceExhausted);
  FAKE(fake_blas_fail)(kAllocFailed, 0, 2);
  EXPECT_EQ(code(), StatusCode::kResourceExhausted);
  FAKE(fake_blas_fail)(kInternalError, 0, 1);
  EXPECT_EQ(code(), StatusCode::kInternal);
  const int before = FAKE(fake_cuda_count)("cuMemPoolTrimTo");
  FAKE(fake_blas_fail)(kAllocFailed, 0, 1);
  EXPECT_EQ(code(), StatusCode::kOk);
  EXPECT_EQ(FAKE(fake_cuda_count)("cuMemPoolTrimTo"), before + 1);
}

TEST(Dnn, may_find_no_memory_for_a_while) {
  constexpr int kInternalError = 4000, kVersionMismatch = 1002;
  auto driver = makeDriver();
  StatusOr<std::unique_ptr<Dnn>> dnn = Dnn::load(ISTHMUS_FAKE_CUDA, *driver);
  ASSERT_TRUE(dnn.ok()) << dnn.status().message();
  // Of no sizes: what is asked for comes to a handle first.
  auto message = [&] {
    return std::string((*dnn)->plan(0, DnnConvolution(), 1 << 20).status().message());
  };
  FAKE(fake_dnn_fail)(kInternalError, 2);
  EXPECT_THAT(message(), HasSubstr("cudnnCreate failed"));
  FAKE(fake_dnn_fail)(kInternalError, 1);
  EXPECT_THAT(message(), testing::Not(HasSubstr("cudnnCreate")));
  StatusOr<std::unique_ptr<Dnn>> other = Dnn::load(ISTHMUS_FAKE_CUDA, *driver);
  ASSERT_TRUE(other.ok()) << other.status().message();
  dnn = std::move(other);
  FAKE(fake_dnn_fail)(kVersionMismatch, 2);
  for (int i = 0; i < 2; ++i) EXPECT_THAT(message(), HasSubstr("cudnnCreate failed"));
}

// One plan, from two threads with a bias each.
TEST(Blas, adds_the_bias_of_each_call) {
  auto driver = makeDriver(1, uint64_t{256} << 20);
  StatusOr<std::unique_ptr<Blas>> blas = Blas::load(ISTHMUS_FAKE_CUDA, *driver);
  ASSERT_TRUE(blas.ok()) << blas.status().message();
  BlasProduct product = numberByNumber();
  product.epilogue = BlasEpilogue::kReluBias;
  auto plan = (*blas)->plan(0, product);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto multiply = [&](Queue queue, float bias) {
    auto* numbers = static_cast<float*>(*driver->allocate(0, queue, 256 * 4));
    void* scratch = *driver->allocate(0, queue, kBlasScratchBytes);
    numbers[0] = 3;
    numbers[64] = 4;
    numbers[128] = bias;
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE((*blas)
                      ->multiply(0, queue, **plan, numbers, numbers + 64, numbers + 128,
                                 numbers + 192, scratch)
                      .ok());
      EXPECT_TRUE(driver->synchronize(0, queue).ok());
      EXPECT_EQ(numbers[192], std::max(12 + bias, 0.0f));
    }
  };
  std::thread other([&] { multiply(Queue::kTransfer, -20); });
  multiply(Queue::kCompute, 5);
  other.join();
}

TEST(Blas, computes_epilogues_of_bf16) {
  auto driver = makeDriver(1, uint64_t{64} << 20);
  StatusOr<std::unique_ptr<Blas>> blas = Blas::load(ISTHMUS_FAKE_CUDA, *driver);
  ASSERT_TRUE(blas.ok()) << blas.status().message();
  BlasProduct product = numberByNumber();
  product.operands = product.result = BlasType::kBf16;
  product.epilogue = BlasEpilogue::kGeluBias;
  auto plan = (*blas)->plan(0, product);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto* numbers = static_cast<uint16_t*>(*driver->allocate(0, Queue::kCompute, 256 * 2));
  void* scratch = *driver->allocate(0, Queue::kCompute, kBlasScratchBytes);
  numbers[0] = 0x4040;    // 3
  numbers[64] = 0x3e80;   // 1/4
  numbers[128] = 0x3f00;  // 1/2
  ASSERT_TRUE((*blas)
                  ->multiply(0, Queue::kCompute, **plan, numbers, numbers + 64, numbers + 128,
                             numbers + 192, scratch)
                  .ok());
  ASSERT_TRUE(driver->synchronize(0, Queue::kCompute).ok());
  EXPECT_EQ(numbers[192], 0x3f8f);  // GELU(1.25) is 1.1179
}

TEST(GraphCache, products_of_a_library_are_recorded) {
  auto driver = makeDriver(1, uint64_t{64} << 20);
  StatusOr<std::unique_ptr<Blas>> blas = Blas::load(ISTHMUS_FAKE_CUDA, *driver);
  ASSERT_TRUE(blas.ok()) << blas.status().message();
  StatusOr<std::shared_ptr<const BlasPlan>> plan = (*blas)->plan(0, numberByNumber());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  auto* numbers = static_cast<float*>(*driver->allocate(0, Queue::kCompute, 3 * 256));
  char* memory = static_cast<char*>(*driver->allocate(0, Queue::kCompute, kBlasScratchBytes + 64));
  void* scratch = memory + 64;  // as places of an arena are aligned
  float *a = numbers, *b = numbers + 64, *result = numbers + 128;
  *b = 10;
  GraphCache cache(*driver, 0);
  for (int i = 1; i < 5; ++i) {
    *a = static_cast<float>(i);
    ASSERT_TRUE(cache
                    .run({a},
                         [&](Queue queue) {
                           return (*blas)->multiply(0, queue, **plan, a, b, nullptr, result,
                                                    scratch);
                         })
                    .ok());
    ASSERT_TRUE(driver->synchronize(0, Queue::kCompute).ok());
    EXPECT_EQ(*result, static_cast<float>(10 * i));
  }
  EXPECT_EQ(cache.replays(), 3);
}

}  // namespace
}  // namespace isthmus::cuda

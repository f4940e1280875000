// Collectives between processes over real connections: each process is a Job of this one, and each
// device a thread. Expected values by sums of small integers, which every order computes exactly.
#include "runtime/collectives/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "isthmus/flags.h"
#include "runtime/bootstrap/memory_key_value_store.h"
#include "runtime/bootstrap/topology_exchange.h"
#include "runtime/collectives/in_process.h"
#include "runtime/collectives/transport.h"

namespace isthmus {
namespace {

using ::testing::HasSubstr;

// Device `d` of process `p`.
int64_t id(int process, int device) { return process * kMaxDevicesPerProcess + device; }

// Processes with two devices each, connected.
class WireTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setFlagForTest("ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS", "60");
    auto store = std::make_shared<testing::MemoryKeyValueStore>();
    std::vector<std::thread> threads;
    for (int process = 0; process < kProcesses; ++process) {
      threads.emplace_back([this, process, store] {
        JobOptions options{process, kProcesses, store, "127.0.0.1:1"};
        Topology topology;
        topology.devices.resize(kDevices);
        for (int d = 0; d < kDevices; ++d) topology.devices[d].localHardwareId = d;
        StatusOr<std::unique_ptr<Job>> job = Job::join(options, topology, "test/");
        ASSERT_TRUE(job.ok()) << job.status().message();
        jobs_[process] = std::move(*job);
        collectives_[process] = std::make_unique<InProcessCollectives>(jobs_[process].get());
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_FALSE(HasFatalFailure());
  }
  void TearDown() override { setFlagForTest("ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS", "600"); }

  // Runs `body(collectives, call, rank)` for each of the group, on a thread of its own.
  std::vector<Status> onAll(
      const std::vector<int64_t>& group,
      const std::function<Status(Collectives&, const CollectiveCall&, int)>& body) {
    std::vector<Status> statuses(group.size());
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < group.size(); ++rank) {
      threads.emplace_back([&, rank] {
        CollectiveCall call{10, 1, static_cast<int>(group[rank]), group, "op at file.py:12"};
        Collectives& collectives = *collectives_[processOfDevice(group[rank])];
        statuses[rank] = body(collectives, call, static_cast<int>(rank));
      });
    }
    for (std::thread& thread : threads) thread.join();
    return statuses;
  }
  void expectAllOk(const std::vector<int64_t>& group,
                   const std::function<Status(Collectives&, const CollectiveCall&, int)>& body) {
    for (const Status& status : onAll(group, body)) EXPECT_TRUE(status.ok()) << status.message();
  }

  static constexpr int kProcesses = 3;
  static constexpr int kDevices = 2;
  std::unique_ptr<Job> jobs_[kProcesses];
  std::unique_ptr<InProcessCollectives> collectives_[kProcesses];
  // All devices out of order, a process with one device only, and one process twice as large.
  const std::vector<std::vector<int64_t>> groups_ = {
      {id(1, 1), id(0, 0), id(2, 0), id(1, 0), id(0, 1), id(2, 1)},
      {id(2, 1), id(0, 0), id(0, 1)},
      {id(1, 0), id(2, 0)}};
};

TEST_F(WireTest, AllReduce) {
  for (const std::vector<int64_t>& group : groups_) {
    for (int64_t count : {1, 5, 1000, 200'003}) {
      for (bool isInPlace : {false, true}) {
        expectAllOk(group,
                    [&](Collectives& collectives, const CollectiveCall& call, int rank) -> Status {
                      std::vector<float> in(count), out(count);
                      for (int64_t i = 0; i < count; ++i)
                        in[i] = static_cast<float>(rank * 10 + i % 7);
                      float* result = isInPlace ? in.data() : out.data();
                      ISTHMUS_RETURN_IF_ERROR(collectives.allReduce(
                          call, ReductionKind::kSum, ElementType::kF32, count, in.data(), result));
                      auto n = static_cast<int64_t>(group.size());
                      for (int64_t i = 0; i < count; ++i) {
                        auto expected = static_cast<float>(10 * n * (n - 1) / 2 + n * (i % 7));
                        if (result[i] != expected) return internalError("at ", i, ": ", result[i]);
                      }
                      return {};
                    });
      }
    }
  }
}

TEST_F(WireTest, AllRanksGetTheSameBits) {
  const std::vector<int64_t>& group = groups_[0];
  for (int64_t count : {100, 100'000}) {
    std::vector<std::vector<float>> results(group.size(), std::vector<float>(count));
    expectAllOk(group, [&](Collectives& collectives, const CollectiveCall& call, int rank) {
      std::vector<float> in(count);
      for (int64_t i = 0; i < count; ++i) in[i] = 1.0f / static_cast<float>(1 + rank * count + i);
      return collectives.allReduce(call, ReductionKind::kSum, ElementType::kF32, count, in.data(),
                                   results[rank].data());
    });
    for (const std::vector<float>& result : results) EXPECT_EQ(result, results[0]);
  }
}

TEST_F(WireTest, ReduceScatter) {
  for (const std::vector<int64_t>& group : groups_) {
    auto n = static_cast<int64_t>(group.size());
    for (int64_t count : {1, 3, 50'001}) {
      expectAllOk(
          group, [&](Collectives& collectives, const CollectiveCall& call, int rank) -> Status {
            std::vector<int32_t> in(count * n), out(count);
            for (int64_t i = 0; i < count * n; ++i) in[i] = static_cast<int32_t>(rank * 1000 + i);
            ISTHMUS_RETURN_IF_ERROR(collectives.reduceScatter(
                call, ReductionKind::kSum, ElementType::kS32, count, in.data(), out.data()));
            for (int64_t i = 0; i < count; ++i) {
              if (out[i] != 1000 * n * (n - 1) / 2 + n * (rank * count + i)) {
                return internalError("at ", i, ": ", out[i]);
              }
            }
            return {};
          });
    }
  }
}

TEST_F(WireTest, AllGatherAndAllToAll) {
  for (const std::vector<int64_t>& group : groups_) {
    auto n = static_cast<int>(group.size());
    for (int count : {0, 1, 30'000}) {
      expectAllOk(
          group, [&](Collectives& collectives, const CollectiveCall& call, int rank) -> Status {
            std::vector<int32_t> in(count, rank + 1), out(count * n);
            ISTHMUS_RETURN_IF_ERROR(collectives.allGather(call, count * 4, in.data(), out.data()));
            for (int i = 0; i < count * n; ++i) {
              if (out[i] != i / count + 1) return internalError("gathered ", out[i], " at ", i);
            }
            // In place.
            for (int i = 0; i < count * n; ++i) out[i] = 100 * rank + i / count;
            ISTHMUS_RETURN_IF_ERROR(collectives.allToAll(call, count * 4, out.data(), out.data()));
            for (int i = 0; i < count * n; ++i) {
              if (out[i] != 100 * (i / count) + rank)
                return internalError("got ", out[i], " at ", i);
            }
            return {};
          });
    }
  }
}

TEST_F(WireTest, PermuteAndBroadcast) {
  const std::vector<int64_t>& group = groups_[0];
  expectAllOk(group, [&](Collectives& collectives, const CollectiveCall& call, int rank) -> Status {
    const int64_t shift[] = {-1, 0, 1, 2, 3, 4}, fromThird[] = {3, 3, 3, 3, 3, 3};
    int32_t in = rank + 100, out = -1;
    ISTHMUS_RETURN_IF_ERROR(collectives.permute(call, shift, 4, &in, &out));
    if (out != (rank == 0 ? 0 : rank + 99)) return internalError("got ", out);
    ISTHMUS_RETURN_IF_ERROR(collectives.permute(call, fromThird, 4, &in, &in));
    if (in != 103) return internalError("broadcast gave ", in);
    return {};
  });
}

TEST_F(WireTest, FailureOfOneProcessReachesAll) {
  const std::vector<int64_t> group = {id(0, 0), id(1, 0), id(2, 0)};
  std::vector<Status> statuses = onAll(group, [&](Collectives& collectives,
                                                  const CollectiveCall& call, int rank) {
    if (rank == 1) return jobs_[1]->fail(internalError("out of luck"));
    float value = 1;
    return collectives.allReduce(call, ReductionKind::kSum, ElementType::kF32, 1, &value, &value);
  });
  for (const Status& status : statuses) {
    EXPECT_THAT(std::string(status.message()), HasSubstr("out of luck"));
  }
  EXPECT_THAT(std::string(statuses[0].message()), HasSubstr("all-reduce (op at file.py:12)"));
  EXPECT_THAT(std::string(statuses[0].message()), HasSubstr("process 1 said"));
}

TEST_F(WireTest, SilentProcessIsNamed) {
  setFlagForTest("ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS", "2");
  const std::vector<int64_t> group = {id(0, 0), id(1, 0), id(2, 0)};
  std::vector<Status> statuses =
      onAll(group, [&](Collectives& collectives, const CollectiveCall& call, int rank) -> Status {
        if (rank == 2) return {};
        float value = 1;
        return collectives.allReduce(call, ReductionKind::kSum, ElementType::kF32, 1, &value,
                                     &value);
      });
  EXPECT_FALSE(statuses[0].ok());
  EXPECT_FALSE(statuses[1].ok());
  std::string both = std::string(statuses[0].message()) + std::string(statuses[1].message());
  EXPECT_THAT(both, HasSubstr("all-reduce (op at file.py:12): process 2 has not answered for 2 s"));
}

TEST_F(WireTest, OtherProgramsAreFound) {
  Status statuses[2];
  std::vector<std::thread> threads;
  for (int process = 0; process < 2; ++process) {
    threads.emplace_back([&, process] {
      std::string name = process == 0 ? "step" : "evaluate";
      statuses[process] = jobs_[process]->introduce({{0, 1}, 0, name, name + "-digest"});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(
      std::string(statuses[0].message()),
      HasSubstr("process 0 launches program step where process 1 launches program evaluate"));
  EXPECT_FALSE(statuses[1].ok());
}

// A write to a connection that the other side has closed raises SIGPIPE, whose default ends the
// process. (Whether a write comes before the news is a matter of luck: hence the rounds.)
TEST(TransportTest, ClosedConnectionIsAnError) {
  for (int round = 0; round < 50; ++round) {
    testing::MemoryKeyValueStore store;
    std::unique_ptr<Transport> transports[2];
    std::vector<std::thread> threads;
    for (int process = 0; process < 2; ++process) {
      threads.emplace_back([&, process] {
        StatusOr<std::unique_ptr<Transport>> opened = openTransport(
            store, {process, 2, "test/", "127.0.0.1:1", std::chrono::milliseconds(60'000)});
        ASSERT_TRUE(opened.ok()) << opened.status().message();
        transports[process] = std::move(*opened);
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_FALSE(HasFatalFailure());
    transports[1]->close();
    std::vector<OutgoingMessage> messages(64, OutgoingMessage{1, 7, "x", 1});
    char answer = 0;
    const IncomingMessage incoming[] = {{1, 8, &answer, 1}};
    int lost = -1;
    Status status =
        transports[0]->exchange(messages, incoming, std::chrono::milliseconds(60'000), lost);
    EXPECT_THAT(std::string(status.message()), HasSubstr("process 1 is gone"));
    EXPECT_EQ(lost, 1);
  }
}

}  // namespace
}  // namespace isthmus

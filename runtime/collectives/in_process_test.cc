// Collectives with a thread for each device.
#include "runtime/collectives/in_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "isthmus/flags.h"

namespace isthmus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<int64_t> kGroup = {3, 0, 2, 1};  // not in the order of ids

CollectiveCall callOf(int device, std::span<const int64_t> group = kGroup, int64_t channel = 1) {
  return {10, channel, device, group, "op at file.py:12"};
}

// Runs `body(device)` on a thread for each of the devices.
std::vector<Status> onAll(std::vector<int> devices, const std::function<Status(int)>& body) {
  std::vector<Status> statuses(devices.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < devices.size(); ++i) {
    threads.emplace_back([&, i] { statuses[i] = body(devices[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  return statuses;
}

void expectAllOk(const std::vector<Status>& statuses) {
  for (const Status& status : statuses) EXPECT_TRUE(status.ok()) << status.message();
}

class CollectivesTest : public ::testing::Test {
 protected:
  InProcessCollectives collectives;
};

TEST_F(CollectivesTest, AllReduceInPlaceAndNot) {
  for (bool isInPlace : {false, true}) {
    for (int64_t count : {1, 3, 4, 100000}) {
      expectAllOk(onAll({0, 1, 2, 3}, [&](int device) -> Status {
        std::vector<float> in(count), out(count);
        for (int64_t i = 0; i < count; ++i) in[i] = static_cast<float>(device * 10 + i % 7);
        float* result = isInPlace ? in.data() : out.data();
        ISTHMUS_RETURN_IF_ERROR(collectives.allReduce(callOf(device), ReductionKind::kSum,
                                                      ElementType::kF32, count, in.data(), result));
        for (int64_t i = 0; i < count; ++i) {
          if (result[i] != static_cast<float>(60 + 4 * (i % 7))) return internalError("wrong ", i);
        }
        return {};
      }));
    }
  }
}

TEST_F(CollectivesTest, ReduceScatterGivesBlocksByRank) {
  expectAllOk(onAll({0, 1, 2, 3}, [&](int device) -> Status {
    std::vector<int32_t> data = {0, 1, 2, 3, 4, 5, 6, 7};
    for (int32_t& value : data) value += 100 * device;
    // In place: the result overwrites the block that rank 0 needs from everybody.
    ISTHMUS_RETURN_IF_ERROR(collectives.reduceScatter(
        callOf(device), ReductionKind::kSum, ElementType::kS32, 2, data.data(), data.data()));
    const int rankOf[] = {1, 3, 2, 0};
    int first = 600 + 4 * (2 * rankOf[device]);
    if (data[0] != first || data[1] != first + 4) return internalError("got ", data[0]);
    return {};
  }));
}

TEST_F(CollectivesTest, AllGatherIsInGroupOrder) {
  expectAllOk(onAll({0, 1, 2, 3}, [&](int device) -> Status {
    std::vector<int32_t> out(4);
    out[0] = device;
    ISTHMUS_RETURN_IF_ERROR(collectives.allGather(callOf(device), 4, out.data(), out.data()));
    if (out != std::vector<int32_t>{3, 0, 2, 1}) return internalError("wrong order");
    return {};
  }));
}

TEST_F(CollectivesTest, AllToAllTransposes) {
  expectAllOk(onAll({0, 1, 2, 3}, [&](int device) -> Status {
    const int rankOf[] = {1, 3, 2, 0};
    int rank = rankOf[device];
    std::vector<int32_t> data;
    for (int to = 0; to < 4; ++to) data.push_back(10 * rank + to);
    ISTHMUS_RETURN_IF_ERROR(collectives.allToAll(callOf(device), 4, data.data(), data.data()));
    for (int from = 0; from < 4; ++from) {
      if (data[from] != 10 * from + rank) return internalError("got ", data[from]);
    }
    return {};
  }));
}

TEST_F(CollectivesTest, PermuteAndBroadcast) {
  expectAllOk(onAll({0, 1, 2, 3}, [&](int device) -> Status {
    int32_t in = device + 100, out = -1;
    // By rank: each device gets its data from the one with the next lower number.
    const int64_t sources[] = {2, -1, 3, 1};
    ISTHMUS_RETURN_IF_ERROR(collectives.permute(callOf(device), sources, 4, &in, &out));
    if (out != (device == 0 ? 0 : device + 99)) return internalError("got ", out);
    const int64_t toAll[] = {2, 2, 2, 2};
    ISTHMUS_RETURN_IF_ERROR(collectives.permute(callOf(device), toAll, 4, &in, &in));
    if (in != 102) return internalError("broadcast gave ", in);
    return {};
  }));
}

TEST_F(CollectivesTest, SequencesAndSubgroupsDoNotMix) {
  const std::vector<int64_t> left = {0, 1}, right = {2, 3};
  expectAllOk(onAll({0, 1, 2, 3}, [&](int device) -> Status {
    const auto& half = device < 2 ? left : right;
    for (int round = 0; round < 200; ++round) {
      int32_t value = device + round;
      ISTHMUS_RETURN_IF_ERROR(collectives.allReduce(callOf(device, half), ReductionKind::kSum,
                                                    ElementType::kS32, 1, &value, &value));
      if (value != (device < 2 ? 1 : 5) + 2 * round) return internalError("half ", value);
      ISTHMUS_RETURN_IF_ERROR(collectives.allReduce(callOf(device), ReductionKind::kSum,
                                                    ElementType::kS32, 1, &value, &value));
      if (value != 12 + 8 * round) return internalError("all ", value);
    }
    return {};
  }));
}

TEST_F(CollectivesTest, GroupOfOneNeedsNobody) {
  const std::vector<int64_t> alone = {5};
  float in = 3, out = 0;
  EXPECT_TRUE(
      collectives.allReduce(callOf(5, alone), ReductionKind::kSum, ElementType::kF32, 1, &in, &out)
          .ok());
  EXPECT_EQ(out, 3);
  EXPECT_FALSE(collectives.allGather(callOf(4, alone), 4, &in, &out).ok());
}

TEST_F(CollectivesTest, AbortReachesThoseWhoWaitAndThoseWhoCome) {
  auto reduce = [&](int device) {
    float value = 1;
    return collectives.allReduce(callOf(device), ReductionKind::kSum, ElementType::kF32, 1, &value,
                                 &value);
  };
  auto statuses = onAll({0, 1, 9}, [&](int device) -> Status {
    if (device != 9) return reduce(device);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    collectives.abortLaunch(10, internalError("device 2 failed"));
    return {};
  });
  EXPECT_EQ(statuses[0].message(), "device 2 failed");
  EXPECT_EQ(statuses[1].message(), "device 2 failed");
  EXPECT_EQ(reduce(3).message(), "device 2 failed");
  for (int i = 0; i < 4; ++i) collectives.leaveLaunch(10, 4, i);
  expectAllOk(onAll({0, 1, 2, 3}, reduce));
}

TEST_F(CollectivesTest, ParticipantsMustAgree) {
  const std::vector<int64_t> pair = {0, 1};
  auto statuses = onAll({0, 1}, [&](int device) -> Status {
    float data[4] = {};
    if (device == 0) return collectives.allGather(callOf(0, pair), 4, data, data);
    return collectives.allReduce(callOf(1, pair), ReductionKind::kSum, ElementType::kF32, 1, data,
                                 data);
  });
  for (const Status& status : statuses) {
    EXPECT_THAT(std::string(status.message()), HasSubstr("participants disagree"));
  }
}

TEST_F(CollectivesTest, WatchdogNamesTheMissingDevice) {
  setFlagForTest("ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS", "1");
  auto statuses = onAll({0, 1, 3}, [&](int device) -> Status {
    float value = 1;
    return collectives.allReduce(callOf(device), ReductionKind::kSum, ElementType::kF32, 1, &value,
                                 &value);
  });
  for (const Status& status : statuses) {
    EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
    EXPECT_EQ(status.message(),
              "all-reduce (op at file.py:12) has waited 1 s for device 2 of group [3, 0, 2, 1], "
              "launch 10, channel 1");
  }
  setFlagForTest("ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS", "600");
}

TEST_F(CollectivesTest, WatchdogSaysWhatTheMissingDeviceIsAt) {
  setFlagForTest("ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS", "1");
  const std::vector<int64_t> pair = {0, 1};
  Promise stuck;
  collectives.onAbort(10, 1, [&](const Status& error) { stuck.set(error); });
  collectives.announce(10, 1, "custom call @sleeps at file.py:3");
  collectives.announce(11, 1, "another launch's");
  collectives.announce(10, 0, "what is over");
  collectives.announce(10, 0, nullptr);
  float value = 1;
  Status status = collectives.allReduce(callOf(0, pair), ReductionKind::kSum, ElementType::kF32, 1,
                                        &value, &value);
  EXPECT_EQ(status.message(),
            "all-reduce (op at file.py:12) has waited 1 s for device 1 (which is in custom call "
            "@sleeps at file.py:3) of group [0, 1], launch 10, channel 1");
  ASSERT_TRUE(stuck.event().isReady());
  EXPECT_EQ(stuck.event().status().message(), status.message());
  // Who comes after that hears of it too.
  Promise late;
  collectives.onAbort(10, 2, [&](const Status& error) { late.set(error); });
  EXPECT_EQ(late.event().await().message(), status.message());
  setFlagForTest("ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS", "600");
}

using Later = std::vector<std::function<Status()>>;

Status finish(Later& later) {
  Status first;
  for (auto& step : later) {
    Status status = step();
    if (first.ok()) first = status;
  }
  later.clear();
  return first;
}

CollectiveCall startOf(int device, int64_t channel, Later& later) {
  CollectiveCall call = callOf(device, kGroup, channel);
  call.later = &later;
  return call;
}

TEST_F(CollectivesTest, SetOutAndWaitedForLater) {
  // One after the other on a single thread: who sets out waits for nobody. The small one is done by
  // the last to come.
  std::vector<Later> later(4);
  std::vector<int32_t> values = {0, 1, 2, 3};
  for (int device : {2, 0, 3, 1}) {
    ASSERT_TRUE(collectives
                    .allReduce(startOf(device, 1, later[device]), ReductionKind::kSum,
                               ElementType::kS32, 1, &values[device], &values[device])
                    .ok());
  }
  EXPECT_TRUE(later[1].empty());
  EXPECT_THAT(values, ElementsAre(6, 6, 6, 6));
  for (Later& each : later) EXPECT_TRUE(finish(each).ok());
}

TEST_F(CollectivesTest, SeveralAreUnderWayTogether) {
  constexpr int64_t kLarge = 100000;
  for (int round = 0; round < 20; ++round) {
    expectAllOk(onAll({0, 1, 2, 3}, [&](int device) -> Status {
      Later sum, sent, all;
      std::vector<float> in(kLarge, static_cast<float>(device)), out(kLarge);
      ISTHMUS_RETURN_IF_ERROR(collectives.allReduce(startOf(device, 1, sum), ReductionKind::kSum,
                                                    ElementType::kF32, kLarge, in.data(),
                                                    out.data()));
      int32_t next = -1, own = device + 100;
      {
        // What the call was given beside memory may go, but the group.
        const std::vector<int64_t> sources = {2, -1, 3, 1};
        ISTHMUS_RETURN_IF_ERROR(
            collectives.permute(startOf(device, 2, sent), sources, 4, &own, &next));
      }
      std::vector<int32_t> everybody(4, device);  // in place: the input is kept
      ISTHMUS_RETURN_IF_ERROR(
          collectives.allGather(startOf(device, 3, all), 4, everybody.data(), everybody.data()));
      ISTHMUS_RETURN_IF_ERROR(finish(all));
      ISTHMUS_RETURN_IF_ERROR(finish(sum));
      ISTHMUS_RETURN_IF_ERROR(finish(sent));
      if (everybody != std::vector<int32_t>{3, 0, 2, 1}) return internalError("wrong order");
      if (next != (device == 0 ? 0 : device + 99)) return internalError("got ", next);
      for (float value : out) {
        if (value != 6) return internalError("sum ", value);
      }
      return {};
    }));
  }
}

TEST_F(CollectivesTest, SeveralOfOneChannelAreUnderWayTogether) {
  // As the arrays of one collective. Each device sets out to all before the next one comes.
  constexpr int kRounds = 3;
  for (size_t bytes : {size_t{4}, size_t{1} << 20}) {
    const auto count = static_cast<int64_t>(bytes / 4);
    std::vector<Later> later(4);
    std::vector<std::vector<int32_t>> values(4 * kRounds);
    for (int device : {2, 0, 3, 1}) {
      for (int round = 0; round < kRounds; ++round) {
        auto& value = values[device * kRounds + round];
        value.assign(count, device + 100 * round);
        Status status =
            collectives.allReduce(startOf(device, 1, later[device]), ReductionKind::kSum,
                                  ElementType::kS32, count, value.data(), value.data());
        ASSERT_TRUE(status.ok()) << status.message();
      }
    }
    expectAllOk(onAll({0, 1, 2, 3}, [&](int device) { return finish(later[device]); }));
    for (int i = 0; i < 4 * kRounds; ++i) {
      EXPECT_TRUE(values[i] == std::vector<int32_t>(count, 6 + 400 * (i % kRounds)));
    }
  }
}

TEST_F(CollectivesTest, WhoIsNotBackKeepsNobodyWaiting) {
  // Device 1 has set out, and comes back when all others have their results.
  constexpr size_t kLarge = 1 << 20;
  std::vector<std::vector<char>> in(4), out(4);
  std::vector<Later> later(4);
  for (int device = 0; device < 4; ++device) {
    in[device].assign(kLarge, static_cast<char>(device));
    out[device].resize(4 * kLarge);
    ASSERT_TRUE(collectives
                    .allGather(startOf(device, 1, later[device]), kLarge, in[device].data(),
                               out[device].data())
                    .ok());
  }
  expectAllOk(onAll({0, 2, 3}, [&](int device) { return finish(later[device]); }));
  for (std::vector<char>& each : in) each.assign(kLarge, 9);  // nobody reads it any more
  EXPECT_TRUE(finish(later[1]).ok());
  for (const std::vector<char>& all : out) {
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(all[i * kLarge + i], static_cast<char>(kGroup[i]));
  }
}

TEST_F(CollectivesTest, WhoSetsOutAndFailsEndsItForAll) {
  auto statuses = onAll({0, 1, 2, 3}, [&](int device) -> Status {
    Later all, few;
    std::vector<float> large(100000, 1);
    // All set out to the first, which can be done; not all to the second.
    ISTHMUS_RETURN_IF_ERROR(collectives.allReduce(startOf(device, 1, all), ReductionKind::kSum,
                                                  ElementType::kF32, 100000, large.data(),
                                                  large.data()));
    float one = 1;
    Status second;
    if (device != 2) {
      second = collectives.allReduce(startOf(device, 2, few), ReductionKind::kSum,
                                     ElementType::kF32, 1, &one, &one);
      if (second.ok()) second = finish(few);
    } else {
      collectives.abort(10, internalError("device 2 failed"));
    }
    Status first = finish(all);
    return second.ok() ? first : second;
  });
  for (int device : {0, 1, 3}) EXPECT_EQ(statuses[device].message(), "device 2 failed");
  for (int i = 0; i < 4; ++i) collectives.leaveLaunch(10, 4, i);
}

TEST_F(CollectivesTest, BadReductionsAreRefusedBeforeAnybodyWaits) {
  float value = 1;
  EXPECT_FALSE(
      collectives.allReduce(callOf(0), ReductionKind::kAnd, ElementType::kF32, 1, &value, &value)
          .ok());
  EXPECT_FALSE(collectives
                   .allReduce(callOf(0), ReductionKind::kSum, ElementType::kF64, int64_t{1} << 61,
                              &value, &value)
                   .ok());
}

}  // namespace
}  // namespace isthmus

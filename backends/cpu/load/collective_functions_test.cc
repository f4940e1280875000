// Collectives of generated programs: which devices meet, and how arrays are cut and joined. The
// peers are replayed from data: a fake of the services answers for them.
#include "backends/cpu/load/collective_functions.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "backends/cpu/load/collectives_in_flight.h"

namespace isthmus::cpu {
namespace {

// Answers as if every member of the group had the caller's input plus 100 times its rank.
class FakeCollectives : public Collectives {
 public:
  std::vector<int64_t> group;
  int64_t channel = -1;
  std::vector<int64_t> sources;
  std::vector<int64_t> sizes;  // elements of each all_reduce
  int numFinished = 0;         // of those that only set out
  int numAborted = 0;

  Status abortedWith;

  void abort(int64_t launchId, const Status& error) override {
    ++numAborted;
    abortedWith = error;
  }

  Status allReduce(const CollectiveCall& call, ReductionKind kind, ElementType type,
                   int64_t elements, const void* input, void* output) override {
    note(call);
    sizes.push_back(elements);
    for (int64_t i = 0; i < elements; ++i) {
      float sum = 0;
      for (size_t rank = 0; rank < group.size(); ++rank) sum += at(input, i, rank);
      static_cast<float*>(output)[i] = sum;
    }
    return {};
  }
  Status reduceScatter(const CollectiveCall& call, ReductionKind kind, ElementType type,
                       int64_t elements, const void* input, void* output) override {
    note(call);
    for (int64_t i = 0; i < elements; ++i) {
      float sum = 0;
      for (size_t rank = 0; rank < group.size(); ++rank) {
        sum += at(input, ownRank(call) * elements + i, rank);
      }
      static_cast<float*>(output)[i] = sum;
    }
    return {};
  }
  Status allGather(const CollectiveCall& call, size_t bytes, const void* input,
                   void* output) override {
    note(call);
    int64_t elements = bytes / sizeof(float);
    for (size_t rank = 0; rank < group.size(); ++rank) {
      for (int64_t i = 0; i < elements; ++i) {
        static_cast<float*>(output)[rank * elements + i] = at(input, i, rank);
      }
    }
    return {};
  }
  Status allToAll(const CollectiveCall& call, size_t bytes, const void* input,
                  void* output) override {
    note(call);
    int64_t elements = bytes / sizeof(float);
    for (size_t rank = 0; rank < group.size(); ++rank) {
      for (int64_t i = 0; i < elements; ++i) {
        static_cast<float*>(output)[rank * elements + i] =
            at(input, ownRank(call) * elements + i, rank);
      }
    }
    return {};
  }
  Status permute(const CollectiveCall& call, std::span<const int64_t> from, size_t bytes,
                 const void* input, void* output) override {
    note(call);
    sources.assign(from.begin(), from.end());
    std::memset(output, 0, bytes);
    return {};
  }

 private:
  void note(const CollectiveCall& call) {
    group.assign(call.group.begin(), call.group.end());
    channel = call.channel;
    numAborted = 0;
    if (call.later == nullptr) return;
    call.later->push_back([this] {
      ++numFinished;
      return Status();
    });
  }
  static float at(const void* input, int64_t index, size_t rank) {
    return static_cast<const float*>(input)[index] + 100.0f * static_cast<float>(rank);
  }
  static int64_t ownRank(const CollectiveCall& call) {
    for (size_t i = 0; i < call.group.size(); ++i) {
      if (call.group[i] == call.deviceId) return static_cast<int64_t>(i);
    }
    return -1;
  }
};

class FakeServices : public RunServices {
 public:
  FakeCollectives fake;
  bool hasMemory = true;
  int numThreads() const override { return 1; }
  void parallelFor(int64_t tiles, int64_t, TileFunction function, void* context) override {
    function(context, 0, tiles);
  }
  void* allocateScratch(size_t bytes) override { return hasMemory ? std::malloc(bytes) : nullptr; }
  void freeScratch(void* memory, size_t) override { std::free(memory); }
  Collectives& collectives() override { return fake; }
};

// Two replicas of three partitions, on devices 10 to 15.
class CollectiveFunctionsTest : public testing::Test {
 protected:
  CollectiveFunctionsTest() {
    assignment_ = {2, 3, {10, 11, 12, 13, 14, 15}};
    request_.assignment = &assignment_;
    request_.services = &services_;
    request_.launchId = 77;
    run_ = {};
    run_.request = &request_;
    run_.services = &services_;
    run_.status = &status_;
    place(1, 2);
  }
  void place(int replica, int partition) {
    request_.replica = replica;
    request_.partition = partition;
    request_.deviceId = 10 + replica * 3 + partition;
  }
  std::string describe(GroupMode mode, std::vector<CollectiveOperand> operands,
                       std::vector<int64_t> ids, int64_t groups, int64_t size) {
    CollectiveDescriptor head{};
    head.mode = mode;
    head.type = ElementType::kF32;
    head.channel = 5;
    head.numGroups = groups;
    head.groupSize = size;
    return makeCollectiveDescriptor(head, operands, ids, "stablehlo.test at f.py:3");
  }
  // Calls `function` with one operand.
  int32_t call(IsthmusLibraryFunction function, const std::string& descriptor,
               std::vector<float> input, std::vector<float>& output) {
    std::vector<float> scratch(2 * std::max(input.size(), output.size()));
    void* buffers[] = {input.data(), output.data(), scratch.data()};
    return function(&run_, descriptor.data(), buffers);
  }
  std::vector<int64_t> groupOf(GroupMode mode, std::vector<int64_t> ids, int64_t groups,
                               int64_t size) {
    std::vector<float> output(1);
    EXPECT_EQ(call(isthmus_rt_all_reduce, describe(mode, {{1, 1}}, ids, groups, size), {1}, output),
              0);
    return services_.fake.group;
  }

  DeviceAssignment assignment_;
  FakeServices services_;
  RunRequest request_;
  Status status_;
  IsthmusRun run_;
};

using List = std::vector<int64_t>;

TEST_F(CollectiveFunctionsTest, groups_follow_the_mode) {
  EXPECT_EQ(groupOf(GroupMode::kReplicas, {1, 0}, 1, 2), (List{15, 12}));
  EXPECT_EQ(groupOf(GroupMode::kPartitions, {0, 2, 1, -1}, 2, 2), (List{13, 15}));
  EXPECT_EQ(groupOf(GroupMode::kReplicasAllPartitions, {0, 1}, 2, 1), (List{13, 14, 15}));
  EXPECT_EQ(groupOf(GroupMode::kDevices, {0, 5, 1, 2}, 2, 2), (List{10, 15}));
  EXPECT_EQ(groupOf(GroupMode::kReplicas, {}, 0, 0), (List{12, 15}));
  EXPECT_EQ(services_.fake.channel, 5);
}

TEST_F(CollectiveFunctionsTest, a_device_in_no_group_is_an_error) {
  std::vector<float> output(1);
  std::string descriptor = describe(GroupMode::kPartitions, {{1, 1}}, {0, 1}, 1, 2);
  EXPECT_EQ(call(isthmus_rt_all_reduce, descriptor, {1}, output), 1);
  EXPECT_NE(status_.message().find("f.py:3"), std::string_view::npos);
}

TEST_F(CollectiveFunctionsTest, small_operands_are_reduced_together) {
  const int64_t large = 40000;
  std::vector<std::vector<float>> inputs = {{1, 2}, {}, {3}, std::vector<float>(large, 4),
                                            {5},    {6}};
  std::vector<std::vector<float>> outputs;
  std::vector<CollectiveOperand> operands;
  std::vector<void*> buffers;
  for (std::vector<float>& input : inputs) {
    const auto size = static_cast<int64_t>(input.size());
    operands.push_back({size, size});
    outputs.emplace_back(input.size());
    buffers.push_back(input.data());
  }
  for (std::vector<float>& output : outputs) buffers.push_back(output.data());
  std::string text = describe(GroupMode::kPartitions, operands, {0, 2}, 1, 2);
  ASSERT_EQ(isthmus_rt_all_reduce(&run_, text.data(), buffers.data()), 0);
  EXPECT_EQ(services_.fake.sizes, (std::vector<int64_t>{3, large, 2}));
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t j = 0; j < inputs[i].size(); ++j) {
      ASSERT_EQ(outputs[i][j], 2 * inputs[i][j] + 100) << i << ", " << j;
    }
  }
  services_.hasMemory = false;
  EXPECT_NE(isthmus_rt_all_reduce(&run_, text.data(), buffers.data()), 0);
  EXPECT_EQ(status_.code(), StatusCode::kResourceExhausted);
}

TEST_F(CollectiveFunctionsTest, all_gather_joins_along_an_inner_dimension) {
  // tensor<2x2> joined along dimension 1 by two devices.
  std::vector<float> output(8);
  std::string descriptor = describe(GroupMode::kDevices, {{4, 8, 1, 2}}, {4, 5}, 1, 2);
  ASSERT_EQ(call(isthmus_rt_all_gather, descriptor, {1, 2, 3, 4}, output), 0);
  EXPECT_EQ(output, (std::vector<float>{1, 2, 101, 102, 3, 4, 103, 104}));
}

TEST_F(CollectiveFunctionsTest, reduce_scatter_cuts_an_inner_dimension) {
  // tensor<2x4> cut along dimension 1 in two; this device is the second.
  std::vector<float> output(4);
  std::string descriptor = describe(GroupMode::kDevices, {{8, 4, 2, 1}}, {4, 5}, 1, 2);
  ASSERT_EQ(call(isthmus_rt_reduce_scatter, descriptor, {1, 2, 3, 4, 5, 6, 7, 8}, output), 0);
  EXPECT_EQ(output, (std::vector<float>{106, 108, 114, 116}));
}

TEST_F(CollectiveFunctionsTest, all_to_all_cuts_one_dimension_and_joins_another) {
  // tensor<2x4> cut along dimension 1, joined along dimension 0: tensor<4x2>.
  std::vector<float> output(8);
  std::string descriptor = describe(GroupMode::kDevices, {{8, 8, 2, 1}}, {4, 5}, 1, 2);
  ASSERT_EQ(call(isthmus_rt_all_to_all, descriptor, {1, 2, 3, 4, 5, 6, 7, 8}, output), 0);
  EXPECT_EQ(output, (std::vector<float>{3, 4, 7, 8, 103, 104, 107, 108}));
  // Cut along dimension 0 (one row each), joined along dimension 1: tensor<1x8>; no reordering.
  descriptor = describe(GroupMode::kDevices, {{8, 8, 1, 1}}, {4, 5}, 1, 2);
  ASSERT_EQ(call(isthmus_rt_all_to_all, descriptor, {1, 2, 3, 4, 5, 6, 7, 8}, output), 0);
  EXPECT_EQ(output, (std::vector<float>{5, 6, 7, 8, 105, 106, 107, 108}));
}

TEST_F(CollectiveFunctionsTest, a_result_that_does_not_fit_the_group_is_an_error) {
  struct {
    IsthmusLibraryFunction function;
    CollectiveOperand operand;
  } cases[] = {{isthmus_rt_all_gather, {4, 4, 1, 1}},
               {isthmus_rt_all_gather, {4, 16, 1, 1}},
               {isthmus_rt_reduce_scatter, {4, 1, 1, 1}},
               {isthmus_rt_all_to_all, {4, 2, 1, 1}}};
  for (auto& [function, operand] : cases) {
    std::vector<float> output(operand.resultElements, -1);
    std::string descriptor = describe(GroupMode::kDevices, {operand}, {4, 5}, 1, 2);
    EXPECT_EQ(call(function, descriptor, {1, 2, 3, 4}, output), 1);
    EXPECT_NE(status_.message().find("in a group of 2"), std::string_view::npos);
    EXPECT_EQ(output, std::vector<float>(operand.resultElements, -1));
  }
}

TEST_F(CollectiveFunctionsTest, permutation_finds_its_sources) {
  std::vector<float> output(1);
  std::string pairs = describe(GroupMode::kPartitions, {{1, 1}}, {0, 2, 2, 0}, 2, 2);
  ASSERT_EQ(call(isthmus_rt_collective_permute, pairs, {1}, output), 0);
  EXPECT_EQ(services_.fake.group, (List{13, 14, 15}));
  EXPECT_EQ(services_.fake.sources, (List{2, -1, 0}));
  pairs = describe(GroupMode::kPartitions, {{1, 1}}, {0, 3}, 1, 2);
  EXPECT_EQ(call(isthmus_rt_collective_permute, pairs, {1}, output), 1);
  EXPECT_NE(status_.message().find("target 3, there are 3"), std::string_view::npos);
}

TEST_F(CollectiveFunctionsTest, broadcast_comes_from_the_first_of_the_group) {
  std::vector<float> output(1);
  std::string groups = describe(GroupMode::kPartitions, {{1, 1}}, {2, 1}, 1, 2);
  ASSERT_EQ(call(isthmus_rt_collective_broadcast, groups, {1}, output), 0);
  EXPECT_EQ(services_.fake.sources, (List{-1, 2, 2}));
}

TEST_F(CollectiveFunctionsTest, broadcast_without_groups_comes_from_the_first_of_all) {
  std::vector<float> output(1);
  std::string groups = describe(GroupMode::kPartitions, {{1, 1}}, {}, 0, 0);
  ASSERT_EQ(call(isthmus_rt_collective_broadcast, groups, {1}, output), 0);
  EXPECT_EQ(services_.fake.sources, (List{0, 0, 0}));
}

TEST_F(CollectiveFunctionsTest, what_sets_out_is_put_in_order_when_it_is_needed) {
  // As all_gather_joins_along_an_inner_dimension; without planned scratch memory.
  CollectivesInFlight inFlight(request_);
  run_.inFlight = &inFlight;
  std::string descriptor = describe(GroupMode::kDevices, {{4, 8, 1, 2}}, {4, 5}, 1, 2);
  reinterpret_cast<CollectiveDescriptor*>(descriptor.data())->startedAs = 3;
  std::vector<float> input = {1, 2, 3, 4}, output(8, -1);
  void* buffers[] = {input.data(), output.data()};
  ASSERT_EQ(isthmus_rt_all_gather(&run_, descriptor.data(), buffers), 0);
  EXPECT_EQ(output, std::vector<float>(8, -1));
  EXPECT_EQ(services_.fake.numFinished, 0);
  AwaitDescriptor other{4}, mine{3};
  EXPECT_EQ(isthmus_rt_await(&run_, &other, nullptr), 0);
  EXPECT_EQ(inFlight.all.size(), 1u);
  ASSERT_EQ(isthmus_rt_await(&run_, &mine, nullptr), 0);
  EXPECT_EQ(output, (std::vector<float>{1, 2, 101, 102, 3, 4, 103, 104}));
  EXPECT_EQ(services_.fake.numFinished, 1);
  EXPECT_TRUE(inFlight.all.empty());
}

TEST_F(CollectiveFunctionsTest, a_run_that_fails_carries_out_what_it_set_out_to) {
  CollectivesInFlight inFlight(request_);
  run_.inFlight = &inFlight;
  std::string descriptor = describe(GroupMode::kDevices, {{1, 1}}, {4, 5}, 1, 2);
  std::vector<float> output(1);
  for (int64_t number : {3, 4}) {
    reinterpret_cast<CollectiveDescriptor*>(descriptor.data())->startedAs = number;
    ASSERT_EQ(call(isthmus_rt_all_reduce, descriptor, {1}, output), 0);
  }
  inFlight.abandon(internalError("somewhere else"));
  EXPECT_EQ(services_.fake.numAborted, 1);
  EXPECT_EQ(services_.fake.numFinished, 2);
  // A second operand does not fit when the first is under way.
  descriptor = describe(GroupMode::kDevices, {{4, 8}, {4, 4}}, {4, 5}, 1, 2);
  reinterpret_cast<CollectiveDescriptor*>(descriptor.data())->startedAs = 5;
  std::vector<float> inputs(8), outputs(12);
  void* buffers[] = {inputs.data(), &inputs[4], outputs.data(), &outputs[8]};
  EXPECT_EQ(isthmus_rt_all_gather(&run_, descriptor.data(), buffers), 1);
  EXPECT_EQ(services_.fake.numAborted, 1);
  EXPECT_EQ(services_.fake.abortedWith.message(), status_.message());
  EXPECT_EQ(services_.fake.numFinished, 3);
  EXPECT_TRUE(inFlight.all.empty());
}

TEST_F(CollectiveFunctionsTest, process_ids) {
  uint32_t id = 9;
  void* buffers[] = {&id};
  ProcessIdDescriptor partition{1};
  ASSERT_EQ(isthmus_rt_process_id(&run_, &partition, buffers), 0);
  EXPECT_EQ(id, 2u);
  ProcessIdDescriptor replica{0};
  ASSERT_EQ(isthmus_rt_process_id(&run_, &replica, buffers), 0);
  EXPECT_EQ(id, 1u);
}

}  // namespace
}  // namespace isthmus::cpu

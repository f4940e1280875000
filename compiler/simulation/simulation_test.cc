// Expected times are sums by hand over a machine of round numbers.
#include "compiler/simulation/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/simulation/collective_cost.h"
#include "llvm/Support/JSON.h"

namespace isthmus::simulation {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Groups = std::vector<std::vector<int64_t>>;

// Two nodes of four devices.
constexpr const char* kMachine = R"({
  "name": "test", "device": {
    "contraction_flops": {"f32": 1e9, "bf16": 4e9}, "element_flops": 1e9,
    "memory_bytes_per_second": 1e9, "memory_bytes": 1e6, "launch_seconds": 1e-7},
  "network": [
    {"name": "inner", "size": 4, "bytes_per_second": 1e8, "latency_seconds": 1e-6},
    {"name": "outer", "size": 2, "bytes_per_second": 1e7, "latency_seconds": 1e-5}]})";

// Costs name its links.
const Machine& testMachine() {
  static const Machine machine = *parseMachine(kMachine);
  return machine;
}

Report simulated(std::string_view program, const Machine& machine = testMachine()) {
  StatusOr<Report> report = simulate(program, "mlir", machine);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return report.ok() ? *report : Report();
}

TEST(Machine, KnowsItsDevices) { EXPECT_EQ(testMachine().numDevices(), 8); }

TEST(Machine, RefusesWhatIsMissingUnknownOrOutOfRange) {
  auto with = [](std::string_view from, std::string_view to) {
    std::string text = kMachine;
    text.replace(text.find(from), from.size(), to);
    return std::string(parseMachine(text).status().message());
  };
  EXPECT_THAT(with("\"element_flops\": 1e9,", ""), HasSubstr("no number element_flops"));
  EXPECT_THAT(with("launch_seconds", "lunch_seconds"), HasSubstr("no number launch_seconds"));
  EXPECT_THAT(with("\"name\": \"test\"", "\"name\": \"test\", \"more\": 1"),
              HasSubstr("unknown member more"));
  EXPECT_THAT(with("\"size\": 4", "\"size\": 2.5"), HasSubstr("whole number"));
  EXPECT_THAT(with("\"size\": 4", "\"size\": 1048576"), HasSubstr("more than"));
  EXPECT_THAT(with("1e8", "-1e8"), HasSubstr("bytes_per_second is -1"));
  EXPECT_THAT(with("{", ""), HasSubstr("no JSON"));
}

TEST(CollectiveCost, InsideANode) {
  // 4 devices have 1000 bytes after the gather: each sends 750, in 2 rounds.
  CollectiveCost cost =
      costOf(testMachine(), {CollectiveKind::kAllGather, 1000, Groups{{0, 1, 2, 3}}});
  EXPECT_DOUBLE_EQ(cost.seconds, 750 / 1e8 + 2e-6);
  EXPECT_DOUBLE_EQ(cost.sentBytes, 750);
  EXPECT_EQ(cost.link, "inner");
  // There and back again.
  EXPECT_DOUBLE_EQ(
      costOf(testMachine(), {CollectiveKind::kAllReduce, 1000, Groups{{0, 1, 2, 3}}}).seconds,
      2 * cost.seconds);
}

TEST(CollectiveCost, AcrossNodesEachDeviceCarriesItsShare) {
  // Of 1000 bytes half crosses between the nodes, a quarter of it by each device.
  CollectiveCost cost = costOf(
      testMachine(), {CollectiveKind::kReduceScatter, 1000, Groups{{0, 1, 2, 3, 4, 5, 6, 7}}});
  EXPECT_DOUBLE_EQ(cost.seconds, 125 / 1e7 + 2e-6 + 1e-5);
  EXPECT_EQ(cost.link, "outer");
  // One device of each node: nobody to share it with.
  EXPECT_DOUBLE_EQ(
      costOf(testMachine(), {CollectiveKind::kReduceScatter, 1000, Groups{{1, 5}}}).seconds,
      500 / 1e7 + 1e-5);
}

TEST(CollectiveCost, TheSlowestGroupCounts) {
  Machine machine = testMachine();
  CollectiveCost both =
      costOf(machine, {CollectiveKind::kAllToAll, 800, Groups{{0, 1}, {2, 6}, {3}}});
  EXPECT_DOUBLE_EQ(both.seconds, 400 / 1e7 + 1e-5);
  EXPECT_DOUBLE_EQ(costOf(machine, {CollectiveKind::kPermute, 800, Groups{{0, 1}, {3, 4}}}).seconds,
                   800 / 1e7 + 1e-5);
  EXPECT_DOUBLE_EQ(costOf(machine, {CollectiveKind::kPermute, 800, Groups{{0, 0}}}).seconds, 0);
}

TEST(Simulate, ContractionsByTypeAndWhatTheyWaitFor) {
  Report report = simulated(R"(
    func.func @main(%a: tensor<64x64xbf16>, %b: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
      %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
          : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
      func.return %c : tensor<64x64xbf16>
    })");
  ASSERT_EQ(report.steps.size(), 1u);
  EXPECT_DOUBLE_EQ(report.steps[0].flops, 2.0 * 64 * 64 * 64);
  EXPECT_DOUBLE_EQ(report.steps[0].seconds, 2.0 * 64 * 64 * 64 / 4e9);
  EXPECT_EQ(report.steps[0].bound, "compute");
  EXPECT_EQ(report.argumentBytes, 2 * 64 * 64 * 2);
  EXPECT_EQ(report.resultBytes, 64 * 64 * 2);
}

TEST(Simulate, LoopsCountAsOftenAsTheyRun) {
  Report report = simulated(R"(
    func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {
      %zero = stablehlo.constant dense<3> : tensor<i32>
      %one = stablehlo.constant dense<2> : tensor<i32>
      %limit = stablehlo.constant dense<10> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<1000xf32>
        cond {
          %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %p : tensor<i1>
        } do {
          %n = stablehlo.add %i, %one : tensor<i32>
          %w = stablehlo.negate %v : tensor<1000xf32>
          stablehlo.return %n, %w : tensor<i32>, tensor<1000xf32>
        }
      func.return %r#1 : tensor<1000xf32>
    })");
  // 3, 5, 7, 9.
  EXPECT_THAT(report.steps,
              Contains(::testing::AllOf(::testing::Field(&Step::times, 4),
                                        ::testing::Field(&Step::bytes, ::testing::Ge(8000)))));
  EXPECT_THAT(report.notes, ElementsAre());
}

TEST(Simulate, ALoopThatDependsOnDataCountsOnceAndIsNoted) {
  Report report = simulated(R"(
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %limit = stablehlo.constant dense<10.0> : tensor<f32>
      %r = stablehlo.while(%v = %x) : tensor<f32>
        cond {
          %p = stablehlo.compare LT, %v, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %p : tensor<i1>
        } do {
          %w = stablehlo.add %v, %v : tensor<f32>
          stablehlo.return %w : tensor<f32>
        }
      func.return %r : tensor<f32>
    })");
  EXPECT_THAT(report.notes, Contains(HasSubstr("counted once")));
}

// From 126 the counter goes to -128.
TEST(Simulate, ALoopWhoseCounterWrapsAroundIsNoted) {
  Report report = simulated(R"(
    func.func @main(%x: tensor<f32>) -> tensor<f32> {
      %begin = stablehlo.constant dense<100> : tensor<i8>
      %two = stablehlo.constant dense<2> : tensor<i8>
      %limit = stablehlo.constant dense<127> : tensor<i8>
      %r:2 = stablehlo.while(%i = %begin, %v = %x) : tensor<i8>, tensor<f32>
        cond {
          %p = stablehlo.compare LT, %i, %limit : (tensor<i8>, tensor<i8>) -> tensor<i1>
          stablehlo.return %p : tensor<i1>
        } do {
          %n = stablehlo.add %i, %two : tensor<i8>
          %w = stablehlo.add %v, %v : tensor<f32>
          stablehlo.return %n, %w : tensor<i8>, tensor<f32>
        }
      func.return %r#1 : tensor<f32>
    })");
  EXPECT_THAT(report.notes, Contains(HasSubstr("counted once")));
}

TEST(Simulate, TheLongestBranchCounts) {
  Report report = simulated(R"(
    func.func @main(%p: tensor<i1>, %x: tensor<1000xf32>) -> tensor<1000xf32> {
      %r = "stablehlo.if"(%p) ({
        %a = stablehlo.negate %x : tensor<1000xf32>
        stablehlo.return %a : tensor<1000xf32>
      }, {
        %a, %b = "stablehlo.sort"(%x, %x) ({
        ^bb0(%l: tensor<f32>, %r: tensor<f32>, %m: tensor<f32>, %n: tensor<f32>):
          %c = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        }) {dimension = 0 : i64} : (tensor<1000xf32>, tensor<1000xf32>) -> (tensor<1000xf32>, tensor<1000xf32>)
        %s = stablehlo.add %a, %b : tensor<1000xf32>
        stablehlo.return %s : tensor<1000xf32>
      }) : (tensor<i1>) -> tensor<1000xf32>
      func.return %r : tensor<1000xf32>
    })");
  EXPECT_THAT(report.steps, Contains(::testing::Field(&Step::name, "sort")));
  EXPECT_THAT(report.steps,
              ::testing::Not(Contains(::testing::Field(&Step::name, "fusion negate"))));
}

// A sum over all devices beside a product that does not need it.
constexpr const char* kOverlap = R"(
  module attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
    func.func @main(%x: tensor<1000xf32>, %a: tensor<64x64xf32>) -> (tensor<1000xf32>, tensor<64x64xf32>) {
      %s = "stablehlo.all_reduce"(%x) ({
      ^bb0(%l: tensor<f32>, %r: tensor<f32>):
        %c = stablehlo.add %l, %r : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids,
          replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>} : (tensor<1000xf32>) -> tensor<1000xf32>
      %c = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
          : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      func.return %s, %c : tensor<1000xf32>, tensor<64x64xf32>
    }
  })";

TEST(Simulate, CollectivesRunBesideWhatDoesNotNeedThem) {
  StatusOr<Report> report = simulate(kOverlap, "mlir", testMachine());
  ASSERT_TRUE(report.ok()) << report.status().message();
  double collective = 2 * (500.0 / 1e7 + 2e-6 + 1e-5);
  double product = 2.0 * 64 * 64 * 64 / 1e9;
  EXPECT_DOUBLE_EQ(report->collectiveSeconds, collective);
  EXPECT_DOUBLE_EQ(report->synchronousSeconds, collective + product);
  EXPECT_DOUBLE_EQ(report->overlappedSeconds, std::max(collective, product));
  EXPECT_DOUBLE_EQ(report->sentBytes, 2 * 4000 * 7 / 8.0);
}

TEST(Simulate, RefusesMoreDevicesThanThereAre) {
  Machine machine = testMachine();
  machine.network.pop_back();
  StatusOr<Report> report = simulate(kOverlap, "mlir", machine);
  EXPECT_THAT(std::string(report.status().message()), HasSubstr("is for 8 devices"));
}

TEST(Simulate, ReportsAreReadable) {
  Report report = simulated(kOverlap);
  EXPECT_THAT(toText(report), HasSubstr("all_reduce"));
  EXPECT_THAT(toText(report, 0), HasSubstr("shorter steps"));
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(toJson(report));
  ASSERT_TRUE(static_cast<bool>(json));
  EXPECT_EQ(json->getAsObject()->getInteger("devices"), 8);
  report.memoryBytes = 10;
  EXPECT_THAT(toText(report), HasSubstr("DOES NOT FIT"));
}

}  // namespace
}  // namespace isthmus::simulation

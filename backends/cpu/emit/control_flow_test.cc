// Loops and branches as native code, checked against values worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/testing/program_runner.h"

namespace isthmus::cpu {
namespace {

using testing::Bytes;
using ::testing::ElementsAre;
using testing::fromBytes;
using testing::runText;
using testing::toBytes;

std::vector<Bytes> run(const std::string& text, const std::vector<Bytes>& arguments) {
  StatusOr<std::vector<Bytes>> results = runText(text, arguments);
  EXPECT_TRUE(results.ok()) << results.status().message();
  return results.ok() ? *results : std::vector<Bytes>(8);
}

TEST(ControlFlowTest, counts_with_scalars) {
  // Fibonacci numbers: a, b = b, a + b.
  std::string text = R"(
    func.func @main(%n: tensor<i32>) -> (tensor<i64>, tensor<i64>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %a0 = stablehlo.constant dense<0> : tensor<i64>
      %b0 = stablehlo.constant dense<1> : tensor<i64>
      %r:4 = stablehlo.while(%i = %zero, %a = %a0, %b = %b0, %m = %n)
          : tensor<i32>, tensor<i64>, tensor<i64>, tensor<i32>
      cond {
        %p = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %j = stablehlo.add %i, %one : tensor<i32>
        %c = stablehlo.add %a, %b : tensor<i64>
        stablehlo.return %j, %b, %c, %m : tensor<i32>, tensor<i64>, tensor<i64>, tensor<i32>
      }
      return %r#1, %r#2 : tensor<i64>, tensor<i64>
    })";
  auto results = run(text, {toBytes<int32_t>({50})});
  EXPECT_THAT(fromBytes<int64_t>(results[0]), ElementsAre(12586269025));
  EXPECT_THAT(fromBytes<int64_t>(results[1]), ElementsAre(20365011074));
  results = run(text, {toBytes<int32_t>({0})});
  EXPECT_THAT(fromBytes<int64_t>(results[0]), ElementsAre(0));
  EXPECT_THAT(fromBytes<int64_t>(results[1]), ElementsAre(1));
}

TEST(ControlFlowTest, powers_of_constants_in_a_loop) {
  // LLVM knows better functions of C for some bases, and which of them there are has to be said.
  auto results = run(R"(
    func.func @main(%n: tensor<i32>) -> (tensor<f64>, tensor<f64>, tensor<f64>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %sum = stablehlo.constant dense<0.0> : tensor<f64>
      %two = stablehlo.constant dense<2.0> : tensor<f64>
      %quarter = stablehlo.constant dense<0.25> : tensor<f64>
      %ten = stablehlo.constant dense<10.0> : tensor<f64>
      %half = stablehlo.constant dense<0.5> : tensor<f64>
      %r:5 = stablehlo.while(%i = %zero, %a = %sum, %b = %sum, %c = %sum, %m = %n)
          : tensor<i32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<i32>
      cond {
        %p = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %j = stablehlo.add %i, %one : tensor<i32>
        %x = stablehlo.convert %i : (tensor<i32>) -> tensor<f64>
        %y = stablehlo.multiply %x, %half : tensor<f64>
        %p2 = stablehlo.power %two, %x : tensor<f64>
        %p4 = stablehlo.power %quarter, %y : tensor<f64>
        %p10 = stablehlo.power %ten, %x : tensor<f64>
        %a1 = stablehlo.add %a, %p2 : tensor<f64>
        %b1 = stablehlo.add %b, %p4 : tensor<f64>
        %c1 = stablehlo.add %c, %p10 : tensor<f64>
        stablehlo.return %j, %a1, %b1, %c1, %m
            : tensor<i32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<i32>
      }
      return %r#1, %r#2, %r#3 : tensor<f64>, tensor<f64>, tensor<f64>
    })",
                     {toBytes<int32_t>({5})});
  EXPECT_THAT(fromBytes<double>(results[0]), ElementsAre(31.0));
  EXPECT_THAT(fromBytes<double>(results[1]), ElementsAre(1.9375));
  EXPECT_THAT(fromBytes<double>(results[2]), ElementsAre(11111.0));
}

TEST(ControlFlowTest, permutes_carried_arrays) {
  auto results = run(R"(
    func.func @main(%n: tensor<i32>, %x: tensor<16xf32>, %y: tensor<16xf32>, %z: tensor<16xf32>) ->
        (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %r:4 = stablehlo.while(%i = %zero, %a = %x, %b = %y, %c = %z)
          : tensor<i32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
      cond {
        %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %b, %c, %a
            : tensor<i32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
      }
      return %r#1, %r#2, %r#3 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
    })",
                     {toBytes<int32_t>({4}), toBytes(std::vector<float>(16, 1)),
                      toBytes(std::vector<float>(16, 2)), toBytes(std::vector<float>(16, 3))});
  // Four rotations of three are one.
  EXPECT_EQ(fromBytes<float>(results[0]), std::vector<float>(16, 2));
  EXPECT_EQ(fromBytes<float>(results[1]), std::vector<float>(16, 3));
  EXPECT_EQ(fromBytes<float>(results[2]), std::vector<float>(16, 1));
}

// h = h * w + 1; ys[i] = h: lax.scan.
constexpr char kScan[] = R"(
    func.func @main(%w: tensor<3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.constant dense<5> : tensor<i32>
      %ones = stablehlo.constant dense<1.0> : tensor<3xf32>
      %ys0 = stablehlo.constant dense<0.0> : tensor<5x3xf32>
      %r:4 = stablehlo.while(%i = %zero, %h = %ones, %ys = %ys0, %k = %w)
          : tensor<i32>, tensor<3xf32>, tensor<5x3xf32>, tensor<3xf32>
      cond {
        %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %m = stablehlo.multiply %h, %k : tensor<3xf32>
        %h1 = stablehlo.add %m, %ones : tensor<3xf32>
        %row = stablehlo.reshape %h1 : (tensor<3xf32>) -> tensor<1x3xf32>
        %ys1 = stablehlo.dynamic_update_slice %ys, %row, %i, %zero
            : (tensor<5x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x3xf32>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %h1, %ys1, %k
            : tensor<i32>, tensor<3xf32>, tensor<5x3xf32>, tensor<3xf32>
      }
      return %r#2, %r#1 : tensor<5x3xf32>, tensor<3xf32>
    })";

TEST(ControlFlowTest, scans) {
  auto results = run(kScan, {toBytes<float>({1, 2, 0})});
  EXPECT_THAT(fromBytes<float>(results[0]),
              ElementsAre(2, 3, 1, 3, 7, 1, 4, 15, 1, 5, 31, 1, 6, 63, 1));
  EXPECT_THAT(fromBytes<float>(results[1]), ElementsAre(6, 63, 1));
}

TEST(ControlFlowTest, loops_nest) {
  // The sum of i * j over 0 <= j < i < n.
  auto results = run(R"(
    func.func @main(%n: tensor<i32>) -> tensor<i32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %s = %zero) : tensor<i32>, tensor<i32>
      cond {
        %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %q:2 = stablehlo.while(%j = %zero, %t = %s) : tensor<i32>, tensor<i32>
        cond {
          %p = stablehlo.compare LT, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %p : tensor<i1>
        } do {
          %m = stablehlo.multiply %i, %j : tensor<i32>
          %u = stablehlo.add %t, %m : tensor<i32>
          %j1 = stablehlo.add %j, %one : tensor<i32>
          stablehlo.return %j1, %u : tensor<i32>, tensor<i32>
        }
        %i1 = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %i1, %q#1 : tensor<i32>, tensor<i32>
      }
      return %r#1 : tensor<i32>
    })",
                     {toBytes<int32_t>({5})});
  EXPECT_THAT(fromBytes<int32_t>(results[0]), ElementsAre(35));
}

TEST(ControlFlowTest, if_takes_one_branch) {
  std::string text = R"(
    func.func @main(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xf32>) ->
        (tensor<4xf32>, tensor<4xf32>) {
      %r:2 = "stablehlo.if"(%p) ({
        %s = stablehlo.add %x, %y : tensor<4xf32>
        stablehlo.return %s, %x : tensor<4xf32>, tensor<4xf32>
      }, {
        %s = stablehlo.subtract %x, %y : tensor<4xf32>
        stablehlo.return %y, %s : tensor<4xf32>, tensor<4xf32>
      }) : (tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>)
      return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
    })";
  Bytes x = toBytes<float>({1, 2, 3, 4});
  Bytes y = toBytes<float>({5, 6, 7, 8});
  auto results = run(text, {Bytes{1}, x, y});
  EXPECT_THAT(fromBytes<float>(results[0]), ElementsAre(6, 8, 10, 12));
  EXPECT_EQ(results[1], x);
  results = run(text, {Bytes{0}, x, y});
  EXPECT_EQ(results[0], y);
  EXPECT_THAT(fromBytes<float>(results[1]), ElementsAre(-4, -4, -4, -4));
}

TEST(ControlFlowTest, case_takes_the_last_branch_for_wild_indices) {
  std::string text = R"(
    func.func @main(%i: tensor<i32>) -> tensor<i32> {
      %r = "stablehlo.case"(%i) ({
        %c = stablehlo.constant dense<10> : tensor<i32>
        stablehlo.return %c : tensor<i32>
      }, {
        %c = stablehlo.constant dense<20> : tensor<i32>
        stablehlo.return %c : tensor<i32>
      }, {
        %c = stablehlo.add %i, %i : tensor<i32>
        stablehlo.return %c : tensor<i32>
      }) : (tensor<i32>) -> tensor<i32>
      return %r : tensor<i32>
    })";
  auto call = [&](int32_t index) {
    return fromBytes<int32_t>(run(text, {toBytes<int32_t>({index})})[0])[0];
  };
  EXPECT_EQ(call(0), 10);
  EXPECT_EQ(call(1), 20);
  EXPECT_EQ(call(2), 4);
  EXPECT_EQ(call(3), 6);
  EXPECT_EQ(call(-1), -2);
}

TEST(ControlFlowTest, an_update_whose_old_value_is_read_later_keeps_it) {
  auto results = run(R"(
    func.func @main(%x: tensor<4xi32>) -> (tensor<4xi32>, tensor<4xi32>) {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.constant dense<3> : tensor<i32>
      %r:3 = stablehlo.while(%i = %zero, %a = %x, %b = %x)
          : tensor<i32>, tensor<4xi32>, tensor<4xi32>
      cond {
        %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %v = stablehlo.constant dense<9> : tensor<1xi32>
        %a1 = stablehlo.dynamic_update_slice %a, %v, %i
            : (tensor<4xi32>, tensor<1xi32>, tensor<i32>) -> tensor<4xi32>
        %b1 = stablehlo.add %a, %b : tensor<4xi32>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %a1, %b1 : tensor<i32>, tensor<4xi32>, tensor<4xi32>
      }
      return %r#1, %r#2 : tensor<4xi32>, tensor<4xi32>
    })",
                     {toBytes<int32_t>({1, 2, 3, 4})});
  EXPECT_THAT(fromBytes<int32_t>(results[0]), ElementsAre(9, 9, 9, 4));
  // a is 1 2 3 4, then 9 2 3 4, then 9 9 3 4.
  EXPECT_THAT(fromBytes<int32_t>(results[1]), ElementsAre(20, 15, 12, 16));
}

TEST(ControlFlowTest, loops_of_thousands_of_values_are_written_in_parts) {
  // Fibonacci's step along a row of values, and a sum of a constant that the pool holds.
  constexpr int kValues = 3000;
  std::string carried, steps, stepped, looped, values, types;
  for (int i = 0; i < kValues; ++i) {
    const std::string here = std::to_string(i), next = std::to_string((i + 1) % kValues);
    carried += ", %c" + here + " = %x" + (i % 2 ? "1" : "0");
    steps += "%v" + here + " = stablehlo.add %c" + here + ", %c" + next + " : tensor<i64>\n";
    stepped += ", %v" + here;
    looped += ", %l#" + std::to_string(i + 2);
    types += ", tensor<i64>";
  }
  for (int i = 0; i < 100; ++i) values += (i ? ", " : "") + std::to_string(i);
  auto results = run(
      "func.func @main(%n: tensor<i32>, %x0: tensor<i64>, %x1: tensor<i64>) -> (tensor<100xi32>" +
          types + ") {\n%zero = stablehlo.constant dense<0> : tensor<i32>\n" +
          "%a0 = stablehlo.constant dense<0> : tensor<100xi32>\n%l:" + std::to_string(kValues + 2) +
          " = stablehlo.while(%i = %zero, %a = %a0" + carried + ") : tensor<i32>, tensor<100xi32>" +
          types + R"(
      cond {
        %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %all = stablehlo.constant dense<[)" +
          values + R"(]> : tensor<100xi32>
        %j = stablehlo.add %i, %one : tensor<i32>
        %b = stablehlo.add %a, %all : tensor<100xi32>
)" + steps +
          "stablehlo.return %j, %b" + stepped + " : tensor<i32>, tensor<100xi32>" + types +
          "\n}\nreturn %l#1" + looped + " : tensor<100xi32>" + types + "\n}",
      {toBytes<int32_t>({10}), toBytes<int64_t>({1}), toBytes<int64_t>({2})});
  ASSERT_EQ(results.size(), kValues + 1u);
  EXPECT_THAT(fromBytes<int32_t>(results[0])[99], 990);
  // Each step makes of x and y, which alternate, x + y everywhere, and doubles that from then on.
  for (int i : {1, 2, 1000, kValues}) {
    EXPECT_THAT(fromBytes<int64_t>(results[i]), ElementsAre(3 << 9));
  }
}

}  // namespace
}  // namespace isthmus::cpu

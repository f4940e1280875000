// Programs from text to results: straight-line code, donation, constants, library functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/testing/program_runner.h"

namespace isthmus::cpu {
namespace {

using testing::Bytes;
using testing::compileText;
using ::testing::ElementsAre;
using testing::fromBytes;
using ::testing::HasSubstr;
using testing::runText;
using testing::toBytes;
using Floats = std::vector<float>;

std::vector<Bytes> run(const std::string& text, const std::vector<Bytes>& arguments) {
  StatusOr<std::vector<Bytes>> results = runText(text, arguments);
  EXPECT_TRUE(results.ok()) << results.status().message();
  return results.ok() ? *results : std::vector<Bytes>(8);
}

TEST(ProgramTest, adds_one) {
  auto results = run(R"(
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %one = stablehlo.constant dense<1.0> : tensor<4xf32>
      %y = stablehlo.add %x, %one : tensor<4xf32>
      return %y : tensor<4xf32>
    })",
                     {toBytes<float>({1, 2, 3, 4})});
  EXPECT_THAT(fromBytes<float>(results[0]), ElementsAre(2, 3, 4, 5));
}

TEST(ProgramTest, returns_parameters_constants_and_repeats) {
  auto results = run(R"(
    func.func @main(%x: tensor<3xi32>) ->
        (tensor<3xi32>, tensor<3xi1>, tensor<3xi32>, tensor<3xi32>) {
      %c = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
      %y = stablehlo.multiply %x, %x : tensor<3xi32>
      return %x, %c, %y, %y : tensor<3xi32>, tensor<3xi1>, tensor<3xi32>, tensor<3xi32>
    })",
                     {toBytes<int32_t>({1, -2, 3})});
  EXPECT_THAT(fromBytes<int32_t>(results[0]), ElementsAre(1, -2, 3));
  EXPECT_THAT(fromBytes<char>(results[1]), ElementsAre(1, 0, 1));
  EXPECT_THAT(fromBytes<int32_t>(results[2]), ElementsAre(1, 4, 9));
  EXPECT_THAT(fromBytes<int32_t>(results[3]), ElementsAre(1, 4, 9));
}

TEST(ProgramTest, large_constants_come_from_the_pool) {
  // 100 different values: 400 bytes, more than fits into code.
  std::string values;
  for (int i = 0; i < 100; ++i) values += (i ? ", " : "") + std::to_string(i * i);
  auto results =
      run("func.func @main(%x: tensor<100xi32>) -> (tensor<100xi32>, tensor<100xi32>) {"
          "%c = stablehlo.constant dense<[" +
              values +
              "]> : tensor<100xi32>\n"
              "%y = stablehlo.add %x, %c : tensor<100xi32>\n"
              "return %y, %c : tensor<100xi32>, tensor<100xi32> }",
          {toBytes(std::vector<int32_t>(100, 7))});
  std::vector<int32_t> sums = fromBytes<int32_t>(results[0]);
  std::vector<int32_t> squares = fromBytes<int32_t>(results[1]);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(sums[i], i * i + 7);
    EXPECT_EQ(squares[i], i * i);
  }
}

TEST(ProgramTest, donated_parameters_hold_the_result) {
  std::string text = R"(
    func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 1 : i32},
                    %y: tensor<4xf32> {jax.buffer_donor = true}) ->
        (tensor<4xf32>, tensor<4xf32>) {
      %s = stablehlo.add %x, %y : tensor<4xf32>
      %d = stablehlo.subtract %x, %y : tensor<4xf32>
      return %s, %d : tensor<4xf32>, tensor<4xf32>
    })";
  StatusOr<ProgramImage> image = compileText(text);
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_EQ(image->info.parameters[0].aliasedOutput, 1);
  // The donor is matched with the output that is left.
  EXPECT_EQ(image->info.parameters[1].donation, DonationKind::kMustAlias);
  EXPECT_EQ(image->info.parameters[1].aliasedOutput, 0);
  auto results = run(text, {toBytes<float>({1, 2, 3, 4}), toBytes<float>({10, 20, 30, 40})});
  EXPECT_THAT(fromBytes<float>(results[0]), ElementsAre(11, 22, 33, 44));
  EXPECT_THAT(fromBytes<float>(results[1]), ElementsAre(-9, -18, -27, -36));
}

TEST(ProgramTest, donors_take_an_output_of_their_size_or_are_kept) {
  std::string text = R"(
    func.func @main(%x: tensor<4xi32> {jax.buffer_donor = true},
                    %y: tensor<2xf32> {jax.buffer_donor = true}) -> (tensor<2x2xf32>, tensor<f32>) {
      %f = stablehlo.convert %x : (tensor<4xi32>) -> tensor<4xf32>
      %r = stablehlo.reshape %f : (tensor<4xf32>) -> tensor<2x2xf32>
      %s = stablehlo.slice %y [1:2] : (tensor<2xf32>) -> tensor<1xf32>
      %t = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>
      return %r, %t : tensor<2x2xf32>, tensor<f32>
    })";
  StatusOr<ProgramImage> image = compileText(text);
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_EQ(image->info.parameters[0].donation, DonationKind::kMustAlias);
  EXPECT_EQ(image->info.parameters[0].aliasedOutput, 0);
  EXPECT_EQ(image->info.parameters[1].donation, DonationKind::kNone);
  auto results = run(text, {toBytes<int32_t>({1, 2, 3, 4}), toBytes<float>({10, 20})});
  EXPECT_THAT(fromBytes<float>(results[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(fromBytes<float>(results[1]), ElementsAre(20));
}

TEST(ProgramTest, donations_that_cross_are_swapped) {
  auto results = run(R"(
    func.func @main(%x: tensor<64xi32> {tf.aliasing_output = 0 : i32},
                    %y: tensor<64xi32> {tf.aliasing_output = 1 : i32}) ->
        (tensor<64xi32>, tensor<64xi32>) {
      return %y, %x : tensor<64xi32>, tensor<64xi32>
    })",
                     {toBytes(std::vector<int32_t>(64, 1)), toBytes(std::vector<int32_t>(64, 2))});
  EXPECT_EQ(fromBytes<int32_t>(results[0]), std::vector<int32_t>(64, 2));
  EXPECT_EQ(fromBytes<int32_t>(results[1]), std::vector<int32_t>(64, 1));
}

TEST(ProgramTest, views_take_no_code) {
  auto results = run(R"(
    func.func @main(%x: tensor<6xf32>) -> tensor<2x3xi32> {
      %y = stablehlo.negate %x : tensor<6xf32>
      %r = stablehlo.reshape %y : (tensor<6xf32>) -> tensor<2x3xf32>
      %b = stablehlo.bitcast_convert %r : (tensor<2x3xf32>) -> tensor<2x3xi32>
      return %b : tensor<2x3xi32>
    })",
                     {toBytes<float>({0, 1, 2, 3, 4, 5})});
  EXPECT_EQ(fromBytes<int32_t>(results[0])[1], static_cast<int32_t>(0xBF800000));
}

TEST(ProgramTest, large_arrays_are_split_into_tiles) {
  constexpr int kSize = 1 << 20;
  std::vector<float> input(kSize);
  for (int i = 0; i < kSize; ++i) input[i] = static_cast<float>(i % 1000);
  auto results = run(R"(
    func.func @main(%x: tensor<1048576xf32>) -> tensor<1048576xf32> {
      %y = stablehlo.multiply %x, %x : tensor<1048576xf32>
      %z = stablehlo.add %y, %x : tensor<1048576xf32>
      return %z : tensor<1048576xf32>
    })",
                     {toBytes(input)});
  std::vector<float> output = fromBytes<float>(results[0]);
  for (int i = 0; i < kSize; i += 997) {
    EXPECT_EQ(output[i], input[i] * input[i] + input[i]) << i;
  }
}

TEST(ProgramTest, multiplies_matrices) {
  auto results = run(R"(
    func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) -> tensor<2x2xf32> {
      %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
          : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
      return %c : tensor<2x2xf32>
    })",
                     {toBytes<float>({1, 2, 3, 4, 5, 6}), toBytes<float>({1, 0, 0, 1, 1, 1})});
  EXPECT_THAT(fromBytes<float>(results[0]), ElementsAre(4, 5, 10, 11));
}

TEST(ProgramTest, convolves) {
  auto results = run(R"(
    func.func @main(%x: tensor<1x5x1xf32>, %k: tensor<3x1x1xf32>) -> tensor<1x5x1xf32> {
      %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
          window = {pad = [[1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64}
          : (tensor<1x5x1xf32>, tensor<3x1x1xf32>) -> tensor<1x5x1xf32>
      return %y : tensor<1x5x1xf32>
    })",
                     {toBytes<float>({1, 2, 3, 4, 5}), toBytes<float>({1, 10, 100})});
  EXPECT_THAT(fromBytes<float>(results[0]), ElementsAre(210, 321, 432, 543, 54));
}

TEST(ProgramTest, empty_arrays_and_programs_work) {
  auto results = run(R"(
    func.func @main(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
      %y = stablehlo.add %x, %x : tensor<0x4xf32>
      return %y : tensor<0x4xf32>
    })",
                     {Bytes()});
  EXPECT_TRUE(results[0].empty());
  EXPECT_TRUE(runText("func.func @main() { return }", {}).ok());
}

TEST(ProgramTest, an_operation_without_code_is_named_with_its_place) {
  StatusOr<ProgramImage> image = compileText(R"(
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %y = stablehlo.custom_call @unknown(%x) : (tensor<8xf32>) -> tensor<8xf32>
          loc("train.py":12:5)
      return %y : tensor<8xf32>
    })");
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(image.status().message()),
              HasSubstr("stablehlo.custom_call @unknown (tensor<8xf32>)"));
  EXPECT_THAT(std::string(image.status().message()), HasSubstr("train.py:12:5"));
}

TEST(ProgramTest, info_describes_the_program) {
  StatusOr<ProgramImage> image = compileText(R"(
    func.func @main(%x: tensor<4x8xf32> {mhlo.memory_kind = "pinned_host"}, %w: tensor<8x2xf32>)
        -> tensor<4x2xf32> {
      %e = stablehlo.exponential %x : tensor<4x8xf32>
      %y = stablehlo.dot_general %e, %w, contracting_dims = [1] x [0]
          : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
      return %y : tensor<4x2xf32>
    })");
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_EQ(image->info.parameters[0].memoryKind, "pinned_host");
  EXPECT_EQ(image->info.parameters[1].memoryKind, "device");
  EXPECT_EQ(image->info.outputs[0].type.toString(), "tensor<4x2xf32>");
  EXPECT_EQ(image->info.costs["flops"], 2 * 4 * 8 * 2);
  EXPECT_EQ(image->info.costs["transcendentals"], 32);
  EXPECT_EQ(image->info.memory.argumentBytes, (32 + 16) * 4);
  EXPECT_EQ(image->info.memory.outputBytes, 8 * 4);
  EXPECT_EQ(image->info.memory.tempBytes, 128);
  EXPECT_GT(image->info.memory.generatedCodeBytes, 0);
}

}  // namespace
}  // namespace isthmus::cpu

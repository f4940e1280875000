// Library-shaped operations in programs: sorts and collectives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "backends/cpu/testing/program_runner.h"
#include "runtime/ffi/registry.h"

namespace isthmus::cpu {
namespace {

using testing::Bytes;
using testing::compileText;
using ::testing::ElementsAre;
using testing::fromBytes;
using ::testing::HasSubstr;
using testing::runText;
using testing::toBytes;

std::vector<Bytes> run(const std::string& text, const std::vector<Bytes>& arguments) {
  StatusOr<std::vector<Bytes>> results = runText(text, arguments);
  EXPECT_TRUE(results.ok()) << results.status().message();
  return results.ok() ? *results : std::vector<Bytes>(8);
}

// Whether the program calls a generated comparator, by the name of its function in the object.
bool hasComparator(const std::string& text) {
  StatusOr<ProgramImage> image = compileText(text);
  EXPECT_TRUE(image.ok()) << image.status().message();
  return image.ok() && image->objects[0].find("comparator0") != std::string::npos;
}

// JAX's lax.sort of one float key with a payload.
constexpr char kSortFloats[] = R"(
    func.func @main(%x: tensor<5xf32>, %y: tensor<5xi32>) -> (tensor<5xf32>, tensor<5xi32>) {
      %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
        %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
        %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
        %1 = stablehlo.compare EQ, %a, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %2 = stablehlo.select %1, %zero, %a : tensor<i1>, tensor<f32>
        %3 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %4 = stablehlo.select %3, %nan, %2 : tensor<i1>, tensor<f32>
        %5 = stablehlo.compare EQ, %b, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %6 = stablehlo.select %5, %zero, %b : tensor<i1>, tensor<f32>
        %7 = stablehlo.compare NE, %b, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %8 = stablehlo.select %7, %nan, %6 : tensor<i1>, tensor<f32>
        %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %9 : tensor<i1>
      }) : (tensor<5xf32>, tensor<5xi32>) -> (tensor<5xf32>, tensor<5xi32>)
      return %0#0, %0#1 : tensor<5xf32>, tensor<5xi32>
    })";

TEST(SortTest, floats_with_a_payload) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  auto results = run(
      kSortFloats, {toBytes<float>({3, -nan, 0.0f, -0.0f, -1}), toBytes<int32_t>({0, 1, 2, 3, 4})});
  // Zeros are equal and keep their order; NaNs come last.
  EXPECT_THAT(fromBytes<int32_t>(results[1]), ElementsAre(4, 2, 3, 0, 1));
  EXPECT_FALSE(hasComparator(kSortFloats));
}

TEST(SortTest, two_integer_keys) {
  std::string text = R"(
    func.func @main(%x: tensor<4xi32>, %y: tensor<4xui32>) -> (tensor<4xi32>, tensor<4xui32>) {
      %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<ui32>, %d: tensor<ui32>):
        %1 = stablehlo.compare LT, %c, %d, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
        %2 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %3 = stablehlo.compare EQ, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %4 = stablehlo.and %3, %1 : tensor<i1>
        %5 = stablehlo.or %2, %4 : tensor<i1>
        stablehlo.return %5 : tensor<i1>
      }) : (tensor<4xi32>, tensor<4xui32>) -> (tensor<4xi32>, tensor<4xui32>)
      return %0#0, %0#1 : tensor<4xi32>, tensor<4xui32>
    })";
  auto results =
      run(text, {toBytes<int32_t>({1, -1, 1, -1}), toBytes<uint32_t>({0xFFFFFFFFu, 5, 2, 4})});
  EXPECT_THAT(fromBytes<int32_t>(results[0]), ElementsAre(-1, -1, 1, 1));
  EXPECT_THAT(fromBytes<uint32_t>(results[1]), ElementsAre(4, 5, 2, 0xFFFFFFFFu));
  EXPECT_FALSE(hasComparator(text));
}

TEST(SortTest, descending_along_the_first_dimension) {
  std::string text = R"(
    func.func @main(%x: tensor<3x2xi32>) -> tensor<3x2xi32> {
      %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %1 = stablehlo.compare GT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }) : (tensor<3x2xi32>) -> tensor<3x2xi32>
      return %0 : tensor<3x2xi32>
    })";
  auto results = run(text, {toBytes<int32_t>({1, 9, 3, 7, 2, 8})});
  EXPECT_THAT(fromBytes<int32_t>(results[0]), ElementsAre(3, 9, 2, 8, 1, 7));
  EXPECT_FALSE(hasComparator(text));
}

TEST(SortTest, any_other_comparator_is_generated) {
  // By distance from a constant that is defined outside.
  std::string text = R"(
    func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
      %mid = stablehlo.constant dense<10.0> : tensor<f32>
      %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.subtract %a, %mid : tensor<f32>
        %2 = stablehlo.subtract %b, %mid : tensor<f32>
        %3 = stablehlo.abs %1 : tensor<f32>
        %4 = stablehlo.abs %2 : tensor<f32>
        %5 = stablehlo.compare LT, %3, %4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %5 : tensor<i1>
      }) : (tensor<6xf32>) -> tensor<6xf32>
      return %0 : tensor<6xf32>
    })";
  auto results = run(text, {toBytes<float>({1, 9, 20, 10, 11, 13})});
  EXPECT_THAT(fromBytes<float>(results[0]), ElementsAre(10, 9, 11, 13, 1, 20));
  EXPECT_TRUE(hasComparator(text));
}

// What takes milliseconds must not run on the thread of who launches it: what a region computes
// counts as often as it is evaluated.
TEST(Estimates, count_what_regions_compute) {
  std::string sines;
  for (int i = 0; i < 100; ++i) {
    std::string from = i == 0 ? "a" : "s" + std::to_string(i - 1);
    sines += "%s" + std::to_string(i) + " = stablehlo.sine %" + from + " : tensor<f32>\n";
  }
  auto estimate = [](const std::string& body) {
    StatusOr<ProgramImage> image = compileText(
        "func.func @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {\n%z = stablehlo.constant "
        "dense<0.0> : tensor<f32>\n" +
        body + "return %0 : tensor<1024xf32>\n}");
    EXPECT_TRUE(image.ok()) << image.status().message();
    return image.ok() ? image->estimatedNs : 0;
  };
  auto sort = [&](const std::string& work, const std::string& key) {
    return estimate(
        "%0 = \"stablehlo.sort\"(%x) ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n" + work +
        "%c = stablehlo.compare LT, %" + key +
        ", %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\nstablehlo.return %c : "
        "tensor<i1>\n}) {dimension = 0 : i64} : (tensor<1024xf32>) -> tensor<1024xf32>\n");
  };
  EXPECT_LT(sort("", "a"), 100'000);
  EXPECT_GT(sort(sines, "s99"), 1'000'000);
  auto window = [&](int64_t size) {
    return estimate(
        "%0 = \"stablehlo.reduce_window\"(%x, %z) ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
        "%c = stablehlo.add %a, %b : tensor<f32>\nstablehlo.return %c : tensor<f32>\n}) "
        "{window_dimensions = array<i64: " +
        std::to_string(size) + ">, padding = dense<[[" + std::to_string(size / 2) + ", " +
        std::to_string(size - 1 - size / 2) +
        "]]> : tensor<1x2xi64>} : (tensor<1024xf32>, tensor<f32>) -> tensor<1024xf32>\n");
  };
  EXPECT_LT(window(3), 15'000);
  EXPECT_GT(window(1023), 50'000);
}

TEST(SortTest, top_k_is_a_composite) {
  auto results = run(R"(
    func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>) {
      %v, %i = stablehlo.composite "chlo.top_k" %x
          {composite_attributes = {k = 2 : i64}, decomposition = @top_k}
          : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
      return %v, %i : tensor<2x2xf32>, tensor<2x2xi32>
    }
    func.func private @top_k(%x: tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>))",
                     {toBytes<float>({1, 4, 2, 4, 8, 7, 6, 9})});
  EXPECT_THAT(fromBytes<float>(results[0]), ElementsAre(4, 4, 9, 8));
  EXPECT_THAT(fromBytes<int32_t>(results[1]), ElementsAre(1, 3, 3, 0));
}

TEST(NumericOpsTest, fourier_transform) {
  auto results = run(R"(
    func.func @main(%x: tensor<4xf32>) -> tensor<3xcomplex<f32>> {
      %y = stablehlo.fft %x, type = RFFT, length = [4] : (tensor<4xf32>) -> tensor<3xcomplex<f32>>
      return %y : tensor<3xcomplex<f32>>
    })",
                     {toBytes<float>({1, 2, 3, 4})});
  EXPECT_THAT(fromBytes<float>(results[0]), ElementsAre(10, 0, -2, 2, -2, 0));
}

TEST(NumericOpsTest, random_bits) {
  // The first block of Philox 4x32-10 with key and counter zero (Random123's known answers).
  auto results = run(R"(
    func.func @main(%s: tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>) {
      %t, %y = stablehlo.rng_bit_generator %s, algorithm = PHILOX
          : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
      return %t, %y : tensor<3xui64>, tensor<4xui32>
    })",
                     {toBytes<uint64_t>({0, 0, 0})});
  EXPECT_THAT(fromBytes<uint32_t>(results[1]),
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
}

TEST(NumericOpsTest, solves_triangular_systems_with_a_cholesky_factor) {
  auto results = run(R"(
    func.func @main(%a: tensor<2x2xf64>, %b: tensor<2x1xf64>) -> (tensor<2x2xf64>, tensor<2x1xf64>) {
      %l = stablehlo.cholesky %a, lower = true : tensor<2x2xf64>
      %x = "stablehlo.triangular_solve"(%l, %b) <{left_side = true, lower = true,
          unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}>
          : (tensor<2x2xf64>, tensor<2x1xf64>) -> tensor<2x1xf64>
      return %l, %x : tensor<2x2xf64>, tensor<2x1xf64>
    })",
                     {toBytes<double>({4, 2, 2, 10}), toBytes<double>({2, 7})});
  EXPECT_THAT(fromBytes<double>(results[0]), ElementsAre(2, 0, 1, 3));
  EXPECT_THAT(fromBytes<double>(results[1]), ElementsAre(1, 2));
}

// jaxlib's handler, which calls OpenBLAS, is for large ones.
TEST(LapackCallsTest, small_triangular_solves_are_computed_without_the_handler) {
  ffi::Handler handler;
  handler.untyped = &handler;  // never called: of a kind that the call's version refuses
  ASSERT_TRUE(ffi::registerHandler("lapack_dtrsm_ffi", "Host", handler).ok());
  // As legalization leaves it: arrays lie in columns.
  auto program = [](const std::string& size) {
    const std::string a = "tensor<" + size + "x" + size + "xf64>", b = "tensor<1x" + size + "xf64>";
    return "func.func @main(%a: " + a + ", %b: " + b + ") -> " + b + R"( {
      %x = stablehlo.custom_call @lapack_dtrsm_ffi(%a, %b) {
          mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8},
          operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>],
          result_layouts = [dense<[0, 1]> : tensor<2xindex>], api_version = 4 : i32}
          : ()" +
           a + ", " + b + ") -> " + b + "\n return %x : " + b + "\n}";
  };
  auto results = run(program("2"), {toBytes<double>({2, 1, 99, 4}), toBytes<double>({2, 9})});
  EXPECT_THAT(fromBytes<double>(results[0]), ElementsAre(1, 2));
  StatusOr<ProgramImage> large = compileText(program("65"));
  EXPECT_THAT(std::string(large.status().message()), HasSubstr("its handler is untyped"));
}

TEST(CollectiveOpsTest, unknown_reductions_are_named) {
  StatusOr<ProgramImage> image = compileText(R"(
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %1 = stablehlo.subtract %a, %b : tensor<f32>
        stablehlo.return %1 : tensor<f32>
      }) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    })");
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(image.status().message()), HasSubstr("stablehlo.all_reduce"));
  EXPECT_THAT(std::string(image.status().message()), HasSubstr("add, multiply"));
}

TEST(CollectiveOpsTest, ids_without_an_assignment_are_zero) {
  auto results = run(R"(
    func.func @main() -> (tensor<ui32>, tensor<ui32>) {
      %p = stablehlo.partition_id : tensor<ui32>
      %r = stablehlo.replica_id : tensor<ui32>
      return %p, %r : tensor<ui32>, tensor<ui32>
    })",
                     {});
  EXPECT_THAT(fromBytes<uint32_t>(results[0]), ElementsAre(0));
  EXPECT_THAT(fromBytes<uint32_t>(results[1]), ElementsAre(0));
}

TEST(CollectiveOpsTest, a_collective_makes_a_program_wait) {
  StatusOr<ProgramImage> image = compileText(R"(
    func.func @main(%x: tensor<4xf32>) -> tensor<8xf32> {
      %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64,
          replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}>
          : (tensor<4xf32>) -> tensor<8xf32>
      return %0 : tensor<8xf32>
    })");
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_TRUE(image->mayBlock);
}

}  // namespace
}  // namespace isthmus::cpu

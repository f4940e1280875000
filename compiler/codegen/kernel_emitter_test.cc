// Fusions of each kind against plain loops, odd sizes included; kernel_check.py has many more
// cases.
#include "compiler/codegen/kernel_emitter.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "backends/cpu/testing/kernel_harness.h"
#include "compiler/schedule/loop/sharing.h"
#include "isthmus/float_mode.h"
#include "runtime/memory/guarded_blocks.h"

namespace isthmus::codegen {
namespace {

std::vector<float> randomFloats(size_t count) {
  std::mt19937 random(3);
  std::vector<float> values(count);
  for (float& value : values) value = std::uniform_real_distribution<float>(-2, 2)(random);
  return values;
}

// `body` computes %out from the arguments.
std::string fusionText(const std::vector<std::string>& inputs, const std::string& output,
                       const std::string& body) {
  std::string arguments, names, types, blockArguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string comma = i ? ", " : "";
    arguments += comma + "%in" + std::to_string(i) + ": " + inputs[i];
    names += comma + "%in" + std::to_string(i);
    types += comma + inputs[i];
    blockArguments += comma + "%" + std::to_string(i) + ": " + inputs[i];
  }
  return "func.func @f(" + arguments + ") -> " + output + " {\n  %r = \"isthmus.fusion\"(" + names +
         ") ({\n  ^bb0(" + blockArguments + "):\n" + body + "\n    isthmus.yield %out : " + output +
         "\n  }) : (" + types + ") -> " + output + "\n  return %r : " + output + "\n}\n";
}

std::unique_ptr<TestKernel> compile(const std::string& text) {
  cpu::CodegenOptions options;
  options.verify = true;
  auto kernel = TestKernel::compile(text, options);
  EXPECT_TRUE(kernel.ok()) << kernel.status().message() << text;
  return kernel.ok() ? std::move(*kernel) : nullptr;
}

TEST(KernelEmitter, adds_with_a_row_vector_at_odd_sizes) {
  for (int64_t columns : {1, 3, 7, 8, 9, 31, 64}) {
    int64_t rows = 5;
    std::string big = "tensor<5x" + std::to_string(columns) + "xf32>";
    std::string small = "tensor<" + std::to_string(columns) + "xf32>";
    auto kernel =
        compile(fusionText({big, small}, big,
                           "    %b = stablehlo.broadcast_in_dim %1, dims = [1] : (" + small +
                               ") -> " + big + "\n    %out = stablehlo.add %0, %b : " + big));
    ASSERT_TRUE(kernel);
    auto x = randomFloats(rows * columns), b = randomFloats(columns);
    std::vector<float> y(rows * columns, -7);
    kernel->run({x.data(), b.data(), y.data()});
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        ASSERT_EQ(y[i * columns + j], x[i * columns + j] + b[j]) << columns;
      }
    }
  }
}

TEST(KernelEmitter, tiles_may_run_in_any_order) {
  std::string type = "tensor<300007xf32>";
  auto kernel = compile(fusionText({type}, type, "    %out = stablehlo.negate %0 : " + type));
  ASSERT_TRUE(kernel);
  ASSERT_GT(kernel->kernel().stages[0].tiles, 1);
  auto x = randomFloats(300007);
  std::vector<float> y(x.size(), -7);
  kernel->run({x.data(), y.data()}, 5);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], -x[i]) << i;
}

TEST(KernelEmitter, transposes_blocks_and_their_edges) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{64, 64}, {19, 35}, {8, 9}, {100, 8}}) {
    std::string from = "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "xf32>";
    std::string to = "tensor<" + std::to_string(columns) + "x" + std::to_string(rows) + "xf32>";
    auto kernel = compile(fusionText(
        {from}, to, "    %out = stablehlo.transpose %0, dims = [1, 0] : (" + from + ") -> " + to));
    ASSERT_TRUE(kernel);
    auto x = randomFloats(rows * columns);
    std::vector<float> y(x.size());
    kernel->run({x.data(), y.data()});
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) ASSERT_EQ(y[j * rows + i], x[i * columns + j]);
    }
  }
}

const char* kSoftmax = R"(
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %m = stablehlo.reduce(%0 init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<9x61xf32>, tensor<f32>) -> tensor<9xf32>
    %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<9xf32>) -> tensor<9x61xf32>
    %d = stablehlo.subtract %0, %mb : tensor<9x61xf32>
    %e = stablehlo.exponential %d : tensor<9x61xf32>
    %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<9x61xf32>, tensor<f32>) -> tensor<9xf32>
    %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<9xf32>) -> tensor<9x61xf32>
    %out = stablehlo.divide %e, %sb : tensor<9x61xf32>)";

TEST(KernelEmitter, softmax_in_one_kernel_computes_each_exponential_once) {
  auto kernel = compile(fusionText({"tensor<9x61xf32>"}, "tensor<9x61xf32>", kSoftmax));
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->kernel().stages.size(), 1u);
  auto x = randomFloats(9 * 61);
  std::vector<float> y(x.size());
  kernel->run({x.data(), y.data()});
  for (int i = 0; i < 9; ++i) {
    double sum = 0;
    for (int j = 0; j < 61; ++j) sum += std::exp(double(x[i * 61 + j]));
    for (int j = 0; j < 61; ++j) {
      ASSERT_NEAR(y[i * 61 + j], std::exp(double(x[i * 61 + j])) / sum, 1e-6);
    }
  }
}

// Blocks of as many rows as a vector has lanes, and what is left of rows and of blocks.
// A result of each row, of what the loop over the row has stored, reads that: where it is the same
// row.
TEST(KernelEmitter, sums_of_a_row_that_was_stored_compute_nothing_again) {
  constexpr int64_t kRows = 6, kColumns = 128;
  const std::string big = "tensor<6x128xf32>", small = "tensor<6xf32>";
  for (bool isReversed : {false, true}) {
    const std::string summed =
        isReversed ? "    %v = stablehlo.reverse %e, dims = [0, 1] : " + big + "\n" : "";
    auto kernel = compile(
        "func.func @f(%in: " + big + ") -> (" + big + ", " + small +
        ") {\n  %r:2 = \"isthmus.fusion\"(%in) <{schedule = [\"loop results=0 rows=1 "
        "dims=0:6,1:128 "
        "lanes=4 cuts=0,128 chunk=128 reduce=" +
        std::string(isReversed ? "3" : "2") + ":row:4x1\"]}> ({\n  ^bb0(%0: " + big +
        "):\n    %z = stablehlo.constant dense<0.0> : tensor<f32>\n    %e = stablehlo.sqrt %0 : " +
        big + "\n" + summed + "    %s = stablehlo.reduce(" + (isReversed ? "%v" : "%e") +
        " init: %z) applies stablehlo.add across dimensions = [1] : (" + big +
        ", tensor<f32>) -> " + small + "\n    isthmus.yield %e, %s : " + big + ", " + small +
        "\n  }) : (" + big + ") -> (" + big + ", " + small + ")\n  return %r#0, %r#1 : " + big +
        ", " + small + "\n}\n");
    ASSERT_TRUE(kernel);
    std::vector<float> x(kRows * kColumns), y(x.size()), sums(kRows);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 101 * (i * i % 101));
    kernel->run({x.data(), y.data(), sums.data()});
    for (int64_t row = 0; row < kRows; ++row) {
      float sum = 0;
      for (int64_t j = 0; j < kColumns; ++j) {
        ASSERT_EQ(y[row * kColumns + j], std::sqrt(x[row * kColumns + j]));
        sum += y[(isReversed ? kRows - 1 - row : row) * kColumns + j];
      }
      EXPECT_EQ(sums[row], sum) << row;
    }
    const std::string& ir = kernel->llvmIr();
    const std::string call = "call <4 x float> @llvm.sqrt";
    const bool isTwice = ir.find(call) != ir.rfind(call);
    EXPECT_EQ(isTwice, isReversed) << ir;
  }
}

TEST(KernelEmitter, reduces_short_rows_in_blocks) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{32, 16}, {37, 17}, {64, 33}, {300, 9}}) {
    const std::string row = "tensor<" + std::to_string(rows) + "xf32>";
    const std::string all =
        "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "xf32>";
    const std::string reduce = " across dimensions = [1] : (" + all + ", tensor<f32>) -> " + row;
    const std::string body =
        "    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
        "    %five = stablehlo.constant dense<5.0> : tensor<f32>\n"
        "    %m = stablehlo.reduce(%0 init: %low) applies stablehlo.maximum" +
        reduce + "\n    %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (" + row + ") -> " + all +
        "\n    %d = stablehlo.subtract %0, %mb : " + all +
        "\n    %e = stablehlo.exponential %d : " + all +
        "\n    %s = stablehlo.reduce(%e init: %five) applies stablehlo.add" + reduce + "\n";
    auto ofRows =
        compile(fusionText({all}, row, body + "    %out = stablehlo.add %s, %m : " + row));
    auto ofElements =
        compile(fusionText({all}, all,
                           body + "    %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (" + row +
                               ") -> " + all + "\n    %out = stablehlo.divide %e, %sb : " + all));
    ASSERT_TRUE(ofRows && ofElements);
    auto x = randomFloats(rows * columns);
    x[3 * columns + 1] = NAN;
    std::vector<float> numbers(rows, -7), elements(x.size(), -7);
    ofRows->run({x.data(), numbers.data()});
    ofElements->run({x.data(), elements.data()});
    for (int64_t i = 0; i < rows; ++i) {
      const float* own = x.data() + i * columns;
      const bool hasNan = i == 3;
      double highest = -INFINITY, sum = 5;
      for (int64_t j = 0; j < columns; ++j) highest = std::max(highest, double(own[j]));
      for (int64_t j = 0; j < columns; ++j) sum += std::exp(own[j] - highest);
      if (hasNan) {
        EXPECT_TRUE(std::isnan(numbers[i]));
      } else {
        ASSERT_NEAR(numbers[i], sum + highest, 1e-5) << rows << "x" << columns << " row " << i;
      }
      for (int64_t j = 0; j < columns; ++j) {
        if (hasNan) {
          EXPECT_TRUE(std::isnan(elements[i * columns + j]));
        } else {
          ASSERT_NEAR(elements[i * columns + j], std::exp(own[j] - highest) / sum, 1e-6);
        }
      }
    }
  }
}

TEST(KernelEmitter, column_sums_start_from_the_initial_value_once) {
  auto kernel = compile(fusionText(
      {"tensor<37x45xf32>"}, "tensor<45xf32>",
      "    %c = stablehlo.constant dense<5.0> : tensor<f32>\n"
      "    %out = stablehlo.reduce(%0 init: %c) applies stablehlo.add across dimensions = [0] : "
      "(tensor<37x45xf32>, tensor<f32>) -> tensor<45xf32>"));
  ASSERT_TRUE(kernel);
  auto x = randomFloats(37 * 45);
  std::vector<float> y(45);
  kernel->run({x.data(), y.data()});
  for (int j = 0; j < 45; ++j) {
    double sum = 5;
    for (int i = 0; i < 37; ++i) sum += x[i * 45 + j];
    ASSERT_NEAR(y[j], sum, 1e-4);
  }
}

TEST(KernelEmitter, a_slice_is_updated_in_place) {
  auto kernel = compile(fusionText(
      {"tensor<10xf32>", "tensor<3xf32>", "tensor<i32>"}, "tensor<10xf32>",
      "    %u = stablehlo.negate %1 : tensor<3xf32>\n"
      "    %out = stablehlo.dynamic_update_slice %0, %u, %2 : (tensor<10xf32>, tensor<3xf32>, "
      "tensor<i32>) -> tensor<10xf32>"));
  ASSERT_TRUE(kernel);
  EXPECT_TRUE(canShareBuffer(kernel->fusion(), 0, 0));
  EXPECT_FALSE(canShareBuffer(kernel->fusion(), 1, 0));
  std::vector<float> x(10), u = {1, 2, 3};
  std::iota(x.begin(), x.end(), 10.0f);
  int32_t start = 100;  // clamped to 7
  kernel->run({x.data(), u.data(), &start, x.data()});
  EXPECT_EQ(x, (std::vector<float>{10, 11, 12, 13, 14, 15, 16, -1, -2, -3}));
}

TEST(KernelEmitter, only_reads_at_the_same_index_allow_sharing) {
  std::string type = "tensor<8x8xf32>";
  auto kernel =
      compile(fusionText({type, type, type}, type,
                         "    %t = stablehlo.transpose %1, dims = [1, 0] : (" + type + ") -> " +
                             type + "\n    %a = stablehlo.add %0, %t : " + type +
                             "\n    %r = stablehlo.reverse %2, dims = [0] : " + type +
                             "\n    %out = stablehlo.add %a, %r : " + type));
  ASSERT_TRUE(kernel);
  EXPECT_TRUE(canShareBuffer(kernel->fusion(), 0, 0));
  EXPECT_FALSE(canShareBuffer(kernel->fusion(), 1, 0));
  EXPECT_FALSE(canShareBuffer(kernel->fusion(), 2, 0));
}

TEST(KernelEmitter, an_op_without_a_kernel_is_named_and_leaves_nothing_behind) {
  auto kernel = TestKernel::compile(
      fusionText({"tensor<4x4xf32>"}, "tensor<4x4xf32>",
                 "    %out = stablehlo.cholesky %0, lower = true : tensor<4x4xf32>"));
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.status().code(), StatusCode::kUnimplemented);
  EXPECT_NE(kernel.status().message().find("stablehlo.cholesky"), std::string_view::npos);
  EXPECT_NE(kernel.status().message().find("4x4xf32"), std::string_view::npos);
}

TEST(KernelEmitter, code_for_avx512_is_generated) {
  TargetModel target = cpu::hostTarget();
  target.cpu = "skylake-avx512";
  target.features = "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd,+avx2,+fma,+f16c";
  target.vectorBits = 512;
  target.intrinsics = Intrinsics::kX86;
  target.avx512 = target.gathers = target.fma = target.convertsF16 = true;
  cpu::CodegenOptions options;
  options.verify = true;
  auto kernel = TestKernel::compile(fusionText({"tensor<9x61xf32>"}, "tensor<9x61xf32>", kSoftmax),
                                    options, target);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  EXPECT_NE((*kernel)->assembly().find("zmm"), std::string::npos);
  // What underflows is masked: subnormal results may cost a hundred cycles.
  const size_t scaling = (*kernel)->assembly().find("vscalefps");
  ASSERT_NE(scaling, std::string::npos);
  const std::string line = (*kernel)->assembly().substr(scaling, 60);
  EXPECT_NE(line.substr(0, line.find('\n')).find("{z}"), std::string::npos) << line;
}

// Vectors of every third element are taken out of whole vectors, none of which may reach past the
// array: behind it lies a page that nobody may read.
TEST(KernelEmitter, takes_columns_apart_up_to_the_end_of_an_array) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  char* end = static_cast<char*>(pages) + page;
  ASSERT_EQ(mprotect(end, page, PROT_NONE), 0);
  for (int64_t columns : {2, 3, 4, 10}) {
    for (int64_t rows : {16, 64, 77}) {
      std::string from = "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "xf32>";
      std::string to = "tensor<" + std::to_string(columns) + "x" + std::to_string(rows) + "xf32>";
      auto kernel = compile(
          fusionText({from}, to,
                     "    %out = stablehlo.transpose %0, dims = [1, 0] : (" + from + ") -> " + to));
      ASSERT_TRUE(kernel);
      auto* x = reinterpret_cast<float*>(end) - rows * columns;
      std::iota(x, x + rows * columns, 1.0F);
      std::vector<float> y(rows * columns, -7);
      kernel->run({x, y.data()});
      for (int64_t i = 0; i < rows * columns; ++i) {
        ASSERT_EQ(y[i], x[i % rows * columns + i / rows]) << rows << " x " << columns;
      }
    }
  }
  munmap(pages, 2 * page);
}

// Rows that are longer than a vector: of those of a block's last vectors nothing is asked for, and
// the ones before must not reach past the array either.
TEST(KernelEmitter, sums_groups_of_long_rows_up_to_the_end_of_an_array) {
  constexpr int64_t kOuter = 2, kRows = 32, kGroups = 8;
  for (int64_t columns : {9, 12, 16}) {
    const int64_t size = kOuter * kRows * kGroups * columns;
    const std::string from = "tensor<2x32x8x" + std::to_string(columns) + "xf32>";
    auto kernel = compile(fusionText({from}, "tensor<2x8xf32>",
                                     "    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                                     "    %out = stablehlo.reduce(%0 init: %z) applies "
                                     "stablehlo.add across dimensions = [1, 3] : (" +
                                         from + ", tensor<f32>) -> tensor<2x8xf32>"));
    ASSERT_TRUE(kernel);
    const size_t bytes = size * sizeof(float);
    auto* x = static_cast<float*>(guardedAllocate(bytes));
    for (int64_t i = 0; i < size; ++i) x[i] = static_cast<float>(i * i % 101);
    std::vector<float> y(kOuter * kGroups, -7);
    kernel->run({x, y.data()});
    for (int64_t o = 0; o < kOuter; ++o) {
      for (int64_t g = 0; g < kGroups; ++g) {
        float sum = 0;
        for (int64_t r = 0; r < kRows; ++r) {
          for (int64_t c = 0; c < columns; ++c) {
            sum += x[((o * kRows + r) * kGroups + g) * columns + c];
          }
        }
        EXPECT_EQ(y[o * kGroups + g], sum) << columns << " at " << o << ", " << g;
      }
    }
    guardedDeallocate(x, bytes);
  }
}

// All multiples of the divisor near which a quotient changes, and the ends of the type.
template <typename T>
void checkDivisionsByKnownNumbers(const std::string& type,
                                  std::initializer_list<int64_t> divisors) {
  TargetModel target = cpu::hostTarget();
  target.intrinsics = Intrinsics::kNone;
  cpu::CodegenOptions options;
  options.verify = true;
  std::mt19937 random(5);
  std::vector<T> x(4096);
  const std::string array = "tensor<4096x" + type + ">";
  for (int64_t divisor : divisors) {
    const auto by = static_cast<T>(divisor);
    for (size_t i = 0; i < x.size(); ++i) {
      auto multiple = static_cast<T>(static_cast<T>(random()) / by * by);
      x[i] = i < 3   ? static_cast<T>(std::numeric_limits<T>::min() + i)
             : i < 6 ? static_cast<T>(std::numeric_limits<T>::max() - (i - 3))
                     : static_cast<T>(multiple + i % 5 - 2);
    }
    for (const char* op : {"divide", "remainder"}) {
      auto kernel = TestKernel::compile(
          fusionText({array}, array,
                     "    %d = stablehlo.constant dense<" + std::to_string(divisor) +
                         "> : " + array + "\n    %out = stablehlo." + op + " %0, %d : " + array),
          options, target);
      ASSERT_TRUE(kernel.ok()) << kernel.status().message();
      std::vector<T> y(x.size());
      (*kernel)->run({x.data(), y.data()});
      for (size_t i = 0; i < x.size(); ++i) {
        const auto expected = static_cast<T>(op[0] == 'd' ? x[i] / by : x[i] % by);
        ASSERT_EQ(+y[i], +expected) << type << ": " << op << " " << +x[i] << " by " << divisor;
      }
    }
  }
}

// As for a target whose compiler is not known to multiply instead.
TEST(KernelEmitter, divides_by_known_numbers_exactly) {
  checkDivisionsByKnownNumbers<uint32_t>("ui32", {3, 7, 641, 65521, 0x80000001, 0xffffffff});
  checkDivisionsByKnownNumbers<int32_t>("i32", {3, -7, 10, 65521, -65537, 0x7fffffff, -0x7fffffff});
  checkDivisionsByKnownNumbers<uint16_t>("ui16", {3, 11, 255, 32769, 65535});
  checkDivisionsByKnownNumbers<int16_t>("i16", {3, -11, 255, -32767});
  checkDivisionsByKnownNumbers<uint8_t>("ui8", {3, 7, 129, 255});
  checkDivisionsByKnownNumbers<int8_t>("i8", {3, -7, 127, -127});
}

TEST(KernelEmitter, arithmetic_on_bf16_rounds_by_an_instruction_where_there_is_one) {
  TargetModel target = cpu::hostTarget();
  target.cpu = "sapphirerapids";
  target.features = "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd,+avx512bf16,+avx2,+fma,+f16c";
  target.vectorBits = 512;
  target.intrinsics = Intrinsics::kX86;
  target.avx512 = target.gathers = target.roundsToBf16 = target.fma = target.convertsF16 = true;
  cpu::CodegenOptions options;
  options.verify = true;
  const std::string type = "tensor<4096xbf16>";
  auto kernel = TestKernel::compile(
      fusionText({type, type}, type, "    %out = stablehlo.multiply %0, %1 : " + type), options,
      target);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  EXPECT_NE((*kernel)->assembly().find("vcvtneps2bf16"), std::string::npos);
  // An integer is neither NaN nor subnormal.
  kernel = TestKernel::compile(
      fusionText({"tensor<4096xi8>"}, type,
                 "    %out = stablehlo.convert %0 : (tensor<4096xi8>) -> " + type),
      options, target);
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  EXPECT_NE((*kernel)->assembly().find("vcvtneps2bf16"), std::string::npos);
}

// Rows of fewer elements than a vector has lanes: each vector is written over what the one before
// it has behind its row, and the last must not reach past the array, behind which nobody may write.
TEST(KernelEmitter, writes_short_rows_up_to_the_end_of_an_array) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t size = 4 * page;
  void* pages =
      mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  char* end = static_cast<char*>(pages) + size;
  ASSERT_EQ(mprotect(end, page, PROT_NONE), 0);
  for (int64_t columns : {3, 5, 6, 7, 9, 10, 15}) {
    for (int64_t rows : {16, 64, 237}) {
      std::string small = "tensor<" + std::to_string(rows) + "xf32>";
      std::string big = "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "xf32>";
      auto kernel = compile(
          fusionText({big}, big,
                     "    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                     "    %s = stablehlo.reduce(%0 init: %z) applies stablehlo.add across "
                     "dimensions = [1] : (" +
                         big + ", tensor<f32>) -> " + small +
                         "\n    %b = stablehlo.broadcast_in_dim %s, dims = [0] : (" + small +
                         ") -> " + big + "\n    %out = stablehlo.subtract %b, %0 : " + big));
      ASSERT_TRUE(kernel);
      std::vector<float> x(rows * columns);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 101);
      auto* y = reinterpret_cast<float*>(end) - rows * columns;
      y[-1] = -7;
      kernel->run({x.data(), y});
      for (int64_t i = 0; i < rows; ++i) {
        float sum = 0;
        for (int64_t j = 0; j < columns; ++j) sum += x[i * columns + j];
        for (int64_t j = 0; j < columns; ++j) {
          ASSERT_EQ(y[i * columns + j], sum - x[i * columns + j])
              << rows << " x " << columns << " at " << i << ", " << j;
        }
      }
      EXPECT_EQ(y[-1], -7);
    }
  }
  munmap(pages, size + page);
}

// NaN if any element of a row is, and -0 before +0: in a row's whole vectors, the last one that
// reaches back and accumulators beside each other, of many rows and of one.
template <typename T>
void checkExtremaOfRows(const std::string& type) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T kinds[][3] = {{-0.0, -0.0, -0.0}, {-0.0, 0.0, -0.0},  {-1, -0.0, 0.0}, {-1, -2, -0.0},
                        {1, -0.0, 2},       {-inf, -inf, -inf}, {inf, 0, -inf},  {nan, inf, -1},
                        {-nan, -inf, 1},    {-3, -2, -5}};
  for (int64_t rows : {1, 30}) {
    for (int64_t columns : {4, 8, 25, 64, 333}) {
      for (bool isMaximum : {true, false}) {
        const std::string small = "tensor<" + std::to_string(rows) + "x" + type + ">";
        const std::string big =
            "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "x" + type + ">";
        const std::string op = isMaximum ? "maximum" : "minimum";
        std::string bound = isMaximum ? "0xFF800000" : "0x7F800000";
        if (type == "f64") bound = isMaximum ? "0xFFF0000000000000" : "0x7FF0000000000000";
        auto kernel = compile(fusionText(
            {big}, small,
            "    %z = stablehlo.constant dense<" + bound + "> : tensor<" + type +
                ">\n    %out = stablehlo.reduce(%0 init: %z) applies stablehlo." + op +
                " across dimensions = [1] : (" + big + ", tensor<" + type + ">) -> " + small));
        ASSERT_TRUE(kernel);
        for (const auto& kind : kinds) {
          // The first number everywhere but for the others at places that differ between rows.
          std::vector<T> x(rows * columns, kind[0]), y(rows);
          for (int64_t row = 0; row < rows; ++row) {
            x[row * columns + row * 7 % columns] = kind[1];
            x[row * columns + (row * 3 + columns - 1) % columns] = kind[2];
          }
          kernel->run({x.data(), y.data()});
          for (int64_t row = 0; row < rows; ++row) {
            T want = x[row * columns];
            for (int64_t j = 1; j < columns; ++j) {
              const T next = x[row * columns + j];
              if (std::isnan(want)) break;
              const bool isAbove = next > want || (next == want && !std::signbit(next));
              if (std::isnan(next) || isAbove == isMaximum) want = next;
            }
            if (std::isnan(want)) {
              EXPECT_TRUE(std::isnan(y[row])) << op << " of " << big << " in row " << row;
            } else {
              EXPECT_EQ(std::memcmp(&y[row], &want, sizeof(T)), 0)
                  << op << " of " << big << " in row " << row << ": " << y[row] << ", not " << want;
            }
          }
        }
      }
    }
  }
}

TEST(KernelEmitter, extrema_of_rows_with_special_values) {
  checkExtremaOfRows<float>("f32");
  checkExtremaOfRows<double>("f64");
}

// The instruction of machines that have one, and integer arithmetic elsewhere.
TEST(KernelEmitter, arithmetic_rounds_to_bf16_alike_with_and_without_an_instruction) {
  const std::string type = "tensor<4096xbf16>";
  std::vector<uint16_t> x(4096), y(4096), results[2];
  std::mt19937 random(5);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<uint16_t>(random());
    y[i] = static_cast<uint16_t>(i % 3 ? random() : 0x3f80 + i % 128);
  }
  for (bool hasInstruction : {false, true}) {
    TargetModel target = cpu::hostTarget();
    target.roundsToBf16 = target.roundsToBf16 && hasInstruction;
    cpu::CodegenOptions options;
    auto kernel =
        TestKernel::compile(fusionText({type, type}, type,
                                       "    %p = stablehlo.multiply %0, %1 : " + type +
                                           "\n    %out = stablehlo.subtract %p, %0 : " + type),
                            options, target);
    ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    results[hasInstruction].resize(x.size());
    ScopedFloatMode mode(FloatMode::kProgram);
    (*kernel)->run({x.data(), y.data(), results[hasInstruction].data()});
  }
  EXPECT_EQ(results[0], results[1]);
  auto asFloat = [](uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); };
  for (size_t i = 0; i < x.size(); ++i) {
    const float product = asFloat(x[i]) * asFloat(y[i]);
    const bool isNan = std::isnan(product) || std::isnan(product - asFloat(x[i]));
    if (isNan) EXPECT_TRUE(std::isnan(asFloat(results[0][i]))) << x[i] << " and " << y[i];
  }
  // reduce_precision keeps subnormals, in vectors as in the elements behind the last one.
  const std::string few = "tensor<37xbf16>";
  std::vector<uint16_t> small(37, 0x0060), reduced(37);
  auto reduce = compile(
      fusionText({few}, few, "    %out = stablehlo.reduce_precision %0, format = e8m3 : " + few));
  ASSERT_TRUE(reduce);
  {
    ScopedFloatMode mode(FloatMode::kProgram);
    reduce->run({small.data(), reduced.data()});
  }
  EXPECT_EQ(reduced, small);
  // By hand: 1.0078125 * 1.5 is 1.51171875, halfway between two numbers, of which 1.515625 is even.
  x.assign(x.size(), 0x3f81), y.assign(y.size(), 0x3fc0);
  auto kernel =
      compile(fusionText({type, type}, type, "    %out = stablehlo.multiply %0, %1 : " + type));
  kernel->run({x.data(), y.data(), results[0].data()});
  EXPECT_EQ(asFloat(results[0][7]), 1.515625F);
}

}  // namespace
}  // namespace isthmus::codegen

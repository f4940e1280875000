// Client, compiler and executables of platform cuda over the fake driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "backends/cuda/driver/fake/fake_blas.h"
#include "backends/cuda/driver/fake/fake_cuda.h"
#include "backends/cuda/driver/fake/fake_testing.h"
#include "backends/cuda/testing/run_program.h"
#include "base/trace/recorder.h"
#include "isthmus/backend.h"
#include "isthmus/flags.h"
#include "runtime/client.h"
#include "runtime/device/device.h"
#include "runtime/executable/loaded_executable.h"

namespace isthmus {
namespace {

using cuda::testing::Floats;
using cuda::testing::run;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

StatusOr<Ref<Client>> makeClient(const std::string& library) {
  // The fake driver has cuBLASLt's functions too.
  return Client::create(linkedBackend(), {{"cuda_library", library},
                                          {"cuda_blas", std::string(ISTHMUS_FAKE_CUDA)},
                                          {"cuda_dnn", std::string()}});
}

// One for all tests: the backend has one driver in a process.
Client& client() {
  static Ref<Client>& one = *new Ref<Client>(std::move(*makeClient(ISTHMUS_FAKE_CUDA)));
  return *one;
}

StatusOr<Ref<LoadedExecutable>> compile(const std::string& text) {
  return cuda::testing::compile(client(), text);
}

constexpr const char* kAdd = R"(
  func.func @main(%a: tensor<1000xf32>, %b: tensor<1000xf32>) -> tensor<1000xf32> {
    %r = stablehlo.add %a, %b : tensor<1000xf32> loc("model.py":7:3)
    return %r : tensor<1000xf32>
  })";

void addKernel(void* const* arguments, unsigned blocks, unsigned threads) {
  EXPECT_GE(blocks * threads, 1000u);
  auto* a = static_cast<const float*>(arguments[0]);
  auto* b = static_cast<const float*>(arguments[1]);
  for (int i = 0; i < 1000; ++i) static_cast<float*>(arguments[2])[i] = a[i] + b[i];
}

class CudaRuntime : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    FAKE(fake_cuda_reset)(1, 90, uint64_t{1} << 26);
    setFlagForTest("ISTHMUS_FOLD_BYTES", "0");
  }
};

TEST_F(CudaRuntime, devices_say_what_they_are) {
  Device& device = *client().addressableDevices().front();
  EXPECT_EQ(client().platformName(), "cuda");
  EXPECT_THAT(client().platformVersion(), testing::EndsWith("Fake GPU, cuda 12040"));
  EXPECT_EQ(device.description().kind, "Fake GPU");
  const AttributeMap& attributes = device.description().attributes;
  EXPECT_EQ(std::get<std::string>(attributes.at("libraries")), "cuBLASLt");
  EXPECT_THAT(std::get<std::string>(attributes.at("host_operations")),
              HasSubstr("stablehlo.cholesky"));
}

TEST_F(CudaRuntime, kernels_run_over_arguments_and_results) {
  StatusOr<Ref<LoadedExecutable>> executable = compile(kAdd);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const FakeKernelScope kernel("kernel0", addKernel);
  for (int i = 0; i < 4; ++i) {
    StatusOr<Floats> result = run(**executable, {Floats(1000, 2), Floats(1000, 3.5)});
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_THAT(*result, testing::Each(5.5f));
  }
  EXPECT_THAT(FAKE(fake_cuda_log)(), HasSubstr("launch kernel0 4x256 on stream"));
}

TEST_F(CudaRuntime, programs_are_serialized_and_loaded_again) {
  StatusOr<Ref<LoadedExecutable>> executable = compile(kAdd);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  StatusOr<std::string> bytes = (*executable)->executable()->serialize();
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  StatusOr<Ref<LoadedExecutable>> again = client().deserialize(*bytes);
  ASSERT_TRUE(again.ok()) << again.status().message();
  const FakeKernelScope kernel("kernel0", addKernel);
  StatusOr<Floats> result = run(**again, {Floats(1000, 2), Floats(1000, 3)});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_THAT(*result, testing::Each(5.0f));
}

TEST_F(CudaRuntime, memory_goes_with_buffers_and_programs) {
  int before = FAKE(fake_cuda_allocations)();
  {
    StatusOr<Ref<LoadedExecutable>> executable = compile(kAdd);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    const FakeKernelScope kernel("kernel0", addKernel);
    ASSERT_TRUE(run(**executable, {Floats(1000), Floats(1000)}).ok());
  }
  // What was freed on a stream goes when somebody waits for it: another allocation does.
  ASSERT_TRUE(run(**compile(kAdd), {Floats(1000), Floats(1000)}).ok());
  EXPECT_LE(FAKE(fake_cuda_allocations)(), before + 3);
}

void isBelowThree(void* const* arguments, unsigned, unsigned) {
  *static_cast<uint8_t*>(arguments[1]) = *static_cast<const float*>(arguments[0]) < 3;
}
void plusOne(void* const* arguments, unsigned, unsigned) {
  *static_cast<float*>(arguments[1]) = *static_cast<const float*>(arguments[0]) + 1;
}

void nothing(void* const*, unsigned, unsigned) {}

// How often `what` is in the fake's record.
int countInLog(const std::string& what) {
  std::string log = FAKE(fake_cuda_log)();
  int count = 0;
  for (size_t at = log.find(what); at != std::string::npos; at = log.find(what, at + 1)) ++count;
  return count;
}

// With so much work in a round that the loop is not one kernel.
constexpr const char* kLoopOfTheHost = R"(
    func.func @main(%i: tensor<100000xf32>) -> tensor<100000xf32> {
      %r = stablehlo.while(%x = %i) : tensor<100000xf32>
      cond {
        %three = stablehlo.constant dense<3.0> : tensor<f32>
        %first = stablehlo.slice %x [0:1] : (tensor<100000xf32>) -> tensor<1xf32>
        %s = stablehlo.reshape %first : (tensor<1xf32>) -> tensor<f32>
        %c = stablehlo.compare LT, %s, %three, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1.0> : tensor<100000xf32>
        %n = stablehlo.add %x, %one : tensor<100000xf32>
        stablehlo.return %n : tensor<100000xf32>
      }
      return %r : tensor<100000xf32>
    })";

TEST_F(CudaRuntime, loops_read_their_predicate) {
  StatusOr<Ref<LoadedExecutable>> executable = compile(kLoopOfTheHost);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const FakeKernelScope first("kernel0", isBelowThree), second("kernel1", plusOne);
  StatusOr<Floats> result = run(**executable, {Floats(100000, 0.5f)});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->front(), 3.5f);
  // The driver copies to ordinary memory by way of its own, while the thread waits.
  EXPECT_EQ(countInLog("copy 1 of ordinary memory"), 0);
  EXPECT_EQ(countInLog("copy 1 on stream"), 4);
}

// x + 1, so many times, in rounds that are no kernel as a whole.
std::string loopOf(int rounds) {
  return R"(
    func.func @main(%i: tensor<100000xf32>) -> tensor<100000xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %end = stablehlo.constant dense<)" +
         std::to_string(rounds) + R"(> : tensor<i32>
      %step = stablehlo.constant dense<1> : tensor<i32>
      %one = stablehlo.constant dense<1.0> : tensor<100000xf32>
      %r:2 = stablehlo.while(%x = %i, %k = %zero) : tensor<100000xf32>, tensor<i32>
      cond {
        %c = stablehlo.compare LT, %k, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %n = stablehlo.add %x, %one : tensor<100000xf32>
        %m = stablehlo.add %k, %step : tensor<i32>
        stablehlo.return %n, %m : tensor<100000xf32>, tensor<i32>
      }
      return %r#0 : tensor<100000xf32>
    })";
}

TEST_F(CudaRuntime, loops_of_known_length_are_recorded_as_a_whole) {
  // Launches are counted, of which there are too many to interpret.
  const FakeKernelScope first("kernel0", nothing), second("kernel1", nothing);
  for (bool isShort : {true, false}) {
    StatusOr<Ref<LoadedExecutable>> executable = compile(loopOf(isShort ? 20 : 5000));
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    EXPECT_EQ((*executable)->executable()->isCheap(), isShort);
    int graphs = countInLog("graph on stream"), launches = countInLog("launch");
    // Wherever results are.
    const int runs = isShort ? 20 : 3;
    // The first one, some that are timed, and one more before there is a graph.
    const int untilGraph = 1 + 4 + 1;
    ASSERT_TRUE(run(**executable, {Floats(100000)}, runs).ok());
    if (isShort) {
      EXPECT_EQ(countInLog("graph on stream"), graphs + runs - untilGraph);
      EXPECT_LE(countInLog("launch"), launches + untilGraph * 2 * 20);
    } else {
      EXPECT_EQ(countInLog("graph on stream"), graphs);
      EXPECT_GE(countInLog("launch"), launches + runs * 5000);
    }
  }
}

// The one dot_general of a program, of f32 from small whole numbers, against sums done here.
void checkProduct(const std::string& lhs, const std::string& rhs, const std::string& numbers,
                  int64_t b, int64_t m, int64_t n, int64_t k, bool lhsAlongSums,
                  bool rhsAlongSums) {
  std::string result =
      "tensor<" + std::to_string(b) + "x" + std::to_string(m) + "x" + std::to_string(n) + "xf32>";
  StatusOr<Ref<LoadedExecutable>> executable =
      compile("func.func @main(%a: " + lhs + ", %b: " + rhs + ") -> " + result +
              " {\n%r = stablehlo.dot_general %a, %b, " + numbers + " : (" + lhs + ", " + rhs +
              ") -> " + result + "\nreturn %r : " + result + "\n}");
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  Floats x(static_cast<size_t>(b * m * k)), y(static_cast<size_t>(b * n * k));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 11) - 5;
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i * 5 % 13) - 6;
  for (int repeated = 0; repeated < 3; ++repeated) {
    StatusOr<Floats> got = run(**executable, {x, y});
    ASSERT_TRUE(got.ok()) << got.status().message();
    int wrong = 0;
    for (int64_t z = 0; z < b; ++z) {
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          float sum = 0;
          for (int64_t s = 0; s < k; ++s) {
            sum += x[z * m * k + (lhsAlongSums ? i * k + s : s * m + i)] *
                   y[z * n * k + (rhsAlongSums ? j * k + s : s * n + j)];
          }
          wrong += (*got)[(z * m + i) * n + j] != sum;
        }
      }
    }
    EXPECT_EQ(wrong, 0);
  }
}

TEST_F(CudaRuntime, products_are_cublaslts_where_it_is_there) {
  checkProduct("tensor<1x33x40xf32>", "tensor<1x40x50xf32>",
               "batching_dims = [0] x [0], contracting_dims = [2] x [1]", 1, 33, 50, 40, true,
               false);
  checkProduct("tensor<3x40x33xf32>", "tensor<3x50x40xf32>",
               "batching_dims = [0] x [0], contracting_dims = [1] x [2]", 3, 33, 50, 40, false,
               true);
  std::string log = FAKE(fake_cuda_log)();
  EXPECT_THAT(log, HasSubstr("matmul on stream"));
  EXPECT_THAT(log, Not(HasSubstr("tf32")));
}

// Sums of i8 along neither operand's lines: both are transposed for it.
TEST_F(CudaRuntime, products_of_integers_are_cublaslts_along_the_sums) {
  StatusOr<Ref<LoadedExecutable>> executable = compile(R"(
  func.func @main(%x: tensor<64x40xf32>, %w: tensor<64x48xf32>) -> tensor<40x48xf32> {
    %a = stablehlo.convert %x : (tensor<64x40xf32>) -> tensor<64x40xi8>
    %b = stablehlo.convert %w : (tensor<64x48xf32>) -> tensor<64x48xi8>
    %p = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<64x40xi8>, tensor<64x48xi8>) -> tensor<40x48xi32>
    %q = stablehlo.convert %p : (tensor<40x48xi32>) -> tensor<40x48xf32>
    return %q : tensor<40x48xf32>
  })");
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  Floats x(64 * 40), y(64 * 48);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 255) - 127;
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i * 5 % 251) - 125;
  const size_t before = std::string(FAKE(fake_cuda_log)()).size();
  StatusOr<Floats> got = run(**executable, {x, y});
  ASSERT_TRUE(got.ok()) << got.status().message();
  for (size_t i = 0; i < 40; ++i) {
    for (size_t j = 0; j < 48; ++j) {
      float sum = 0;
      for (size_t s = 0; s < 64; ++s) sum += x[s * 40 + i] * y[s * 48 + j];
      EXPECT_EQ((*got)[i * 48 + j], sum);
    }
  }
  EXPECT_THAT(std::string(FAKE(fake_cuda_log)()).substr(before), HasSubstr("matmul on stream"));
}

TEST_F(CudaRuntime, cublaslt_is_asked_once_for_each_product) {
  const std::string lhs = "tensor<35x64xf32>", rhs = "tensor<64x47xf32>", out = "tensor<35x47xf32>";
  const std::string product = "stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (" +
                              lhs + ", " + rhs + ") -> " + out;
  const std::string text = "func.func @main(%a: " + lhs + ", %b: " + rhs + ") -> " + out +
                           " {\n%r = " + product + "\n%s = stablehlo.exponential %r : " + out +
                           "\nreturn %s : " + out + "\n}";
  const int before = FAKE(fake_blas_questions)();
  // Whether it has an epilogue, who computes it, what is called; the program that is loaded.
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(compile(text).ok());
  EXPECT_EQ(FAKE(fake_blas_questions)() - before, 1);
}

// relu(x * w + bias), or as `epilogue` makes %r of the product %p and the bias %c, in the type.
std::string denseOf(const std::string& type, const std::string& epilogue) {
  std::string text = R"(
  func.func @main(%x: tensor<40x64xf32>, %w: tensor<64x48xf32>, %b: tensor<48xf32>) -> tensor<40x48xf32> {
    %a = stablehlo.convert %x : (tensor<40x64xf32>) -> tensor<40x64xTYPE>
    %v = stablehlo.convert %w : (tensor<64x48xf32>) -> tensor<64x48xTYPE>
    %c = stablehlo.convert %b : (tensor<48xf32>) -> tensor<48xTYPE>
    %d, %e, %f = stablehlo.optimization_barrier %a, %v, %c : tensor<40x64xTYPE>, tensor<64x48xTYPE>, tensor<48xTYPE>
    %p = stablehlo.dot_general %d, %e, contracting_dims = [1] x [0] : (tensor<40x64xTYPE>, tensor<64x48xTYPE>) -> tensor<40x48xTYPE> loc("model.py":7:3)
    %wide = stablehlo.broadcast_in_dim %f, dims = [1] : (tensor<48xTYPE>) -> tensor<40x48xTYPE>
    %sum = stablehlo.add %p, %wide : tensor<40x48xTYPE>
    %zero = stablehlo.constant dense<0.0> : tensor<40x48xTYPE>
    )" + epilogue + R"(
    %s = stablehlo.optimization_barrier %r : tensor<40x48xTYPE>
    %t = stablehlo.convert %s : (tensor<40x48xTYPE>) -> tensor<40x48xf32>
    return %t : tensor<40x48xf32>
  })";
  for (size_t at; (at = text.find("TYPE")) != text.npos;) text.replace(at, 4, type);
  return text;
}

struct Dense {
  Floats x = Floats(40 * 64), w = Floats(64 * 48), b = Floats(48);
  Dense() {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 11) - 5;
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i * 5 % 13) - 6;
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 3 % 31) * 4 - 60;
  }
  float at(size_t row, size_t column) const {
    float sum = b[column];
    for (size_t s = 0; s < 64; ++s) sum += x[row * 64 + s] * w[s * 48 + column];
    return sum;
  }
};

TEST_F(CudaRuntime, epilogues_that_cublaslt_has_are_its_own) {
  const std::string relu = "%r = stablehlo.maximum %sum, %zero : tensor<40x48xTYPE>";
  StatusOr<Ref<LoadedExecutable>> executable = compile(denseOf("f32", relu));
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  Dense dense;
  Floats expected;
  for (size_t i = 0; i < 40; ++i) {
    for (size_t j = 0; j < 48; ++j) expected.push_back(std::max(dense.at(i, j), 0.0f));
  }
  auto check = [&](LoadedExecutable& one) {
    const std::string before = FAKE(fake_cuda_log)();
    // Of the same addresses, so that the last ones are recorded.
    StatusOr<Floats> got = run(one, {dense.x, dense.w, dense.b}, 4);
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_EQ(*got, expected);
    std::string log = std::string(FAKE(fake_cuda_log)()).substr(before.size());
    EXPECT_THAT(log, HasSubstr("matmul, bias, relu on stream"));
    EXPECT_THAT(log, Not(HasSubstr("launch")));
  };
  check(**executable);
  StatusOr<std::string> bytes = (*executable)->executable()->serialize();
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  StatusOr<Ref<LoadedExecutable>> again = client().deserialize(*bytes);
  ASSERT_TRUE(again.ok()) << again.status().message();
  check(**again);
}

// As jax.nn.gelu has it; the kernels around compute nothing here.
TEST_F(CudaRuntime, gelu_is_cublaslts_where_the_result_has_16_bits) {
  std::string gelu;
  for (const char* line :
       {"%k = stablehlo.constant dense<4.471500e-02>",
        "%scale = stablehlo.constant dense<0.7978845608>", "%one = stablehlo.constant dense<1.0>",
        "%half = stablehlo.constant dense<0.5>", "%g0 = stablehlo.multiply %sum, %sum",
        "%g1 = stablehlo.multiply %g0, %sum", "%g2 = stablehlo.multiply %k, %g1",
        "%g3 = stablehlo.add %sum, %g2", "%g4 = stablehlo.multiply %scale, %g3",
        "%g5 = stablehlo.tanh %g4", "%g6 = stablehlo.add %one, %g5",
        "%g7 = stablehlo.multiply %half, %g6", "%r = stablehlo.multiply %sum, %g7"}) {
    gelu += std::string(line) + " : tensor<40x48xTYPE>\n";
  }
  Dense dense;
  auto logOf = [&](const char* type) {
    const std::string before = FAKE(fake_cuda_log)();
    StatusOr<Ref<LoadedExecutable>> executable = compile(denseOf(type, gelu));
    EXPECT_TRUE(executable.ok()) << executable.status().message();
    EXPECT_TRUE(executable.ok() && run(**executable, {dense.x, dense.w, dense.b}).ok());
    return std::string(FAKE(fake_cuda_log)()).substr(before.size());
  };
  EXPECT_THAT(logOf("bf16"), HasSubstr("matmul, bias, gelu on stream"));
  EXPECT_THAT(logOf("f32"), HasSubstr("matmul on stream"));
}

TEST_F(CudaRuntime, other_epilogues_are_kernels_behind_cublaslts_products) {
  StatusOr<Ref<LoadedExecutable>> executable =
      compile(denseOf("f32", "%r = stablehlo.exponential %sum : tensor<40x48xTYPE>"));
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  Dense dense;
  const std::string before = FAKE(fake_cuda_log)();
  ASSERT_TRUE(run(**executable, {dense.x, dense.w, dense.b}).ok());
  std::string log = std::string(FAKE(fake_cuda_log)()).substr(before.size());
  EXPECT_THAT(log, HasSubstr("matmul on stream"));
  EXPECT_THAT(log, HasSubstr("launch kernel0"));
}

// One row, one column, and both; the library's matrices of one line have a distance of lines too.
TEST_F(CudaRuntime, products_with_vectors_are_cublaslts) {
  const std::string rowsFirst = "batching_dims = [0] x [0], contracting_dims = [2] x [1]";
  const std::string sumsFirst = "batching_dims = [0] x [0], contracting_dims = [1] x [1]";
  auto callsOf = [&](auto&&... product) {
    size_t before = std::string(FAKE(fake_cuda_log)()).size(), count = 0;
    checkProduct(product...);
    std::string log = std::string(FAKE(fake_cuda_log)()).substr(before);
    for (size_t at = log.find("matmul"); at != log.npos; at = log.find("matmul", at + 1)) ++count;
    return count;
  };
  // A run at addresses that come again would be a graph's.
  setFlagForTest("ISTHMUS_CUDA_GRAPHS", "0");
  EXPECT_EQ(callsOf("tensor<1x1x700xf32>", "tensor<1x700x170xf32>", rowsFirst, 1, 1, 170, 700, true,
                    false),
            3u);
  EXPECT_EQ(callsOf("tensor<2x700x170xf32>", "tensor<2x700x1xf32>", sumsFirst, 2, 170, 1, 700,
                    false, false),
            3u);
  EXPECT_EQ(callsOf("tensor<1x1x70000xf32>", "tensor<1x70000x1xf32>", rowsFirst, 1, 1, 1, 70000,
                    true, false),
            3u);
  setFlagForTest("ISTHMUS_CUDA_GRAPHS", "1");
}

TEST_F(CudaRuntime, products_are_of_tf32_if_user_and_program_allow_it) {
  const std::string argument = "tensor<1x64x64xf32>";
  const std::string numbers = "batching_dims = [0] x [0], contracting_dims = [2] x [1]";
  auto logOf = [&](const std::string& precision) {
    size_t before = std::string(FAKE(fake_cuda_log)()).size();
    checkProduct(argument, argument, numbers + precision, 1, 64, 64, 64, true, false);
    return std::string(FAKE(fake_cuda_log)()).substr(before);
  };
  setFlagForTest("ISTHMUS_CUDA_TF32", "1");
  EXPECT_THAT(logOf(""), HasSubstr("matmul of tf32 on stream"));
  EXPECT_THAT(logOf(", precision = [DEFAULT, DEFAULT]"), HasSubstr("matmul of tf32 on stream"));
  EXPECT_THAT(logOf(", precision = [DEFAULT, HIGHEST]"), Not(HasSubstr("tf32")));
  setFlagForTest("ISTHMUS_CUDA_TF32", "0");
  EXPECT_THAT(logOf(", precision = [DEFAULT, DEFAULT]"), Not(HasSubstr("tf32")));
}

// A convolution of f32 against sums done here; each index is that of the result, then of the sum.
void checkConvolution(const std::string& lhs, const std::string& rhs, const std::string& result,
                      const std::string& numbers, size_t rows, size_t columns, size_t sums,
                      size_t lhsRow, size_t lhsSum, size_t rhsColumn, size_t rhsSum) {
  StatusOr<Ref<LoadedExecutable>> executable =
      compile("func.func @main(%a: " + lhs + ", %b: " + rhs + ") -> " + result +
              " {\n%r = stablehlo.convolution(%a, %b) dim_numbers = " + numbers +
              ", window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (" +
              lhs + ", " + rhs + ") -> " + result + "\nreturn %r : " + result + "\n}");
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  Floats x(rows * sums), y(columns * sums), expected(rows * columns);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 11) - 5;
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i * 5 % 13) - 6;
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) {
      for (size_t s = 0; s < sums; ++s) {
        expected[i * columns + j] += x[i * lhsRow + s * lhsSum] * y[j * rhsColumn + s * rhsSum];
      }
    }
  }
  size_t before = std::string(FAKE(fake_cuda_log)()).size();
  StatusOr<Floats> got = run(**executable, {x, y});
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(*got, expected);
  EXPECT_THAT(std::string(FAKE(fake_cuda_log)()).substr(before), HasSubstr("matmul on stream"));
}

TEST_F(CudaRuntime, convolutions_that_are_products_are_cublaslts) {
  // Of single elements: all pixels of all images by the features.
  checkConvolution("tensor<2x5x4x32xf32>", "tensor<1x1x32x48xf32>", "tensor<2x5x4x48xf32>",
                   "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", 40, 48, 32, 32, 1, 1, 48);
  // Its gradient by the input, whose kernel has features the other way round.
  checkConvolution("tensor<2x5x4x48xf32>", "tensor<1x1x32x48xf32>", "tensor<2x5x4x32xf32>",
                   "[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]", 40, 32, 48, 48, 1, 48, 1);
  // Its gradient by the kernel: sums over all pixels of all images.
  checkConvolution("tensor<2x5x4x32xf32>", "tensor<2x5x4x48xf32>", "tensor<1x1x32x48xf32>",
                   "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]", 32, 48, 40, 1, 32, 1, 48);
}

TEST_F(CudaRuntime, other_convolutions_have_kernels) {
  size_t before = std::string(FAKE(fake_cuda_log)()).size();
  for (const char* program :
       {// Features before pixels: images do not follow each other.
        R"(func.func @main(%a: tensor<2x32x8x8xf32>, %b: tensor<1x1x32x48xf32>)
             -> tensor<2x48x8x8xf32> {
           %r = stablehlo.convolution(%a, %b) dim_numbers = [b, f, 0, 1]x[0, 1, i, o]->[b, f, 0, 1],
             window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
             : (tensor<2x32x8x8xf32>, tensor<1x1x32x48xf32>) -> tensor<2x48x8x8xf32>
           return %r : tensor<2x48x8x8xf32>
         })",
        // Every second row of pixels.
        R"(func.func @main(%a: tensor<1x8x8x32xf32>, %b: tensor<1x1x32x48xf32>)
             -> tensor<1x4x8x48xf32> {
           %r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
             window = {stride = [2, 1]} {batch_group_count = 1 : i64,
             feature_group_count = 1 : i64}
             : (tensor<1x8x8x32xf32>, tensor<1x1x32x48xf32>) -> tensor<1x4x8x48xf32>
           return %r : tensor<1x4x8x48xf32>
         })",
        // A border of zeros.
        R"(func.func @main(%a: tensor<1x8x8x32xf32>, %b: tensor<1x1x32x48xf32>)
             -> tensor<1x10x8x48xf32> {
           %r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
             window = {pad = [[1, 1], [0, 0]]} {batch_group_count = 1 : i64,
             feature_group_count = 1 : i64}
             : (tensor<1x8x8x32xf32>, tensor<1x1x32x48xf32>) -> tensor<1x10x8x48xf32>
           return %r : tensor<1x10x8x48xf32>
         })"}) {
    StatusOr<Ref<LoadedExecutable>> executable = compile(program);
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    const auto& parameters = (*executable)->info().parameters;
    ASSERT_TRUE(run(**executable, {Floats(parameters[0].type.numElements()),
                                   Floats(parameters[1].type.numElements())})
                    .ok());
  }
  EXPECT_THAT(std::string(FAKE(fake_cuda_log)()).substr(before), Not(HasSubstr("matmul")));
}

// The steps of the runs of `executable` in a profile.
std::vector<trace::Event> profiledSteps(LoadedExecutable& executable,
                                        const std::vector<Floats>& arguments, int runs) {
  EXPECT_TRUE(trace::start());
  StatusOr<Floats> result = run(executable, arguments, runs);
  EXPECT_TRUE(result.ok()) << result.status().message();
  trace::Recording recording = trace::take();
  std::vector<trace::Event> steps;
  for (const trace::ThreadEvents& thread : recording.threads) {
    for (const trace::Event& event : thread.events) {
      if (event.track != trace::Track::kStep) continue;
      EXPECT_LE(recording.beginNs, event.beginNs);
      EXPECT_LE(event.beginNs, event.endNs);
      steps.push_back(event);
      // Its texts go with the recording.
      static std::vector<std::shared_ptr<const void>>& kept =
          *new std::vector<std::shared_ptr<const void>>;
      kept.insert(kept.end(), recording.owners.begin(), recording.owners.end());
    }
  }
  return steps;
}

// Of the device's clock; by the host's, in which a profile has to lie, no less.
void slowKernel(void* const*, unsigned, unsigned) {
  FAKE(fake_cuda_take)(3'000'000);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

TEST_F(CudaRuntime, profiles_have_times_of_kernels_and_library_calls) {
  StatusOr<Ref<LoadedExecutable>> executable = compile(R"(
    func.func @main(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
      %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      %r = stablehlo.tanh %p : tensor<64x64xf32> loc("model.py":9:5)
      return %r : tensor<64x64xf32>
    })");
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const std::vector<Floats> arguments(2, Floats(64 * 64, 1));
  const FakeKernelScope slow("kernel0", slowKernel);
  std::vector<trace::Event> steps = profiledSteps(**executable, arguments, 4);
  ASSERT_EQ(steps.size(), 8u);
  for (size_t i = 0; i < steps.size(); i += 2) {
    EXPECT_EQ(steps[i].info->op, "dot_general");
    EXPECT_EQ(steps[i].info->flops, 2.0 * 64 * 64 * 64);
    EXPECT_THAT(steps[i + 1].info->name, HasSubstr("tanh"));
    EXPECT_THAT(steps[i + 1].info->source, HasSubstr("model.py:9"));
    EXPECT_EQ(steps[i + 1].info->bytes, 2.0 * 4 * 64 * 64);
    EXPECT_GE(steps[i + 1].endNs - steps[i + 1].beginNs, 3'000'000);
    EXPECT_GE(steps[i + 1].beginNs + 1000, steps[i].endNs);
    EXPECT_EQ(steps[i + 1].run, steps[i].run);
  }
  EXPECT_NE(steps[0].run, steps[2].run);
  // Nobody asks: nothing is timed.
  EXPECT_TRUE(run(**executable, arguments).ok());
}

TEST_F(CudaRuntime, profiles_of_long_loops_are_taken_while_they_run) {
  StatusOr<Ref<LoadedExecutable>> executable = compile(R"(
    func.func @main(%i: tensor<100000xf32>) -> tensor<100000xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%x = %i, %k = %zero) : tensor<100000xf32>, tensor<i32>
      cond {
        %end = stablehlo.constant dense<1500> : tensor<i32>
        %c = stablehlo.compare LT, %k, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1.0> : tensor<100000xf32>
        %n = stablehlo.add %x, %one : tensor<100000xf32>
        %next = stablehlo.constant dense<1> : tensor<i32>
        %m = stablehlo.add %k, %next : tensor<i32>
        stablehlo.return %n, %m : tensor<100000xf32>, tensor<i32>
      }
      return %r#0 : tensor<100000xf32>
    })");
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const FakeKernelScope first("kernel0", nothing), second("kernel1", nothing);
  EXPECT_GE(profiledSteps(**executable, {Floats(100000)}, 1).size(), 1500u);
}

TEST_F(CudaRuntime, operations_without_a_kernel_run_on_the_host) {
  StatusOr<Ref<LoadedExecutable>> executable = compile(R"(
    func.func @main(%a: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %r = "stablehlo.triangular_solve"(%a, %a) {left_side = true, lower = true,
        unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}
        : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
      return %r : tensor<2x2xf32>
    })");
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  StatusOr<Floats> result = run(**executable, {{4, 0, 3, 5}});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_THAT(*result, ElementsAre(1, 0, 0, 1));
}

TEST_F(CudaRuntime, says_where_operations_are_computed) {
  EXPECT_EQ(linkedBackend().supports("stablehlo.add"), Support::kOnDevice);
  EXPECT_EQ(linkedBackend().supports("stablehlo.cholesky"), Support::kByHost);
  EXPECT_EQ(linkedBackend().supports("stablehlo.infeed"), Support::kNo);
}

TEST_F(CudaRuntime, unsupported_operations_are_named) {
  StatusOr<Ref<LoadedExecutable>> executable = compile(R"(
    func.func @main(%t: !stablehlo.token, %a: tensor<2xf32>) -> !stablehlo.token {
      %r = "stablehlo.outfeed"(%a, %t) {outfeed_config = ""}
        : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token loc("model.py":9:1)
      return %r : !stablehlo.token
    })");
  ASSERT_FALSE(executable.ok());
  EXPECT_EQ(executable.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(executable.status().message()), HasSubstr("stablehlo.outfeed"));
  EXPECT_THAT(std::string(executable.status().message()), HasSubstr("model.py:9:1"));
}

TEST_F(CudaRuntime, a_second_client_of_other_devices_is_refused) {
  client();
  StatusOr<Ref<Client>> other = makeClient("libnowhere.so.1");
  EXPECT_EQ(other.status().code(), StatusCode::kFailedPrecondition);
}

// A program that cannot be launched says nothing of its device, whatever else fails for want of
// memory meanwhile.
TEST_F(CudaRuntime, a_device_is_not_lost_for_want_of_memory) {
  StatusOr<Ref<LoadedExecutable>> executable = compile(kAdd);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const FakeKernelScope kernel("kernel0", addKernel);
  const Floats values(1000, 2);
  HostArray array{values.data(), (*executable)->info().parameters[0].type};
  Memory& memory = *client().addressableDevices().front()->defaultMemory();
  BufferRef argument = client().bufferFromHost(memory, array)->buffer;
  Buffer* arguments[] = {argument.get(), argument.get()};
  auto status = [&] {
    BufferRef result;
    DeviceLaunch launch{arguments, {&result, 1}, nullptr};
    EXPECT_TRUE((*executable)->execute({&launch, 1}, {}).ok());
    return result->readyEvent().await();
  };
  ASSERT_TRUE(status().ok());
  // The result's memory is there; the launch fails twice, and so does the event of what to wait
  // for.
  constexpr int kOutOfMemory = 2;
  FAKE(fake_cuda_fail)("cuGraphInstantiateWithFlags", kOutOfMemory, 2);
  FAKE(fake_cuda_fail)("cuLaunchKernel", kOutOfMemory, 2);
  FAKE(fake_cuda_fail)("cuEventRecord", kOutOfMemory, 1);
  EXPECT_EQ(status().code(), StatusCode::kResourceExhausted);
  Status later = status();
  EXPECT_TRUE(later.ok()) << later.message();
}

// With temporaries of 16 MiB.
constexpr const char* kWithArena = R"(
    func.func @main(%x: tensor<4096xf32>) -> tensor<4096xf32> {
      %b = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4096xf32>) -> tensor<1024x4096xf32>
      %m = stablehlo.exponential %b : tensor<1024x4096xf32>
      %c = stablehlo.optimization_barrier %m : tensor<1024x4096xf32>
      %s = stablehlo.slice %c [7:8, 0:4096] : (tensor<1024x4096xf32>) -> tensor<1x4096xf32>
      %r = stablehlo.reshape %s : (tensor<1x4096xf32>) -> tensor<4096xf32>
      return %r : tensor<4096xf32>
    })";

// Of the 64 MiB that there are.
TEST_F(CudaRuntime, an_arena_that_does_not_fit_says_what_is_there) {
  StatusOr<Ref<LoadedExecutable>> executable = compile(kWithArena);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  Memory& memory = *client().addressableDevices().front()->defaultMemory();
  ArrayType large{ElementType::kF32, {13, 1 << 20}};
  StatusOr<BufferRef> others = client().uninitialized(memory, large);
  ASSERT_TRUE(others.ok()) << others.status().message();
  StatusOr<Floats> result = run(**executable, {Floats(4096)});
  EXPECT_EQ(result.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("temporaries of main: allocating in device[id=0, device=0]: the limit of "
                        "64.0 MiB is reached; asked for 16.0 MiB"));
  EXPECT_THAT(std::string(result.status().message()),
              HasSubstr("tensor<13x1048576xf32> of 52.0 MiB"));
  // The client goes on.
  others = BufferRef();
  const FakeKernelScope kernel("kernel0", nothing);
  EXPECT_TRUE(run(**executable, {Floats(4096)}).ok());
}

// With a table of 4 KiB that no kernel computes.
std::string withTable() {
  std::string table;
  for (int i = 0; i < 1024; ++i) table += (i ? "," : "") + std::to_string(i * i % 1013) + ".0";
  const std::string type = "tensor<1024xf32>";
  return "func.func @main(%x: " + type + ") -> " + type + " {\n%t = stablehlo.constant dense<[" +
         table + "]> : " + type + "\n%r = stablehlo.add %x, %t : " + type +
         "\nreturn %r : " + type + "\n}";
}

TEST_F(CudaRuntime, memory_of_programs_is_in_use_and_listed) {
  Device& device = *client().addressableDevices().front();
  {
    StatusOr<Ref<LoadedExecutable>> executable = compile(withTable());
    ASSERT_TRUE(executable.ok()) << executable.status().message();
    const FakeKernelScope kernel("kernel0", nothing);
    StatusOr<Ref<LoadedExecutable>> withArena = compile(kWithArena);
    ASSERT_TRUE(withArena.ok()) << withArena.status().message();
    ASSERT_TRUE(run(**withArena, {Floats(4096)}).ok());
    StatusOr<Ref<Client>> limited =
        Client::create(linkedBackend(), {{"cuda_library", std::string(ISTHMUS_FAKE_CUDA)},
                                         {"cuda_blas", std::string(ISTHMUS_FAKE_CUDA)},
                                         {"cuda_dnn", std::string()},
                                         {"memory_limit_bytes", int64_t{1000}}});
    ASSERT_TRUE(limited.ok()) << limited.status().message();
    Device& other = *(*limited)->addressableDevices().front();
    EXPECT_EQ(other.memoryStats().bytesInUse, (16 << 20) + 4096);
    EXPECT_EQ(other.memoryStats().peakBytesInUse, (16 << 20) + 4096);
    StatusOr<BufferRef> refused =
        (*limited)->uninitialized(*other.defaultMemory(), {ElementType::kF32, {1000}});
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(std::string(refused.status().message()),
                HasSubstr("in use are 2 blocks of 16.0 MiB: memory of 16.0 MiB (temporaries of "
                          "main), memory of 4.0 KiB (constants of main)"));
  }
  // The arena stays for others, but not at the cost of buffers.
  EXPECT_EQ(device.memoryStats().bytesInUse, 16 << 20);
  StatusOr<Ref<Client>> limited =
      Client::create(linkedBackend(), {{"cuda_library", std::string(ISTHMUS_FAKE_CUDA)},
                                       {"cuda_blas", std::string(ISTHMUS_FAKE_CUDA)},
                                       {"cuda_dnn", std::string()},
                                       {"memory_limit_bytes", int64_t{17 << 20}}});
  ASSERT_TRUE(limited.ok()) << limited.status().message();
  Memory& memory = *(*limited)->addressableDevices().front()->defaultMemory();
  EXPECT_TRUE((*limited)->uninitialized(memory, {ElementType::kF32, {1 << 19}}).ok());
  EXPECT_EQ(device.memoryStats().bytesInUse, 0);
}

// Such as copies of results of a program that does not end.
TEST_F(CudaRuntime, programs_are_loaded_while_copies_wait) {
  client();
  DeviceQueue& queue = *linkedBackend().queue(0);
  StatusOr<DeviceQueue::Block> block = queue.allocate("device", 400);
  ASSERT_TRUE(block.ok()) << block.status().message();
  const Floats values(100, 1);
  FAKE(fake_cuda_hold)(1);
  DeviceEventRef copied = *queue.copyFromHost(block->data, 0, values.data(), 400, {});
  ASSERT_TRUE(compile(withTable()).ok());
  EXPECT_FALSE(copied->isReady());
  FAKE(fake_cuda_hold)(0);
  EXPECT_TRUE(copied->await().ok());
  queue.release("device", block->data, 400, {});
}

// Work that does not end though somebody looks after it, and a host that must not wait for it.
TEST_F(CudaRuntime, a_hang_before_a_predicate_is_read_is_noticed) {
  Ref<Client> own = *makeClient(ISTHMUS_FAKE_CUDA);
  CompileRequest request{kLoopOfTheHost, "mlir", {}};
  StatusOr<Ref<LoadedExecutable>> executable = own->compile(request);
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  const FakeKernelScope first("kernel0", isBelowThree), second("kernel1", plusOne);
  const Floats values(100000, 0.5f);
  Device& device = *own->addressableDevices().front();
  HostArray array{values.data(), (*executable)->info().parameters[0].type};
  BufferRef argument = own->bufferFromHost(*device.defaultMemory(), array)->buffer;
  ASSERT_TRUE(argument->readyEvent().await().ok());
  setFlagForTest("ISTHMUS_DEVICE_TIMEOUT_SECONDS", "1");
  setFlagForTest("ISTHMUS_MAX_IN_FLIGHT", "1");
  FAKE(fake_cuda_hold)(1);
  const int reads = countInLog("copy 1 on stream");
  Buffer* arguments[] = {argument.get()};
  BufferRef result;
  DeviceLaunch launch{arguments, {&result, 1}, nullptr};
  ASSERT_TRUE((*executable)->execute({&launch, 1}, {}).ok());
  Status status = result->readyEvent().await();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.message();
  EXPECT_THAT(std::string(device.givenUp().message()), HasSubstr("was given up"));
  EXPECT_EQ(countInLog("copy 1 on stream"), reads);  // the host did not come to it
  FAKE(fake_cuda_hold)(0);
  setFlagForTest("ISTHMUS_DEVICE_TIMEOUT_SECONDS", "0");
  setFlagForTest("ISTHMUS_MAX_IN_FLIGHT", "32");
}

// Ten kernels, of lines 1 to 10 of model.py.
std::string tenKernels() {
  std::string text = "func.func @main(%v0: tensor<1000xf32>) -> tensor<1000xf32> {\n";
  const char* const ops[] = {"sine", "cosine", "tanh",  "exponential", "log",
                             "sqrt", "rsqrt",  "floor", "ceil",        "cbrt"};
  for (int i = 0; i < 10; ++i) {
    const std::string from = std::to_string(i), to = std::to_string(i + 1);
    text += "%a" + from + " = stablehlo." + ops[i] + " %v" + from +
            " : tensor<1000xf32> loc(\"model.py\":" + to + ":3)\n%v" + to +
            " = stablehlo.optimization_barrier %a" + from + " : tensor<1000xf32>\n";
  }
  return text + "return %v10 : tensor<1000xf32>\n}";
}

// One of these is the last test: they break the device.
TEST_F(CudaRuntime, z_a_fault_names_what_was_under_way_and_breaks_the_device) {
  if (flagBool("ISTHMUS_CUDA_MARK_KERNELS")) GTEST_SKIP();
  StatusOr<Ref<LoadedExecutable>> executable = compile(tenKernels());
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  FAKE(fake_cuda_fault)("kernel9");
  testing::internal::CaptureStderr();
  StatusOr<Floats> result = run(**executable, {Floats(1000)});
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_FALSE(result.ok());
  std::string message(result.status().message());
  EXPECT_THAT(message, HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_THAT(message, HasSubstr("kernel0 (stablehlo.sine at model.py:1:3)"));
  EXPECT_THAT(message, HasSubstr("kernel7 (stablehlo.floor at model.py:8:3) and 2 more"));
  EXPECT_EQ(result.status().code(), StatusCode::kUnavailable);
  // The log has all of them.
  EXPECT_THAT(said, HasSubstr("kernel9 (stablehlo.cbrt at model.py:10:3)"));
  StatusOr<Floats> later = run(**executable, {Floats(1000)});
  EXPECT_THAT(std::string(later.status().message()), HasSubstr("was lost by an earlier error"));
  EXPECT_EQ(later.status().code(), StatusCode::kUnavailable);
}

// In a process of its own (backends/cuda/CMakeLists.txt).
TEST_F(CudaRuntime, z_a_fault_names_the_one_kernel_where_kernels_are_marked) {
  if (!flagBool("ISTHMUS_CUDA_MARK_KERNELS")) GTEST_SKIP();
  StatusOr<Ref<LoadedExecutable>> good = compile(kAdd), executable = compile(tenKernels());
  ASSERT_TRUE(good.ok()) << good.status().message();
  ASSERT_TRUE(executable.ok()) << executable.status().message();
  ASSERT_TRUE(run(**good, {Floats(1000), Floats(1000)}, 3).ok());
  EXPECT_EQ(countInLog("graph on stream"), 0);
  FAKE(fake_cuda_fault)("kernel6");
  StatusOr<Floats> result = run(**executable, {Floats(1000)});
  EXPECT_EQ(result.status().code(), StatusCode::kUnavailable);
  std::string message(result.status().message());
  EXPECT_THAT(message, HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_THAT(message,
              HasSubstr("; it was at kernel6 (stablehlo.rsqrt at model.py:7:3) of program main"));
  EXPECT_THAT(message, Not(HasSubstr("kernel5 (")));
  EXPECT_THAT(message, Not(HasSubstr("kernel7 (")));
}

}  // namespace
}  // namespace isthmus

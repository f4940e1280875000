// Programs by kernels of a device that is told how to be compiled for by include/isthmus alone.
#include "backends/simulated/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/simulated/function_backend.h"
#include "base/trace/recorder.h"
#include "isthmus/flags.h"
#include "runtime/client.h"
#include "runtime/device/device.h"
#include "runtime/executable/loaded_executable.h"

namespace isthmus::simulated {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// The runtime's threads may look at a backend after a test, so none is ever destroyed.
KernelBackend& newBackend(KernelForm form, Interface interface, const HostFunctionProvider* host) {
  static auto& describes = *new FunctionBackend("test");
  static auto& backends = *new std::vector<std::unique_ptr<KernelBackend>>;
  const DeviceOptions options{.latency = std::chrono::microseconds(100)};
  return *backends.emplace_back(std::make_unique<KernelBackend>(describes, form, host, options,
                                                                interface, "stablehlo.atan2"));
}

class OnKernels {
 protected:
  OnKernels(KernelForm form, Interface interface, const HostFunctionProvider* host,
            int64_t devices = 1)
      : backend_(newBackend(form, interface, host)),
        client_(Client::create(backend_, {{"num_devices", devices}}).value()) {}

  StatusCode compileCode(const std::string& text) {
    auto compiled = client_->compile({text, "mlir", {}});
    if (!compiled.ok()) message_ = compiled.status().message();
    return compiled.status().code();
  }
  // Of a program of one argument and one result, both of f32.
  std::vector<float> run(const std::string& text, const std::vector<float>& values,
                         std::vector<int64_t> dims) {
    auto program = client_->compile({text, "mlir", {}});
    EXPECT_TRUE(program.ok()) << program.status().message();
    if (!program.ok()) return {};
    HostArray array{values.data(), {ElementType::kF32, std::move(dims)}};
    Memory& memory = *client_->addressableDevices()[0]->defaultMemory();
    BufferRef argument = client_->bufferFromHost(memory, array).value().buffer;
    std::vector<float> result;
    // Twice: constants stay where they are.
    for (int i = 0; i < 2; ++i) {
      Buffer* arguments[] = {argument.get()};
      BufferRef buffer;
      DeviceLaunch launch{arguments, {&buffer, 1}, nullptr};
      Status status = (*program)->execute({&launch, 1}, {});
      EXPECT_TRUE(status.ok()) << status.message();
      if (!status.ok()) return {};
      result.assign(buffer->sizeBytes() / sizeof(float), 0);
      Status read = buffer->copyToHost(result.data(), buffer->sizeBytes())->await();
      EXPECT_TRUE(read.ok()) << read.message();
    }
    return result;
  }

  // Of a program over all devices, each of which has its own argument and result.
  std::vector<std::vector<float>> runOnAll(const std::string& text,
                                           const std::vector<std::vector<float>>& values,
                                           std::vector<int64_t> dims) {
    CompileRequest request{text, "mlir", {}};
    request.options.numReplicas = static_cast<int>(values.size());
    auto program = client_->compile(request);
    EXPECT_TRUE(program.ok()) << program.status().message();
    if (!program.ok()) return {};
    std::vector<BufferRef> arguments, results(values.size());
    std::vector<Buffer*> pointers;
    for (size_t d = 0; d < values.size(); ++d) {
      HostArray array{values[d].data(), {ElementType::kF32, dims}};
      Memory& memory = *client_->addressableDevices()[d]->defaultMemory();
      arguments.push_back(client_->bufferFromHost(memory, array).value().buffer);
      pointers.push_back(arguments.back().get());
    }
    std::vector<DeviceLaunch> launches;
    for (size_t d = 0; d < values.size(); ++d) {
      launches.push_back({{&pointers[d], 1}, {&results[d], 1}, nullptr});
    }
    Status status = (*program)->execute(launches, {});
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<std::vector<float>> all;
    for (const BufferRef& result : results) {
      std::vector<float>& own = all.emplace_back(result->sizeBytes() / sizeof(float));
      Status read = result->copyToHost(own.data(), result->sizeBytes())->await();
      EXPECT_TRUE(read.ok()) << read.message();
    }
    return all;
  }

  KernelBackend& backend_;
  Ref<Client> client_;
  std::string message_;
};

class Kernels : public OnKernels,
                public ::testing::TestWithParam<std::tuple<Interface, KernelForm>> {
 protected:
  Kernels() : OnKernels(std::get<1>(GetParam()), std::get<0>(GetParam()), nullptr) {}
};

TEST_P(Kernels, product_and_what_comes_after) {
  EXPECT_THAT(run(R"(
      func.func @main(%x: tensor<2x3xf32>) -> tensor<2x2xf32> {
        %y = stablehlo.constant dense<[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]> : tensor<3x2xf32>
        %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
            : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
        %1 = stablehlo.add %0, %0 : tensor<2x2xf32>
        return %1 : tensor<2x2xf32>
      })",
                  {1, 2, 3, 4, 5, 6}, {2, 3}),
              ElementsAre(8, 10, 20, 22));
}

// Neither a fusion nor an operation becomes a kernel of more buffers than the header promises.
TEST_P(Kernels, more_operands_than_kernels_have_buffers) {
  constexpr int kParts = 140;
  std::string parts, names, types, sum = "%p0";
  for (int i = 0; i < kParts; ++i) {
    const std::string n = std::to_string(i);
    // Products, which no kernel computes anew.
    parts += "%s" + n + " = stablehlo.slice %x [" + n + ":" + std::to_string(i + 4) +
             "] : (tensor<143xf32>) -> tensor<4xf32>\n%p" + n + " = stablehlo.dot_general %s" + n +
             ", %one, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4x4xf32>) -> "
             "tensor<4xf32>\n";
    names += "%p" + n + ", ";
    types += "tensor<4xf32>, ";
    if (i == 0) continue;
    parts += "%t" + n + " = stablehlo.add " + sum + ", %p" + n + " : tensor<4xf32>\n";
    sum = "%t" + n;
  }
  std::vector<float> values, expected;
  for (int i = 0; i < kParts + 3; ++i) values.push_back(static_cast<float>(i));
  for (int i = 0; i < kParts; ++i) {
    for (int k = 0; k < 4; ++k) expected.push_back(static_cast<float>(i + k));
  }
  for (int k = 0; k < 4; ++k) {
    expected.push_back(static_cast<float>(kParts * (kParts - 1) / 2 + kParts * k));
  }
  const std::string program =
      "func.func @main(%x: tensor<143xf32>) -> tensor<564xf32> {\n%one = stablehlo.constant "
      "dense<[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, "
      "1.0]]> : tensor<4x4xf32>\n" +
      parts + "%r = stablehlo.concatenate " + names + sum + ", dim = 0 : (" + types +
      "tensor<4xf32>) -> tensor<564xf32>\nreturn %r : tensor<564xf32>\n}";
  EXPECT_THAT(run(program, values, {kParts + 3}), ElementsAreArray(expected));
}

// The CPU's library would copy each.
TEST_P(Kernels, many_large_arrays_are_joined) {
  constexpr int kParts = 9, kElements = 64 * 64;
  std::string parts, names, types;
  std::vector<float> expected;
  for (int i = 0; i < kParts; ++i) {
    const std::string n = std::to_string(i);
    parts += "%c" + n + " = stablehlo.constant dense<" + n + ".0> : tensor<64x64xf32>\n%p" + n +
             " = stablehlo.dot_general %x, %c" + n +
             ", contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> "
             "tensor<64x64xf32>\n";
    names += (i ? ", %p" : "%p") + n;
    types += i ? ", tensor<64x64xf32>" : "tensor<64x64xf32>";
    expected.insert(expected.end(), kElements, static_cast<float>(64 * i));
  }
  const std::string program = "func.func @main(%x: tensor<64x64xf32>) -> tensor<576x64xf32> {\n" +
                              parts + "%r = stablehlo.concatenate " + names + ", dim = 0 : (" +
                              types + ") -> tensor<576x64xf32>\nreturn %r : tensor<576x64xf32>\n}";
  EXPECT_EQ(run(program, std::vector<float>(kElements, 1), {64, 64}), expected);
}

TEST_P(Kernels, profiles_have_times_of_kernels) {
  ASSERT_TRUE(trace::start());
  run(R"(
      func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
        %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
            : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> loc("model.py":7:5)
        return %0 : tensor<64x64xf32>
      })",
      std::vector<float>(64 * 64, 1), {64, 64});
  const trace::Recording recording = trace::take();
  std::vector<trace::Event> steps;
  for (const trace::ThreadEvents& thread : recording.threads) {
    std::copy_if(thread.events.begin(), thread.events.end(), std::back_inserter(steps),
                 [](const trace::Event& event) { return event.track == trace::Track::kStep; });
  }
  ASSERT_EQ(steps.size(), 2u);  // a kernel of each run
  for (const trace::Event& step : steps) {
    EXPECT_EQ(step.info->op, "dot_general");
    EXPECT_THAT(step.info->source, HasSubstr("model.py:7"));
    EXPECT_EQ(step.info->flops, 2.0 * 64 * 64 * 64);
    EXPECT_GE(step.endNs - step.beginNs, 100'000);  // the device's latency
  }
  EXPECT_NE(steps[0].run, steps[1].run);
}

TEST_P(Kernels, reduction_and_sort) {
  const char* text = R"(
      func.func @main(%x: tensor<3x4xf32>) -> tensor<3xf32> {
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1]
            : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
        %1 = "stablehlo.sort"(%0) ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        }) {dimension = 0 : i64, is_stable = true} : (tensor<3xf32>) -> tensor<3xf32>
        return %1 : tensor<3xf32>
      })";
  if (std::get<1>(GetParam()) == KernelForm::kVectors) {
    EXPECT_EQ(compileCode(text), StatusCode::kUnimplemented);
    EXPECT_THAT(message_, HasSubstr("stablehlo.sort"));
    return;
  }
  EXPECT_THAT(run(text, {9, 9, 9, 9, 1, 2, 3, 4, 5, 5, 5, -3}, {3, 4}), ElementsAre(10, 12, 36));
}

// Its carried values change places, and the device decides when it ends.
TEST_P(Kernels, loop_whose_end_the_device_knows) {
  EXPECT_THAT(run(R"(
      func.func @main(%x: tensor<2xf32>) -> tensor<4xf32> {
        %y = stablehlo.multiply %x, %x : tensor<2xf32>
        %r:2 = "stablehlo.while"(%x, %y) ({
        ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
          %limit = stablehlo.constant dense<1.0e+02> : tensor<1xf32>
          %0 = "stablehlo.slice"(%b) {start_indices = array<i64: 0>, limit_indices = array<i64: 1>,
              strides = array<i64: 1>} : (tensor<2xf32>) -> tensor<1xf32>
          %1 = stablehlo.compare LT, %0, %limit : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xi1>
          %2 = stablehlo.reshape %1 : (tensor<1xi1>) -> tensor<i1>
          stablehlo.return %2 : tensor<i1>
        }, {
        ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
          %0 = stablehlo.add %a, %b : tensor<2xf32>
          stablehlo.return %b, %0 : tensor<2xf32>, tensor<2xf32>
        }) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)
        %c = stablehlo.concatenate %r#0, %r#1, dim = 0
            : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
        return %c : tensor<4xf32>
      })",
                  {2, 3}, {2}),
              // 2 4 6 10 16 26 42 68 110; 3 9 12 21 33 54 87 141 228
              ElementsAre(68, 141, 110, 228));
}

TEST_P(Kernels, branches_and_arguments_that_are_results) {
  const char* text = R"(
      func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
        %z = stablehlo.constant dense<0.0> : tensor<2xf32>
        %0 = stablehlo.compare GT, %x, %z : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
        %1 = "stablehlo.slice"(%0) {start_indices = array<i64: 0>, limit_indices = array<i64: 1>,
            strides = array<i64: 1>} : (tensor<2xi1>) -> tensor<1xi1>
        %2 = stablehlo.reshape %1 : (tensor<1xi1>) -> tensor<i1>
        %3 = "stablehlo.if"(%2) ({
          %4 = stablehlo.exponential %z : tensor<2xf32>
          stablehlo.return %4 : tensor<2xf32>
        }, {
          stablehlo.return %x : tensor<2xf32>
        }) : (tensor<i1>) -> tensor<2xf32>
        return %3 : tensor<2xf32>
      })";
  EXPECT_THAT(run(text, {5, 7}, {2}), ElementsAre(1, 1));
  EXPECT_THAT(run(text, {-5, 7}, {2}), ElementsAre(-5, 7));
  EXPECT_THAT(
      run("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }",
          {5, 7}, {2}),
      ElementsAre(5, 7));
}

TEST_P(Kernels, what_has_no_kernel_is_refused_by_name) {
  EXPECT_EQ(compileCode(R"(
      func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
        %0 = stablehlo.atan2 %x, %x : tensor<2xf32> loc("model.py":3:1)
        return %0 : tensor<2xf32>
      })"),
            StatusCode::kUnimplemented);
  EXPECT_THAT(message_, HasSubstr("stablehlo.atan2"));
  EXPECT_THAT(message_, HasSubstr("model.py:3:1"));
  EXPECT_EQ(compileCode(R"(
      func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
        %0 = "stablehlo.cholesky"(%x) {lower = true} : (tensor<2x2xf32>) -> tensor<2x2xf32>
        return %0 : tensor<2x2xf32>
      })"),
            StatusCode::kUnimplemented);
  EXPECT_THAT(message_, HasSubstr("stablehlo.cholesky"));
}

// Rows that groups sum up, in registers of neighbours and in their memory, if there are groups.
TEST_P(Kernels, rows_of_which_no_thread_has_all) {
  constexpr int64_t kRows = 3, kColumns = 1500;
  std::vector<float> values(kRows * kColumns);
  std::vector<float> expected(kRows * kColumns);
  for (int64_t row = 0; row < kRows; ++row) {
    float sum = 0;  // exact: small integers
    for (int64_t i = 0; i < kColumns; ++i) {
      sum += values[row * kColumns + i] = static_cast<float>((i * 7 + row) % 13);
    }
    for (int64_t i = 0; i < kColumns; ++i) {
      expected[row * kColumns + i] = values[row * kColumns + i] * sum;
    }
  }
  EXPECT_THAT(run(R"(
      func.func @main(%x: tensor<3x1500xf32>) -> tensor<3x1500xf32> {
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1]
            : (tensor<3x1500xf32>, tensor<f32>) -> tensor<3xf32>
        %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<3xf32>) -> tensor<3x1500xf32>
        %2 = stablehlo.multiply %x, %1 : tensor<3x1500xf32>
        return %2 : tensor<3x1500xf32>
      })",
                  values, {kRows, kColumns}),
              ElementsAreArray(expected));
  EXPECT_EQ(backend_.groupLaunches() > 0, std::get<1>(GetParam()) == KernelForm::kGroups);
}

TEST_P(Kernels, products_of_many_tiles) {
  constexpr int64_t kSize = 130;
  std::vector<float> values(kSize * kSize), expected(kSize * kSize);
  for (int64_t i = 0; i < kSize * kSize; ++i) values[i] = static_cast<float>(i * 5 % 7 - 3);
  for (int64_t i = 0; i < kSize; ++i) {
    for (int64_t j = 0; j < kSize; ++j) {
      for (int64_t k = 0; k < kSize; ++k) {
        expected[i * kSize + j] += values[i * kSize + k] * values[k * kSize + j];
      }
    }
  }
  EXPECT_THAT(run(R"(
      func.func @main(%x: tensor<130x130xf32>) -> tensor<130x130xf32> {
        %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
            : (tensor<130x130xf32>, tensor<130x130xf32>) -> tensor<130x130xf32>
        return %0 : tensor<130x130xf32>
      })",
                  values, {kSize, kSize}),
              ElementsAreArray(expected));
  EXPECT_EQ(backend_.groupLaunches() > 0, std::get<1>(GetParam()) == KernelForm::kGroups);
}

TEST_P(Kernels, a_failed_kernel_is_named_though_others_follow) {
  if (std::get<0>(GetParam()) == Interface::kSynchronous) GTEST_SKIP() << "nothing follows";
  const char* text = R"(
      func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
        %0 = stablehlo.sine %x : tensor<2xf32> loc("model.py":5:1)
        return %0 : tensor<2xf32>
      })";
  auto program = client_->compile({text, "mlir", {}});
  ASSERT_TRUE(program.ok()) << program.status().message();
  const float values[] = {1, 2};
  Memory& memory = *client_->addressableDevices()[0]->defaultMemory();
  BufferRef argument =
      client_->bufferFromHost(memory, HostArray{values, {ElementType::kF32, {2}}}).value().buffer;
  backend_.device(0).inject(Fault::kKernel, "model.py:5");
  Buffer* arguments[] = {argument.get()};
  BufferRef result;
  DeviceLaunch launch{arguments, {&result, 1}, nullptr};
  ASSERT_TRUE((*program)->execute({&launch, 1}, {}).ok());
  Status status = result->readyEvent().await();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("stablehlo.sine at model.py:5"));
}

TEST_P(Kernels, programs_come_back_from_bytes) {
  const char* text = R"(
      func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
        %c = stablehlo.constant dense<[10.0, 20.0]> : tensor<2xf32>
        %0 = stablehlo.add %x, %c : tensor<2xf32>
        return %0 : tensor<2xf32>
      })";
  auto compiled = backend_.compile({text, "mlir", {}});
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  StatusOr<std::string> bytes = (*compiled)->serialize();
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  EXPECT_TRUE(backend_.deserialize(*bytes).ok());
  std::string damaged = *bytes;
  damaged[damaged.size() / 2] ^= 1;
  EXPECT_EQ(backend_.deserialize(damaged).status().code(), StatusCode::kInvalidArgument);
}

TEST_P(Kernels, sums_of_nothing) {
  EXPECT_THAT(run(R"(
      func.func @main(%x: tensor<2x0xf32>) -> tensor<2xf32> {
        %z = stablehlo.constant dense<5.0> : tensor<f32>
        %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1]
            : (tensor<2x0xf32>, tensor<f32>) -> tensor<2xf32>
        return %0 : tensor<2xf32>
      })",
                  {}, {2, 0}),
              ElementsAre(5, 5));
}

TEST_P(Kernels, says_what_it_supports) {
  const bool isVector = std::get<1>(GetParam()) == KernelForm::kVectors;
  EXPECT_EQ(backend_.supports("stablehlo.add"), Support::kOnDevice);
  EXPECT_EQ(backend_.supports("stablehlo.sort"), isVector ? Support::kNo : Support::kOnDevice);
  EXPECT_EQ(backend_.supports("stablehlo.atan2"), Support::kNo);
  EXPECT_EQ(backend_.supports("stablehlo.cholesky"), Support::kNo);
}

INSTANTIATE_TEST_SUITE_P(
    Devices, Kernels,
    ::testing::Combine(::testing::Values(Interface::kAsynchronous, Interface::kSynchronous),
                       ::testing::Values(KernelForm::kElements, KernelForm::kVectors,
                                         KernelForm::kGroups)));

// With the host, and several devices.
class KernelsAndHost : public OnKernels, public ::testing::TestWithParam<Interface> {
 protected:
  KernelsAndHost() : OnKernels(KernelForm::kGroups, GetParam(), &linkedHostFunctions(), 2) {}
};

TEST_P(KernelsAndHost, the_host_does_what_has_no_kernel) {
  EXPECT_EQ(backend_.supports("stablehlo.cholesky"), Support::kByHost);
  EXPECT_THAT(run(R"(
      func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
        %0 = stablehlo.add %x, %x : tensor<2x2xf32>
        %1 = "stablehlo.cholesky"(%0) {lower = true} : (tensor<2x2xf32>) -> tensor<2x2xf32>
        %2 = stablehlo.negate %1 : tensor<2x2xf32>
        return %2 : tensor<2x2xf32>
      })",
                  {2, 1, 1, 5}, {2, 2}),
              ElementsAre(-2, 0, -1, -3));
}

TEST_P(KernelsAndHost, the_host_does_what_the_device_refuses_where_that_is_asked_for) {
  const char* text = R"(
      func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
        %0 = stablehlo.atan2 %x, %x : tensor<2xf32>
        return %0 : tensor<2xf32>
      })";
  EXPECT_EQ(compileCode(text), StatusCode::kUnimplemented);
  EXPECT_THAT(message_, HasSubstr("stablehlo.atan2"));
  setFlagForTest("ISTHMUS_FALLBACK", "cpu");
  const std::vector<float> angles = run(text, {1, -1}, {2});
  setFlagForTest("ISTHMUS_FALLBACK", "");
  EXPECT_THAT(angles,
              ElementsAre(::testing::FloatEq(0.78539816F), ::testing::FloatEq(-2.3561945F)));
}

constexpr char kAllReduce[] = R"(
    func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = stablehlo.add %x, %x : tensor<3xf32>
      %1 = "stablehlo.all_reduce"(%0) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<3xf32>) -> tensor<3xf32>
      %2 = stablehlo.negate %1 : tensor<3xf32>
      return %2 : tensor<3xf32>
    })";

TEST_P(KernelsAndHost, devices_sum_among_themselves_or_by_the_host) {
  for (int round = 1; round <= 3; ++round) {
    auto results = runOnAll(kAllReduce, {{1, 2, 3}, {10, 20, 30}}, {3});
    EXPECT_THAT(results, ElementsAre(ElementsAre(-22, -44, -66), ElementsAre(-22, -44, -66)));
    EXPECT_EQ(backend_.collectives().begun(), GetParam() == Interface::kAsynchronous ? round : 0);
  }
}

// What each gets does not lie as it comes.
TEST_P(KernelsAndHost, devices_gather_and_exchange_blocks) {
  EXPECT_THAT(runOnAll(R"(
      func.func @main(%x: tensor<2x1xf32>) -> tensor<2x2xf32> {
        %0 = "stablehlo.all_gather"(%x) {all_gather_dim = 1 : i64,
            replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}
            : (tensor<2x1xf32>) -> tensor<2x2xf32>
        return %0 : tensor<2x2xf32>
      })",
                       {{1, 2}, {3, 4}}, {2, 1}),
              ElementsAre(ElementsAre(1, 3, 2, 4), ElementsAre(1, 3, 2, 4)));
  EXPECT_THAT(runOnAll(R"(
      func.func @main(%x: tensor<2x2xf32>) -> tensor<1x4xf32> {
        %0 = "stablehlo.all_to_all"(%x) {split_dimension = 0 : i64, concat_dimension = 1 : i64,
            split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}
            : (tensor<2x2xf32>) -> tensor<1x4xf32>
        return %0 : tensor<1x4xf32>
      })",
                       {{1, 2, 3, 4}, {5, 6, 7, 8}}, {2, 2}),
              ElementsAre(ElementsAre(1, 2, 5, 6), ElementsAre(3, 4, 7, 8)));
  EXPECT_THAT(runOnAll(R"(
      func.func @main(%x: tensor<2x2xf32>) -> tensor<2x1xf32> {
        %0 = "stablehlo.reduce_scatter"(%x) ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) {scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}
            : (tensor<2x2xf32>) -> tensor<2x1xf32>
        return %0 : tensor<2x1xf32>
      })",
                       {{1, 2, 3, 4}, {10, 20, 30, 40}}, {2, 2}),
              ElementsAre(ElementsAre(11, 33), ElementsAre(22, 44)));
  EXPECT_THAT(runOnAll(R"(
      func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
        %0 = "stablehlo.collective_permute"(%x) {
            source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}
            : (tensor<2xf32>) -> tensor<2xf32>
        return %0 : tensor<2xf32>
      })",
                       {{1, 2}, {3, 4}}, {2}),
              ElementsAre(ElementsAre(3, 4), ElementsAre(0, 0)));
}

// The host does what the devices' collectives leave to it.
TEST_P(KernelsAndHost, products_are_reduced_by_the_host) {
  std::string text = kAllReduce;
  const std::string sum = "%s = stablehlo.add", product = "%s = stablehlo.multiply";
  text.replace(text.find(sum), sum.size(), product);
  EXPECT_THAT(runOnAll(text, {{1, 2, 3}, {10, 20, 30}}, {3}),
              ElementsAre(ElementsAre(-40, -160, -360), ElementsAre(-40, -160, -360)));
  EXPECT_EQ(backend_.collectives().begun(), 0);
}

TEST_P(KernelsAndHost, a_device_that_fails_ends_what_the_others_wait_for) {
  CompileRequest request{kAllReduce, "mlir", {}};
  request.options.numReplicas = 2;
  auto program = client_->compile(request);
  ASSERT_TRUE(program.ok()) << program.status().message();
  backend_.device(1).inject(Fault::kKernel);
  const float values[] = {1, 2, 3};
  std::vector<BufferRef> arguments, results(2);
  for (int d : {0, 1}) {
    Memory& memory = *client_->addressableDevices()[static_cast<size_t>(d)]->defaultMemory();
    arguments.push_back(client_->bufferFromHost(memory, HostArray{values, {ElementType::kF32, {3}}})
                            .value()
                            .buffer);
  }
  Buffer* first[] = {arguments[0].get()};
  Buffer* second[] = {arguments[1].get()};
  DeviceLaunch launches[] = {{first, {&results[0], 1}, nullptr},
                             {second, {&results[1], 1}, nullptr}};
  ASSERT_TRUE((*program)->execute(launches, {}).ok());
  for (const BufferRef& result : results) {
    Status status = result->readyEvent().await();
    EXPECT_THAT(std::string(status.message()), HasSubstr("read an address that is not there"));
  }
}

// The outcome of a program of one argument whose first kernel hangs on a device that is given a
// second.
class HangingKernels : public OnKernels, public ::testing::Test {
 protected:
  HangingKernels()
      : OnKernels(KernelForm::kGroups, Interface::kAsynchronous, &linkedHostFunctions()) {
    setFlagForTest("ISTHMUS_DEVICE_TIMEOUT_SECONDS", "1");
    setFlagForTest("ISTHMUS_MAX_IN_FLIGHT", "1");
  }
  ~HangingKernels() override {
    backend_.device(0).lose();
    setFlagForTest("ISTHMUS_DEVICE_TIMEOUT_SECONDS", "0");
    setFlagForTest("ISTHMUS_MAX_IN_FLIGHT", "32");
  }
  Status hang(const std::string& text, std::vector<int64_t> dims, Fault fault = Fault::kHang) {
    auto program = client_->compile({text, "mlir", {}});
    EXPECT_TRUE(program.ok()) << program.status().message();
    if (!program.ok()) return program.status();
    ArrayType type{ElementType::kF32, std::move(dims)};
    const std::vector<float> values(static_cast<size_t>(type.numElements()), 1);
    Memory& memory = *client_->addressableDevices()[0]->defaultMemory();
    BufferRef argument = client_->bufferFromHost(memory, HostArray{values.data(), type})->buffer;
    EXPECT_TRUE(argument->readyEvent().await().ok());
    backend_.device(0).inject(fault);
    Buffer* arguments[] = {argument.get()};
    BufferRef result;
    DeviceLaunch launch{arguments, {&result, 1}, nullptr};
    EXPECT_TRUE((*program)->execute({&launch, 1}, {}).ok());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    if (!result->readyEvent().awaitUntil(deadline)) return internalError("it waits for ever");
    return result->readyEvent().await();
  }
};

constexpr const char* kLoopOfTheHost = R"(
      func.func @main(%x: tensor<100000xf32>) -> tensor<100000xf32> {
        %r = stablehlo.while(%a = %x) : tensor<100000xf32>
        cond {
          %limit = stablehlo.constant dense<3.0> : tensor<f32>
          %0 = stablehlo.slice %a [0:1] : (tensor<100000xf32>) -> tensor<1xf32>
          %1 = stablehlo.reshape %0 : (tensor<1xf32>) -> tensor<f32>
          %2 = stablehlo.compare LT, %1, %limit, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %2 : tensor<i1>
        } do {
          %one = stablehlo.constant dense<1.0> : tensor<100000xf32>
          %0 = stablehlo.add %a, %one : tensor<100000xf32>
          stablehlo.return %0 : tensor<100000xf32>
        }
        return %r : tensor<100000xf32>
      })";

TEST_F(HangingKernels, before_the_host_reads_a_predicate) {
  Status status = hang(kLoopOfTheHost, {100000});
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.message();
  EXPECT_THAT(client_->addressableDevices()[0]->givenUp().message(), HasSubstr("was given up"));
}

constexpr const char* kPartOfTheHost = R"(
      func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
        %0 = stablehlo.exponential %x : tensor<2x2xf32>
        %1 = stablehlo.cholesky %0, lower = true : tensor<2x2xf32>
        return %1 : tensor<2x2xf32>
      })";

TEST_F(HangingKernels, before_the_host_has_its_part) {
  Status status = hang(kPartOfTheHost, {2, 2});
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.message();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("; under way is kernel kernel0 (stablehlo.exponential at program:3:"));
}

// All kernels have ended by then.
TEST_F(HangingKernels, while_the_host_reads_a_predicate) {
  Status status = hang(kLoopOfTheHost, {100000}, Fault::kHangingCopy);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.message();
  EXPECT_THAT(std::string(status.message()), HasSubstr("; under way is a copy"));
}

TEST_F(HangingKernels, while_the_host_is_given_its_part) {
  Status status = hang(kPartOfTheHost, {2, 2}, Fault::kHangingCopy);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.message();
  EXPECT_THAT(std::string(status.message()), HasSubstr("; under way is a copy"));
}

// y = x + c[x[0] : x[0] + 4] of so many constants, more than kernels have in their code: c[i] = 3i.
std::string withConstants(int count) {
  std::string values;
  for (int i = 0; i < count; ++i) values += (i > 0 ? ", " : "") + std::to_string(3 * i) + ".0";
  const std::string array = "tensor<" + std::to_string(count) + "xf32>";
  return R"(
      func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        %0 = stablehlo.constant dense<[)" +
         values + "]> : " + array + R"(
        %1 = stablehlo.slice %x [0:1] : (tensor<4xf32>) -> tensor<1xf32>
        %2 = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>
        %3 = stablehlo.convert %2 : (tensor<f32>) -> tensor<i32>
        %4 = stablehlo.dynamic_slice %0, %3, sizes = [4] : ()" +
         array + R"(, tensor<i32>) -> tensor<4xf32>
        %5 = stablehlo.add %x, %4 : tensor<4xf32>
        return %5 : tensor<4xf32>
      })";
}
constexpr int kManyConstants = 1000;

TEST_F(HangingKernels, while_constants_are_copied) {
  Status status = hang(withConstants(kManyConstants), {4}, Fault::kHangingCopy);
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.message();
  EXPECT_THAT(std::string(status.message()), HasSubstr("under way is the copy of its constants"));
}

TEST_F(HangingKernels, while_a_profile_is_recorded) {
  ASSERT_TRUE(trace::start());
  Status status = hang(kLoopOfTheHost, {100000});
  trace::take();
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded) << status.message();
}

// The next run copies them again.
TEST_P(KernelsAndHost, constants_that_cannot_be_copied_fail_the_run_alone) {
  auto program = client_->compile({withConstants(kManyConstants), "mlir", {}});
  ASSERT_TRUE(program.ok()) << program.status().message();
  const float values[] = {1, 2, 3, 4};
  Memory& memory = *client_->addressableDevices()[0]->defaultMemory();
  HostArray array{values, {ElementType::kF32, {4}}};
  BufferRef argument = client_->bufferFromHost(memory, array)->buffer;
  ASSERT_TRUE(argument->readyEvent().await().ok());
  Buffer* arguments[] = {argument.get()};
  BufferRef failed, result;
  DeviceLaunch first{arguments, {&failed, 1}, nullptr}, second{arguments, {&result, 1}, nullptr};
  backend_.device(0).inject(Fault::kCopy);
  ASSERT_TRUE((*program)->execute({&first, 1}, {}).ok());
  EXPECT_THAT(std::string(failed->readyEvent().await().message()), HasSubstr("a copy failed"));
  ASSERT_TRUE((*program)->execute({&second, 1}, {}).ok());
  float sums[4] = {};
  ASSERT_TRUE(result->copyToHost(sums, sizeof(sums))->await().ok());
  EXPECT_THAT(sums, ElementsAre(4, 8, 12, 16));
}

// What programs have of a device counts against the client's limit.
TEST_P(KernelsAndHost, constants_and_temporaries_do_not_pass_the_limit) {
  constexpr int64_t kLimit = 64 << 10;
  Ref<Client> client =
      Client::create(backend_, {{"num_devices", int64_t{1}}, {"memory_limit_bytes", kLimit}})
          .value();
  Memory& memory = *client->addressableDevices()[0]->defaultMemory();
  auto run = [&](const std::string& text, int64_t elements) -> StatusOr<BufferRef> {
    ISTHMUS_ASSIGN_OR_RETURN(auto program, client->compile({text, "mlir", {}}));
    const std::vector<float> values(static_cast<size_t>(elements), 1);
    HostArray array{values.data(), {ElementType::kF32, {elements}}};
    ISTHMUS_ASSIGN_OR_RETURN(Client::FromHost argument, client->bufferFromHost(memory, array));
    Buffer* arguments[] = {argument.buffer.get()};
    BufferRef result;
    DeviceLaunch launch{arguments, {&result, 1}, nullptr};
    ISTHMUS_RETURN_IF_ERROR(program->execute({&launch, 1}, {}));
    ISTHMUS_RETURN_IF_ERROR(result->readyEvent().await());
    return result;
  };
  // Of 1 MiB: a sorted array that is only summed.
  const char* const kManyTemporaries = R"(
      func.func @main(%x: tensor<512xf32>) -> tensor<512xf32> {
        %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
        %1 = "stablehlo.sort"(%0) ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        }) {dimension = 1 : i64, is_stable = true} : (tensor<512x512xf32>) -> tensor<512x512xf32>
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1]
            : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
        return %2 : tensor<512xf32>
      })";
  const bool isAsynchronous = GetParam() == Interface::kAsynchronous;
  for (const auto& [text, elements, what] :
       {std::tuple{withConstants(20'000), 4, "constants of main: "},
        std::tuple{std::string(kManyTemporaries), 512,
                   isAsynchronous ? "program main: temporaries: " : "temporaries of main: "}}) {
    StatusOr<BufferRef> result = run(text, elements);
    EXPECT_EQ(result.status().code(), StatusCode::kResourceExhausted);
    const std::string message(result.status().message());
    EXPECT_THAT(message, HasSubstr(what));
    EXPECT_THAT(message, HasSubstr("the limit of 64.0 KiB is reached; asked for "));
    EXPECT_THAT(message, HasSubstr("(from the host)"));  // in the list
  }
  // What fits runs still.
  StatusOr<BufferRef> fits = run(withConstants(kManyConstants), 4);
  ASSERT_TRUE(fits.ok()) << fits.status().message();
  float sums[4] = {};
  ASSERT_TRUE((*fits)->copyToHost(sums, sizeof(sums))->await().ok());
  EXPECT_THAT(sums, ElementsAre(4, 7, 10, 13));
}

INSTANTIATE_TEST_SUITE_P(Interfaces, KernelsAndHost,
                         ::testing::Values(Interface::kAsynchronous, Interface::kSynchronous));

}  // namespace
}  // namespace isthmus::simulated

// What fails in the middle of a program, wherever that is: an error that says so, in time; memory
// that is given back; and a device that goes on, unless it is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/simulated/function_backend.h"
#include "backends/simulated/kernels.h"
#include "runtime/client.h"
#include "runtime/device/device.h"
#include "runtime/executable/loaded_executable.h"
#include "runtime/memory/memory.h"

namespace isthmus::simulated {
namespace {

using ::testing::HasSubstr;

constexpr int kDevices = 2;
constexpr auto kInTime = std::chrono::seconds(30);

// From tensor<64xf32> to tensor<64xf32>.
struct Program {
  const char* name;
  int replicas;
  const char* text;
};

constexpr Program kPrograms[] = {
    {"straight", 1, R"(
      func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
        %m = stablehlo.reshape %x : (tensor<64xf32>) -> tensor<8x8xf32>
        %p = stablehlo.dot_general %m, %m, contracting_dims = [1] x [0]
            : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
        %q = stablehlo.dot_general %p, %m, contracting_dims = [1] x [0]
            : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
        %r = stablehlo.reshape %q : (tensor<8x8xf32>) -> tensor<64xf32>
        return %r : tensor<64xf32>
      })"},
    {"loop_with_products", 1, R"(
      func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %r = stablehlo.while(%a = %x) : tensor<64xf32>
        cond {
          %limit = stablehlo.constant dense<150.0> : tensor<f32>
          %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
              : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
          %c = stablehlo.compare LT, %s, %limit, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %one = stablehlo.constant dense<1.0> : tensor<64xf32>
          %0 = stablehlo.add %a, %one : tensor<64xf32>
          %m = stablehlo.reshape %0 : (tensor<64xf32>) -> tensor<8x8xf32>
          %e = stablehlo.constant dense<0.125> : tensor<8x8xf32>
          %p = stablehlo.dot_general %m, %e, contracting_dims = [1] x [0]
              : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
          %1 = stablehlo.reshape %p : (tensor<8x8xf32>) -> tensor<64xf32>
          stablehlo.return %1 : tensor<64xf32>
        }
        return %r : tensor<64xf32>
      })"},
    {"branch_and_host", 1, R"(
      func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
        %s = stablehlo.slice %x [0:1] : (tensor<64xf32>) -> tensor<1xf32>
        %f = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %c = stablehlo.compare GT, %f, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %r = "stablehlo.if"(%c) ({
          %m = stablehlo.reshape %x : (tensor<64xf32>) -> tensor<8x8xf32>
          %i = stablehlo.iota dim = 0 : tensor<8x8xi32>
          %j = stablehlo.iota dim = 1 : tensor<8x8xi32>
          %d = stablehlo.compare EQ, %i, %j : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
          %n = stablehlo.convert %d : (tensor<8x8xi1>) -> tensor<8x8xf32>
          %t = stablehlo.add %m, %n : tensor<8x8xf32>
          %l = stablehlo.cholesky %t, lower = true : tensor<8x8xf32>
          %p = stablehlo.dot_general %l, %n, contracting_dims = [1] x [0]
              : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
          %y = stablehlo.reshape %p : (tensor<8x8xf32>) -> tensor<64xf32>
          stablehlo.return %y : tensor<64xf32>
        }, {
          stablehlo.return %x : tensor<64xf32>
        }) : (tensor<i1>) -> tensor<64xf32>
        return %r : tensor<64xf32>
      })"},
    {"collectives", kDevices, R"(
      module attributes {mhlo.num_replicas = 2 : i32} {
      func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
        %a = stablehlo.exponential %x : tensor<64xf32>
        %s = "stablehlo.all_reduce"(%a) ({
        ^bb0(%p: tensor<f32>, %q: tensor<f32>):
          %t = stablehlo.add %p, %q : tensor<f32>
          stablehlo.return %t : tensor<f32>
        }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<64xf32>) -> tensor<64xf32>
        %b = stablehlo.negate %s : tensor<64xf32>
        %m = "stablehlo.all_reduce"(%b) ({
        ^bb0(%p: tensor<f32>, %q: tensor<f32>):
          %t = stablehlo.multiply %p, %q : tensor<f32>
          stablehlo.return %t : tensor<f32>
        }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<64xf32>) -> tensor<64xf32>
        %r = stablehlo.add %m, %a : tensor<64xf32>
        return %r : tensor<64xf32>
      }
      })"},
};

// The runtime's threads may look at a backend after a test, so none is ever destroyed.
KernelBackend& newBackend(Interface interface) {
  static auto& describes = *new FunctionBackend("test");
  static auto& backends = *new std::vector<std::unique_ptr<KernelBackend>>;
  return *backends.emplace_back(std::make_unique<KernelBackend>(
      describes, KernelForm::kGroups, &linkedHostFunctions(), DeviceOptions{}, interface, "none"));
}

class Faults : public ::testing::TestWithParam<std::tuple<Interface, Program>> {
 protected:
  Faults()
      : program_(std::get<1>(GetParam())),
        backend_(newBackend(std::get<0>(GetParam()))),
        client_(Client::create(backend_, {{"num_devices", int64_t{kDevices}}}).value()) {
    const std::vector<float> values(64, 0.5f);
    for (int d = 0; d < program_.replicas; ++d) {
      HostArray array{values.data(), {ElementType::kF32, {64}}};
      arguments_.push_back(client_->bufferFromHost(memory(d), array)->buffer);
      EXPECT_TRUE(arguments_.back()->readyEvent().await().ok());
    }
  }

  Memory& memory(int device) {
    return *client_->addressableDevices()[static_cast<size_t>(device)]->defaultMemory();
  }
  int64_t bytesInUse() {
    int64_t bytes = 0;
    for (int d = 0; d < kDevices; ++d) bytes += memory(d).stats().bytesInUse;
    return bytes;
  }
  // Memory is given back a little later than results are there.
  void expectInUse(int64_t expected) {
    const auto deadline = std::chrono::steady_clock::now() + kInTime;
    while (bytesInUse() != expected && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(bytesInUse(), expected);
  }

  Ref<LoadedExecutable> compile() {
    CompileRequest request{program_.text, "mlir", {}};
    request.options.numReplicas = program_.replicas;
    return client_->compile(request).value();
  }
  // The first error of any device, if there is one.
  Status run(LoadedExecutable& executable, std::vector<float>* values = nullptr) {
    std::vector<Buffer*> pointers;
    for (const BufferRef& argument : arguments_) pointers.push_back(argument.get());
    std::vector<BufferRef> results(arguments_.size());
    std::vector<DeviceLaunch> launches;
    for (size_t d = 0; d < results.size(); ++d) {
      launches.push_back({{&pointers[d], 1}, {&results[d], 1}, nullptr});
    }
    Status status = executable.execute(launches, {});
    const auto deadline = std::chrono::steady_clock::now() + kInTime;
    for (const BufferRef& result : results) {
      if (!result) continue;
      if (!result->readyEvent().awaitUntil(deadline)) return internalError("it waits for ever");
      Status done = result->readyEvent().await();
      if (status.ok()) status = done;
    }
    if (!status.ok() || values == nullptr) return status;
    values->assign(64, 0);
    return results[0]->copyToHost(values->data(), 64 * sizeof(float))->await();
  }

  // Has it happen to one after another of what the program asks of a device. Each time the program
  // is new, with constants to copy, and runs again when it has failed.
  void sweep(Fault fault, StatusCode code, const std::string& message) {
    constexpr int kMost = 200;
    std::vector<float> expected, values;
    ASSERT_TRUE(run(*compile(), &expected).ok());
    expectInUse(inUse());
    Device& device = backend_.device(program_.replicas - 1);
    for (int before = 0; before < kMost; ++before) {
      SCOPED_TRACE(std::string(program_.name) + " after " + std::to_string(before));
      Ref<LoadedExecutable> executable = compile();
      device.inject(fault, "", before);
      const Status status = run(*executable);
      const bool hasHappened = !device.clearFaults();
      if (!hasHappened) {
        EXPECT_TRUE(status.ok()) << status.message();
        EXPECT_TRUE(before > 0 || fault == Fault::kCopy) << "it asks for none";
        return;
      }
      EXPECT_EQ(status.code(), code) << status.message();
      EXPECT_THAT(std::string(status.message()), HasSubstr(message));
      const Status again = run(*executable, &values);
      EXPECT_TRUE(again.ok()) << again.message();
      EXPECT_EQ(values, expected);
      executable = nullptr;
      expectInUse(inUse());
      if (HasFailure()) return;
    }
    ADD_FAILURE() << "more than " << kMost << " of them";
  }
  // What arguments have.
  int64_t inUse() const { return static_cast<int64_t>(arguments_.size() * 64 * sizeof(float)); }

  const Program program_;
  KernelBackend& backend_;
  Ref<Client> client_;
  std::vector<BufferRef> arguments_;
};

TEST_P(Faults, of_a_kernel) { sweep(Fault::kKernel, StatusCode::kInternal, "kernel "); }
TEST_P(Faults, of_a_copy) { sweep(Fault::kCopy, StatusCode::kInternal, "a copy failed"); }
TEST_P(Faults, of_work_that_is_not_taken) {
  sweep(Fault::kRefusal, StatusCode::kInternal, "was not taken");
}
TEST_P(Faults, of_memory_that_is_not_there) {
  sweep(Fault::kOutOfMemory, StatusCode::kResourceExhausted, " bytes");
}

// A device that is lost stays so, with what it has.
TEST_P(Faults, of_a_device_that_is_lost) {
  Ref<LoadedExecutable> executable = compile();
  ASSERT_TRUE(run(*executable).ok());
  Device& device = backend_.device(program_.replicas - 1);
  device.inject(Fault::kLostDevice, "", 1);
  const Status status = run(*executable);
  ASSERT_FALSE(device.clearFaults()) << "it has no second kernel";
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.message();
  EXPECT_EQ(run(*executable).code(), StatusCode::kUnavailable);
  executable = nullptr;
  expectInUse(inUse());
}

INSTANTIATE_TEST_SUITE_P(Programs, Faults,
                         ::testing::Combine(::testing::Values(Interface::kAsynchronous,
                                                              Interface::kSynchronous),
                                            ::testing::ValuesIn(kPrograms)),
                         [](const auto& info) {
                           return std::string(std::get<1>(info.param).name) +
                                  (std::get<0>(info.param) == Interface::kAsynchronous ? "_queues"
                                                                                       : "_waits");
                         });

}  // namespace
}  // namespace isthmus::simulated

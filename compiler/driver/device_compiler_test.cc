// Programs by kernels of a device that is told how to be compiled for by include/isthmus alone.
#include "isthmus/device_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "backends/cpu/emit/jit.h"
#include "backends/cpu/load/host_target.h"
#include "backends/cpu/load/object_loader.h"
#include "backends/simulated/backend.h"
#include "backends/simulated/function_backend.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "runtime/client.h"
#include "runtime/loaded_executable.h"

namespace isthmus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

thread_local std::array<int64_t, 3> item;
int64_t workItem(int32_t dimension) { return item[static_cast<size_t>(dimension)]; }

void* resolve(const std::string& name) {
  if (name == "isthmus_work_item") return reinterpret_cast<void*>(&workItem);
  return cpu::resolveRuntimeSymbol(name);
}

template <size_t... I>
void call(void* function, const std::vector<void*>& p, std::index_sequence<I...>) {
  auto pointer = [](size_t) -> void* { return nullptr; };
  reinterpret_cast<void (*)(decltype(pointer(I))...)>(function)(p[I]...);
}

// The device's memory as the host sees it.
using Translate = std::function<StatusOr<char*>(const DevicePlace&)>;
// Runs work now or later.
using Submit = std::function<StatusOr<DeviceEventRef>(std::function<Status()>, DeviceEvents)>;

class TestKernels final : public DeviceKernels {
 public:
  TestKernels(std::unique_ptr<cpu::LoadedCode> code, std::span<const DeviceKernel> kernels,
              Translate translate, Submit submit)
      : code_(std::move(code)),
        kernels_(kernels.begin(), kernels.end()),
        translate_(std::move(translate)),
        submit_(std::move(submit)) {}

  StatusOr<DeviceEventRef> launch(int, int kernel, std::span<const DevicePlace> buffers,
                                  DeviceEvents after) const override {
    constexpr size_t kMost = 24;
    std::vector<void*> pointers;
    for (const DevicePlace& place : buffers) {
      ISTHMUS_ASSIGN_OR_RETURN(char* pointer, translate_(place));
      pointers.push_back(pointer);
    }
    if (pointers.size() > kMost) return unimplemented("so many buffers");
    pointers.resize(kMost);  // what a function does not take, it does not look at
    const DeviceKernel& info = kernels_[static_cast<size_t>(kernel)];
    void* function = code_->lookup(info.name);
    if (!function) return internalError("no ", info.name);
    auto work = [function, pointers, items = info.items] {
      // One more than there are: it must do nothing.
      for (int64_t z = 0; z < items[2] + (items[2] > 1); ++z) {
        for (int64_t y = 0; y < items[1] + (items[1] > 1); ++y) {
          for (int64_t x = items[0] - (items[0] == 1); x >= 0; --x) {
            item = {x, y, z};
            call(function, pointers, std::make_index_sequence<kMost>());
          }
        }
      }
      return Status();
    };
    return submit_(work, after);
  }
  StatusOr<DeviceEventRef> copy(int, DevicePlace to, DevicePlace from, size_t bytes,
                                DeviceEvents after) const override {
    ISTHMUS_ASSIGN_OR_RETURN(char* target, translate_(to));
    ISTHMUS_ASSIGN_OR_RETURN(char* source, translate_(from));
    auto work = [=] {
      std::memcpy(target, source, bytes);
      return Status();
    };
    return submit_(work, after);
  }

 private:
  std::unique_ptr<cpu::LoadedCode> code_;
  std::vector<DeviceKernel> kernels_;
  Translate translate_;
  Submit submit_;
};

// Makes the host's code, by LLVM.
class TestCompiler final : public DeviceCompiler {
 public:
  TestCompiler(unsigned vectorBits, Translate translate, Submit submit)
      : vectorBits_(vectorBits), translate_(std::move(translate)), submit_(std::move(submit)) {}

  std::string identity() const override { return "test"; }
  DeviceTarget target() const override {
    const TargetModel& host = cpu::hostTarget();
    auto module = cpu::makeModule("layout", host);
    return {host.triple, module->module->getDataLayoutStr(), vectorBits_, 0};
  }
  bool supports(std::string_view op) const override { return op != "stablehlo.atan2"; }
  StatusOr<std::string> emit(std::string_view llvmIr,
                             std::span<const DeviceKernel>) const override {
    llvm::LLVMContext context;
    llvm::SMDiagnostic error;
    auto module = llvm::parseAssemblyString({llvmIr.data(), llvmIr.size()}, error, context);
    if (!module) return internalError(error.getMessage().str());
    cpu::CodegenOptions options;
    options.verify = true;
    return cpu::compileToObject(*module, cpu::hostTarget(), options);
  }
  StatusOr<std::unique_ptr<DeviceKernels>> load(
      std::string_view code, std::span<const DeviceKernel> kernels) const override {
    std::unique_ptr<cpu::LoadedCode> loaded;
    if (!kernels.empty()) {
      std::string object(code);
      ISTHMUS_ASSIGN_OR_RETURN(loaded, cpu::LoadedCode::load({&object, 1}, resolve));
    }
    return std::unique_ptr<DeviceKernels>(
        std::make_unique<TestKernels>(std::move(loaded), kernels, translate_, submit_));
  }

 private:
  unsigned vectorBits_;
  Translate translate_;
  Submit submit_;
};

// Simulated devices whose programs are kernels.
class KernelBackend final : public simulated::SimulatedBackend {
 public:
  KernelBackend(simulated::FunctionBackend& host, simulated::Interface interface,
                unsigned vectorBits)
      : SimulatedBackend(host, {.latency = std::chrono::microseconds(100)}, interface),
        compiler(
            vectorBits, [this](const DevicePlace& place) { return twin(place); },
            [this](std::function<Status()> work, DeviceEvents after) {
              return submit(std::move(work), after);
            }) {}
  StatusOr<std::shared_ptr<const Executable>> compile(const CompileRequest& request) override {
    return compileForDevice(*this, compiler, request);
  }

  const TestCompiler compiler;

 private:
  StatusOr<char*> twin(const DevicePlace& place) const {
    const simulated::AddressSpace& memory = device(0).memory();
    ISTHMUS_ASSIGN_OR_RETURN(char* block, memory.twin(place.block, place.offset + 1));
    return block + place.offset;
  }
  StatusOr<DeviceEventRef> submit(std::function<Status()> work, DeviceEvents after) const {
    if (isAsynchronous()) return device(0).launch("kernel", false, std::move(work), after);
    ISTHMUS_RETURN_IF_ERROR(work());
    return DeviceEventRef();
  }
};

// Whether the device is asynchronous, and the bits of its vectors.
class DeviceCompilerTest : public ::testing::TestWithParam<std::tuple<bool, unsigned>> {
 protected:
  DeviceCompilerTest() {
    auto [isAsynchronous, vectorBits] = GetParam();
    // The runtime's threads may look at a backend after the test, so no backend is ever destroyed.
    static auto& host = *new simulated::FunctionBackend("test");
    static auto& backends = *new std::vector<std::unique_ptr<KernelBackend>>;
    auto interface =
        isAsynchronous ? simulated::Interface::kAsynchronous : simulated::Interface::kSynchronous;
    backend_ =
        backends.emplace_back(std::make_unique<KernelBackend>(host, interface, vectorBits)).get();
    client_ = Client::create(*backend_).value();
  }

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

  KernelBackend* backend_;
  Ref<Client> client_;
  std::string message_;
};

TEST_P(DeviceCompilerTest, product_and_what_comes_after) {
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

TEST_P(DeviceCompilerTest, reduction_and_sort) {
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
  if (std::get<1>(GetParam()) > 0) {
    EXPECT_EQ(compileCode(text), StatusCode::kUnimplemented);
    EXPECT_THAT(message_, HasSubstr("stablehlo.sort"));
    return;
  }
  EXPECT_THAT(run(text, {9, 9, 9, 9, 1, 2, 3, 4, 5, 5, 5, -3}, {3, 4}), ElementsAre(10, 12, 36));
}

// Its carried values change places, and the device decides when it ends.
TEST_P(DeviceCompilerTest, loop_whose_end_the_device_knows) {
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

TEST_P(DeviceCompilerTest, branches_and_arguments_that_are_results) {
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

TEST_P(DeviceCompilerTest, what_has_no_kernel_is_refused_by_name) {
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

INSTANTIATE_TEST_SUITE_P(Devices, DeviceCompilerTest,
                         ::testing::Combine(::testing::Bool(), ::testing::Values(0U, 128U)));

}  // namespace
}  // namespace isthmus

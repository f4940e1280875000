// Operations and fusions that the host carries out for a device that lacks them.
#include "backends/shared/staging/host_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <optional>

#include "backends/cpu/kernels/kernel_testing.h"
#include "backends/cpu/testing/one_op_fusions.h"
#include "compiler/dialect/dialect.h"
#include "compiler/driver/device_codegen.h"
#include "compiler/driver/host_loops.h"
#include "compiler/plan/op_error.h"
#include "isthmus/flags.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "mlir/Parser/Parser.h"

namespace isthmus::cpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A device without any kernel.
class LackingCodegen final : public DeviceCodegen {
 public:
  LackingCodegen() : table(std::move(*linkedHostFunctions().createTable("test"))) {}
  std::unique_ptr<HostFunctionTable> table;

 protected:
  StatusOr<OtherCode> selectOther(mlir::Operation* op) override {
    return unsupportedOp(op, "the test device has no code for it");
  }
  StatusOr<int> addHostFunction(mlir::Operation* op) override { return table->add(op); }
  codegen::KernelModule& kernels() override { std::abort(); }
  StatusOr<std::shared_ptr<const Executable>> load(DeviceProgram) override {
    return internalError("not loaded");
  }
};

class HostFunctionsTest : public ::testing::Test {
 protected:
  HostFunctionsTest() : context_(mlir::MLIRContext::Threading::DISABLED) {
    loadAllDialects(context_);
  }
  // The first operation of the program's function.
  mlir::Operation* parse(const std::string& text) {
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context_));
    testing::fuseOneByOne(*module_);
    return &(*module_->getOps<mlir::func::FuncOp>().begin()).getBody().front().front();
  }
  void TearDown() override { setFlagForTest("ISTHMUS_FALLBACK", ""); }

  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

std::vector<float> call(HostFunctionTable& table, std::vector<float> a, std::vector<float> b,
                        size_t results) {
  StatusOr<HostProgram> program = table.finish();
  EXPECT_TRUE(program.ok()) << program.status().message();
  StatusOr<std::unique_ptr<HostFunctions>> functions = linkedHostFunctions().load(*program);
  EXPECT_TRUE(functions.ok()) << functions.status().message();
  testing::TestServices services(2);
  RunRequest request;
  request.services = &services;
  std::vector<float> result(results);
  Status status = (*functions)->call(0, request, {a.data(), b.data(), result.data()});
  EXPECT_TRUE(status.ok()) << status.message();
  return result;
}

constexpr char kProduct[] = R"(
    func.func @main(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32> loc("model.py":3:1)
      return %r : tensor<2x2xf32>
    })";

TEST_F(HostFunctionsTest, what_a_device_lacks_is_refused) {
  Computation computation{parse(kProduct), false};
  Status status = LackingCodegen().select({&computation, 1});
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("stablehlo.dot_general"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("model.py:3:1"));
}

TEST_F(HostFunctionsTest, what_a_device_lacks_falls_to_the_cpu_if_asked) {
  setFlagForTest("ISTHMUS_FALLBACK", "cpu");
  Computation computation{parse(kProduct), false};
  LackingCodegen codegen;
  ::testing::internal::CaptureStderr();
  Status status = codegen.select({&computation, 1});
  std::string log = ::testing::internal::GetCapturedStderr();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(log, HasSubstr("isthmus warning: ISTHMUS_FALLBACK: stablehlo.dot_general"));
  EXPECT_THAT(log, HasSubstr("model.py:3:1"));
  EXPECT_THAT(call(*codegen.table, {1, 2, 3, 4}, {5, 6, 7, 8}, 4), ElementsAre(19, 22, 43, 50));
}

TEST_F(HostFunctionsTest, there_is_only_the_cpu_to_fall_to) {
  setFlagForTest("ISTHMUS_FALLBACK", "gpu");
  Computation computation{parse(kProduct), false};
  EXPECT_EQ(LackingCodegen().select({&computation, 1}).code(), StatusCode::kInvalidArgument);
}

TEST_F(HostFunctionsTest, fusions_are_kernels_of_the_cpu) {
  mlir::Operation* fusion = parse(R"(
    func.func @main(%a: tensor<3000xf32>, %b: tensor<3000xf32>) -> tensor<3000xf32> {
      %r = stablehlo.subtract %a, %b : tensor<3000xf32>
      return %r : tensor<3000xf32>
    })");
  LackingCodegen codegen;
  StatusOr<int> function = codegen.table->add(fusion);
  ASSERT_TRUE(function.ok()) << function.status().message();
  EXPECT_THAT(call(*codegen.table, std::vector<float>(3000, 5), std::vector<float>(3000, 3), 3000),
              ::testing::Each(2));
}

// Where `count` of main's operations have functions, in their order.
std::vector<int> addAll(HostFunctionTable& table, mlir::Operation* first, int count) {
  std::vector<int> functions;
  for (mlir::Operation* op = first; count > 0; op = op->getNextNode(), --count) {
    StatusOr<int> function = table.add(op);
    EXPECT_TRUE(function.ok()) << function.status().message();
    functions.push_back(function.ok() ? *function : -1);
  }
  return functions;
}

// Rounds until a predicate says so, whose places are exchanged, with a branch in each.
TEST_F(HostFunctionsTest, loops_of_the_host_are_one_function) {
  LackingCodegen codegen;
  std::vector<int> of = addAll(*codegen.table, parse(R"(
    func.func @main(%x: tensor<300xf32>, %y: tensor<300xf32>, %n: tensor<i32>, %m: tensor<i32>)
        -> (tensor<300xf32>, tensor<i32>, tensor<i1>) {
      %r = stablehlo.add %x, %y : tensor<300xf32>
      %s = stablehlo.add %n, %m : tensor<i32>
      %p = stablehlo.compare LT, %n, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
      return %r, %s, %p : tensor<300xf32>, tensor<i32>, tensor<i1>
    })"),
                               3);
  auto place = [](int slot, int64_t bytes) {
    return Location{Location::Space::kStack, slot, 0, bytes};
  };
  const Location x = place(0, 1200), next = place(1, 1200), y = place(2, 1200), z = place(3, 1200);
  const Location n = place(4, 4), one = place(5, 4), end = place(6, 4), flag = place(7, 1);
  Branch branch;
  branch.index = n;
  branch.branches = {{}, {{Move{.to = y, .from = z, .isSwap = true}}}};
  Loop loop;
  loop.condition = {{HostCall{of[2], {n, end}, {flag}}}};
  loop.predicate = flag;
  loop.body = {{branch}, {HostCall{of[0], {x, y}, {next}}}, {HostCall{of[1], {n, one}, {n}}}};
  loop.addressSwaps = {{.to = x, .from = next}};
  std::vector<Step> steps{{std::move(loop)}};
  Status added =
      addHostLoops(steps, [&](const Loop& found) { return codegen.table->addLoop(found); });
  ASSERT_TRUE(added.ok()) << added.message();
  const HostCall& call = std::get<Loop>(steps[0].what).onHost;
  EXPECT_EQ(call.inputs.size(), 8U);
  StatusOr<HostProgram> program = codegen.table->finish();
  ASSERT_TRUE(program.ok()) << program.status().message();
  StatusOr<std::unique_ptr<HostFunctions>> functions = linkedHostFunctions().load(*program);
  ASSERT_TRUE(functions.ok()) << functions.status().message();
  testing::TestServices services(2);
  RunRequest request;
  request.services = &services;
  for (int rounds : {0, 1, 4, 7}) {
    std::vector<std::vector<float>> slots(8, std::vector<float>(300, 0));
    slots[2].assign(300, 1);
    slots[3].assign(300, 100);
    const int32_t counts[] = {0, 1, rounds};
    for (int i = 0; i < 3; ++i) std::memcpy(slots[4 + i].data(), &counts[i], sizeof(int32_t));
    std::vector<void*> buffers;
    for (const Location& input : call.inputs) buffers.push_back(slots[input.index].data());
    Status status = (*functions)->call(call.function, request, buffers);
    ASSERT_TRUE(status.ok()) << status.message();
    float expected = 0;
    for (int round = 0; round < rounds; ++round) expected += round % 2 == 0 ? 1 : 100;
    EXPECT_THAT(slots[0], ::testing::Each(expected)) << rounds;
  }
}

}  // namespace
}  // namespace isthmus::cpu

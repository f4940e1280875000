// Which kernels become part of the program function.
#include "backends/cpu/emit/kernel_modules.h"

#include <gtest/gtest.h>

#include "backends/cpu/load/host_target.h"
#include "compiler/dialect/dialect.h"
#include "mlir/Parser/Parser.h"

namespace isthmus::cpu {
namespace {

// Of a kernel in a loop: `body` computes %out, which is of the first argument's type.
bool isInlined(const std::string& array, const std::string& update, const std::string& body) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  std::string types = array + ", " + update + ", tensor<i32>";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func @f(%a: " + array + ", %u: " + update + ", %i: tensor<i32>) -> " + array +
          " {\n  %r = \"isthmus.fusion\"(%a, %u, %i) ({\n  ^bb0(%0: " + array + ", %1: " + update +
          ", %2: tensor<i32>):\n" + body + "\n    isthmus.yield %out : " + array + "\n  }) : (" +
          types + ") -> " + array + "\n  return %r : " + array + "\n}\n",
      &context);
  EXPECT_TRUE(module);
  if (!module) return false;
  ir::FusionOp fusion;
  module->walk([&](ir::FusionOp op) { fusion = op; });
  const TargetModel& target = hostTarget();
  StatusOr<KernelModules> modules = KernelModules::make(target);
  EXPECT_TRUE(modules.ok()) << modules.status().message();
  if (!modules.ok()) return false;
  modules->count(fusion, /*isInLoop=*/true);
  modules->divide(/*threads=*/1);
  StatusOr<OperationCode> code = modules->emit(fusion, /*isInLoop=*/true);
  EXPECT_TRUE(code.ok()) << code.status().message();
  return code.ok() && code->isInlined;
}

std::string updateOf(const std::string& array, const std::string& update) {
  return "    %n = stablehlo.negate %1 : " + update +
         "\n    %out = stablehlo.dynamic_update_slice %0, %n, %2 : (" + array + ", " + update +
         ", tensor<i32>) -> " + array;
}

TEST(KernelModulesTest, kernels_in_loops_are_inlined_by_what_they_write) {
  const std::string large = "tensor<100000xf32>", half = "tensor<50000xf32>";
  const std::string small = "tensor<10xf32>", one = "tensor<1xf32>";
  EXPECT_TRUE(isInlined(small, one, "    %out = stablehlo.negate %0 : " + small));
  EXPECT_FALSE(isInlined(large, one, "    %out = stablehlo.negate %0 : " + large));
  EXPECT_TRUE(isInlined(large, one, updateOf(large, one)));
  EXPECT_FALSE(isInlined(large, half, updateOf(large, half)));
}

}  // namespace
}  // namespace isthmus::cpu

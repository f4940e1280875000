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

// How many objects become of a program of `kernels` kernels, each of one reduction.
size_t objectsOf(int kernels, int threads) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  std::string text;
  for (int i = 0; i < kernels; ++i) {
    const std::string array = "tensor<" + std::to_string(1000 + i) + "x100xf32>";
    const std::string sums = "tensor<" + std::to_string(1000 + i) + "xf32>";
    text +=
        "func.func @f" + std::to_string(i) + "(%a: " + array + ") -> " + sums +
        " {\n  %r = \"isthmus.fusion\"(%a) ({\n  ^bb0(%0: " + array +
        "):\n    %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "    %s = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (" +
        array + ", tensor<f32>) -> " + sums + "\n    isthmus.yield %s : " + sums + "\n  }) : (" +
        array + ") -> " + sums + "\n  return %r : " + sums + "\n}\n";
  }
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  if (!module) return 0;
  StatusOr<KernelModules> modules = KernelModules::make(hostTarget());
  EXPECT_TRUE(modules.ok()) << modules.status().message();
  if (!modules.ok()) return 0;
  module->walk([&](ir::FusionOp op) { modules->count(op, /*isInLoop=*/false); });
  modules->divide(threads);
  module->walk([&](ir::FusionOp op) { EXPECT_TRUE(modules->emit(op, /*isInLoop=*/false).ok()); });
  StatusOr<std::vector<std::string>> objects =
      modules->compile(CodegenSettings(), threads, /*needsOptimizer=*/false);
  EXPECT_TRUE(objects.ok()) << objects.status().message();
  if (!objects.ok()) return 0;
  // An object without any code is a few hundred bytes.
  for (const std::string& object : *objects) EXPECT_GT(object.size(), 700);
  return objects->size();
}

TEST(KernelModulesTest, threads_share_the_kernels_of_a_program) {
  EXPECT_EQ(objectsOf(1, 4), 1);
  EXPECT_EQ(objectsOf(2, 4), 2);
  EXPECT_EQ(objectsOf(2, 1), 1);
  EXPECT_EQ(objectsOf(8, 2), 2);
  EXPECT_EQ(objectsOf(8, 4), 4);
}

}  // namespace
}  // namespace isthmus::cpu

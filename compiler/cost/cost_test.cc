// Costs of operations whose work is counted by hand, on a target of round numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/cost/library_time.h"
#include "compiler/cost/op_cost.h"
#include "compiler/cost/private_copies.h"
#include "compiler/cost/rematerialization.h"
#include "compiler/cost/time.h"
#include "compiler/dialect/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

namespace isthmus {
namespace {

TargetModel roundTarget() {
  TargetModel target;
  target.elementOpsPerNs = 10;
  target.scalarOpsPerNs = 2;
  target.cacheBytesPerNs = 20;
  target.memoryBytesPerNs = 5;
  target.cacheResidentBytes = 1000;
  target.productFlopsPerElementOp = 4;
  target.callNs = 7;
  return target;
}

class CostTest : public testing::Test {
 protected:
  // The first operation of a function with this body, its last one the terminator.
  mlir::Operation* first(const std::string& arguments, const std::string& body) {
    loadAllDialects(context_);
    module_ = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @main(" + arguments + ") { " + body + " func.return }", &context_);
    EXPECT_TRUE(module_);
    auto main = *module_->getOps<mlir::func::FuncOp>().begin();
    return &main.getBody().front().front();
  }

  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

TEST_F(CostTest, AnElementCostsByTheLanesThatItFills) {
  auto add = [&](const std::string& type) {
    return elementCost(
        first("%x: tensor<8x" + type + ">", "%y = stablehlo.add %x, %x : tensor<8x" + type + ">"));
  };
  EXPECT_EQ(add("f32"), 1);
  EXPECT_EQ(add("f64"), 2);
  EXPECT_EQ(add("i8"), 0.25);
  EXPECT_EQ(add("bf16"), 0.5);
  EXPECT_EQ(add("complex<f32>"), 2);
  EXPECT_EQ(elementCost(first("%x: tensor<8xf64>",
                              "%y = stablehlo.compare LT, %x, %x : (tensor<8xf64>, tensor<8xf64>) "
                              "-> tensor<8xi1>")),
            2);
}

TEST_F(CostTest, DivisionsOfIntegersAreVectorsUpTo32Bits) {
  auto remainder = [&](const std::string& type) {
    return elementCost(first("%x: tensor<8x" + type + ">",
                             "%y = stablehlo.remainder %x, %x : tensor<8x" + type + ">"));
  };
  EXPECT_LT(remainder("i32"), remainder("f32") / 4);
  EXPECT_LT(remainder("ui32"), remainder("ui64") / 4);
}

TEST_F(CostTest, AWindowCostsWhatItHolds) {
  mlir::Operation* op = first("%x: tensor<8xf32>, %zero: tensor<f32>", R"(
    %y = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 3>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        %t = stablehlo.multiply %s, %b : tensor<f32>
        stablehlo.return %t : tensor<f32>
    }) : (tensor<8xf32>, tensor<f32>) -> tensor<6xf32>)");
  EXPECT_EQ(windowElements(op), 3);
  EXPECT_EQ(elementCost(op), 6);
  EXPECT_EQ(bodyCost(op), 2);
  // The window touches all 8 elements; its body runs for each of 3.
  EXPECT_EQ(workOf(op).additions, 8 * (6 + 2 * 3));
  EXPECT_EQ(workOf(op).bytes, 4 * (8 + 1 + 6));
}

TEST_F(CostTest, OnlySlicesOfAnOperandAreRead) {
  mlir::Operation* op = first("%x: tensor<100xf32>",
                              "%y = stablehlo.slice %x [0:10] : (tensor<100xf32>) -> "
                              "tensor<10xf32>");
  EXPECT_EQ(workOf(op).bytes, 4 * (10 + 10));
}

TEST_F(CostTest, ProductsAreNoAdditions) {
  mlir::Operation* op = first("%a: tensor<2x3xf32>, %b: tensor<3x5xf32>",
                              "%c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] "
                              ": (tensor<2x3xf32>, tensor<3x5xf32>) -> tensor<2x5xf32>");
  Work work = workOf(op);
  EXPECT_EQ(work.products, 30);
  EXPECT_EQ(work.additions, 0);
  EXPECT_EQ(work.bytes, 4 * (6 + 15 + 10));
  EXPECT_DOUBLE_EQ(contractionNs(roundTarget(), work.products), 60.0 / 40);
  EXPECT_DOUBLE_EQ(libraryNs(roundTarget(), op), 7 + 60.0 / 40);
  EXPECT_DOUBLE_EQ(workNs(roundTarget(), work), 124.0 / 20 + 60.0 / 40);
}

TEST_F(CostTest, TrafficIsSlowerOnceItLeavesTheCache) {
  EXPECT_DOUBLE_EQ(trafficNs(roundTarget(), 1000), 50);
  EXPECT_DOUBLE_EQ(trafficNs(roundTarget(), 1001), 1001.0 / 5);
  // Arithmetic hides behind traffic, not the other way round.
  EXPECT_DOUBLE_EQ(workNs(roundTarget(), {.additions = 400, .bytes = 1000}), 50);
  EXPECT_DOUBLE_EQ(workNs(roundTarget(), {.additions = 600, .bytes = 1000}), 60);
}

TEST_F(CostTest, FunctionsOfALibrary) {
  mlir::Operation* sort = first("%x: tensor<3x8xf32>", R"(
    %y = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
    }) : (tensor<3x8xf32>) -> tensor<3x8xf32>)");
  // 24 elements, each in log2(8) rounds.
  EXPECT_DOUBLE_EQ(libraryNs(roundTarget(), sort), 7 + 2 * 72 / 2.0);
  EXPECT_DOUBLE_EQ(sortByCallsNs(roundTarget(), sort), 7 + (6 + 1) * 72 / 2.0);
  mlir::Operation* cholesky = first("%a: tensor<5x6x6xf32>", R"(
    %l = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<5x6x6xf32>) -> tensor<5x6x6xf32>)");
  TargetModel target = roundTarget();
  target.transformFlopsPerNs = 3;
  EXPECT_DOUBLE_EQ(libraryNs(target, cholesky), 7 + 5 * 6 * 6 * 6 / 3.0 / 3);
}

TEST_F(CostTest, LargeCheapExpansionsAreComputedAgain) {
  mlir::Operation* op = first("%x: tensor<64xf32>", R"(
    %a = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
    %b = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
    %c = stablehlo.subtract %a, %b : tensor<64x64xf32>)");
  mlir::Operation* difference = op->getNextNode()->getNextNode();
  TargetModel target = roundTarget();
  target.minRecomputedBytes = 4 * 64 * 64;
  EXPECT_TRUE(isRematerializableExpansion(difference, target));
  ++target.minRecomputedBytes;
  EXPECT_FALSE(isRematerializableExpansion(difference, target));
}

TEST_F(CostTest, OnGpusCheapWorkOnLessIsDoneAgain) {
  TargetModel gpu = gpuTarget("spirv64-unknown-unknown");
  gpu.elementOpsPerNs = 100;
  gpu.memoryBytesPerNs = 50;  // 8 additions for 4 bytes
  gpu.minRecomputedBytes = 1000;
  auto isAgain = [&](const std::string& body, const std::string& last, int64_t size = 1000) {
    const std::string n = std::to_string(size) + "x";
    std::string text = body;
    for (auto [name, type] : {std::pair{"NARROW", "tensor<" + n + "bf16>"},
                              std::pair{"WIDE", "tensor<" + n + "f32>"}}) {
      for (size_t at; (at = text.find(name)) != std::string::npos;) {
        text.replace(at, std::string(name).size(), type);
      }
    }
    first("%x: tensor<" + n + "bf16>, %y: tensor<" + n + "f32>, %s: tensor<f32>", text);
    mlir::Operation* found = nullptr;
    module_->walk([&](mlir::Operation* op) {
      if (op->hasAttr(last)) found = op;
    });
    EXPECT_TRUE(found) << text;
    return found && RecomputedOps(*found->getBlock(), gpu).contains(found);
  };
  const std::string widened = "%w = stablehlo.convert %x {w} : (NARROW) -> WIDE ";
  const std::string two =
      "%a = stablehlo.add %w, %y {a} : WIDE %b = stablehlo.multiply %w, %y {b} : WIDE ";
  EXPECT_TRUE(isAgain(widened + two, "w"));
  EXPECT_FALSE(isAgain(widened + two, "a"));       // nobody uses it
  EXPECT_FALSE(isAgain(widened + two, "w", 200));  // so few are in a cache
  EXPECT_FALSE(isAgain(widened + "%a = stablehlo.add %w, %y : WIDE", "w"));  // one kernel does it
  EXPECT_FALSE(
      isAgain(widened + two + "%k = stablehlo.custom_call @keep(%w) : (WIDE) -> WIDE", "w"));
  // Both arrays are more than their sum.
  const std::string users =
      "%a = stablehlo.negate %v : WIDE %b = stablehlo.multiply %v, %v {b} : WIDE ";
  EXPECT_FALSE(
      isAgain("%w = stablehlo.multiply %y, %y : WIDE %z = stablehlo.convert %x : (NARROW) "
              "-> WIDE %v = stablehlo.add %w, %z {v} : WIDE " +
                  users,
              "v"));
  // What it alone is computed from goes with it, broadcasts included.
  const std::string chain = widened +
                            "%m = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> WIDE "
                            "%v = stablehlo.subtract %w, %m {v} : WIDE ";
  EXPECT_TRUE(isAgain(chain + users, "v"));
  EXPECT_TRUE(isAgain(chain + users, "w"));
  // 20 additions are longer than memory takes.
  EXPECT_FALSE(isAgain("%v = stablehlo.exponential %y {v} : WIDE " + users, "v"));
  gpu.memoryBytesPerNs = 10;
  EXPECT_TRUE(isAgain("%v = stablehlo.exponential %y {v} : WIDE " + users, "v"));
}

TEST_F(CostTest, OnCpusAnAdditionToWhatOthersReadIsDoneAgain) {
  TargetModel cpu = roundTarget();
  auto isAgain = [&](const std::string& body) {
    first("%x: tensor<100xf32>, %y: tensor<100xf32>, %s: tensor<f32>",
          "%m = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<100xf32> "
          "%k = stablehlo.exponential %x : tensor<100xf32> " +
              body);
    mlir::Operation* found = nullptr;
    module_->walk([&](mlir::Operation* op) {
      if (op->hasAttr("v")) found = op;
    });
    EXPECT_TRUE(found) << body;
    return found && RecomputedOps(*found->getBlock(), cpu).contains(found);
  };
  const std::string used = "%a = stablehlo.add %v, %y : tensor<100xf32> ";
  const std::string others = "%b = stablehlo.negate %k : tensor<100xf32> ";
  const std::string scaled = "%v = stablehlo.multiply %k, %m {v} : tensor<100xf32> ";
  EXPECT_TRUE(isAgain(scaled + used + others));
  EXPECT_FALSE(isAgain(scaled + used));  // nobody else reads %k
  EXPECT_FALSE(isAgain("%v = stablehlo.multiply %k, %y {v} : tensor<100xf32> " + used + others));
  EXPECT_FALSE(isAgain("%v = stablehlo.divide %k, %m {v} : tensor<100xf32> " + used + others));
}

TEST_F(CostTest, GroupsGatherUpdatesOfFewElementsInCopies) {
  TargetModel gpu = gpuTarget("spirv64-unknown-unknown");
  gpu.localBytes = 8192;
  gpu.enoughRows = 100;
  auto copies = [&](int64_t elements, int64_t updates, const std::string& type = "i32",
                    const std::string& combiner = "add", const std::string& unique = "false") {
    auto array = [&](const std::string& shape) { return "tensor<" + shape + type + ">"; };
    const std::string to = array(std::to_string(elements) + "x"), scalar = array("");
    const std::string from = array(std::to_string(updates) + "x");
    const std::string index = "tensor<" + std::to_string(updates) + "x1xi32>";
    return privateCopies(
        mlir::cast<shlo::ScatterOp>(first(
            "%x: " + to + ", %i: " + index + ", %u: " + from,
            "%y = \"stablehlo.scatter\"(%x, %i, %u) <{scatter_dimension_numbers = "
            "#stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
            "index_vector_dim = 1>, unique_indices = " +
                unique + "}> ({ ^bb0(%a: " + scalar + ", %b: " + scalar + "): %c = stablehlo." +
                combiner + " %a, %b : " + scalar + " stablehlo.return %c : " + scalar + " }) : (" +
                to + ", " + index + ", " + from + ") -> " + to)),
        gpu);
  };
  EXPECT_EQ(copies(1000, 1 << 20), 65);  // each with 16 updates for an element
  EXPECT_EQ(copies(100, 1 << 20), 100);
  EXPECT_EQ(copies(1025, 1 << 20), 0);  // two copies are more than the memory of groups
  EXPECT_EQ(copies(1000, 1 << 16), 4);
  EXPECT_EQ(copies(1000, 30'000), 0);
  EXPECT_EQ(copies(100, 1 << 20, "i32", "maximum"), 100);
  EXPECT_EQ(copies(100, 1 << 20, "i32", "multiply"), 0);
  EXPECT_EQ(copies(100, 1 << 20, "i32", "add", "true"), 0);
  EXPECT_EQ(copies(100, 1 << 20, "i16"), 0);
  EXPECT_EQ(copies(100, 1 << 20, "f32"), 0);
  gpu.atomicFloats = TargetModel::AtomicFloats::kF32AndF64;
  EXPECT_EQ(copies(100, 1 << 20, "f32"), 100);
  gpu.device = DeviceKind::kCpu;
  EXPECT_EQ(copies(100, 1 << 20), 0);
}

}  // namespace
}  // namespace isthmus

// Definitions come before uses; what cannot be ordered is an error that says so.
#include "compiler/fusion/sort_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/dialect/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

namespace isthmus {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SortBlockTest : public testing::Test {
 protected:
  SortBlockTest() { loadAllDialects(context_); }

  // Operations have no dialect (and so any effect, which keeps them in order), or are StableHLO's.
  mlir::Block& parse(const std::string& body) {
    context_.allowUnregisteredDialects();
    module_ = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @main(%x: tensor<f32>) {\n" + body + "return\n}", &context_);
    EXPECT_TRUE(module_) << body;
    return (*module_->getOps<mlir::func::FuncOp>().begin()).getBody().front();
  }

  static std::vector<std::string> names(mlir::Block& block) {
    std::vector<std::string> names;
    for (mlir::Operation& op : block) names.push_back(op.getName().getStringRef().str());
    return names;
  }

  static mlir::Operation* find(mlir::Block& block, llvm::StringRef name) {
    for (mlir::Operation& op : block) {
      if (op.getName().getStringRef() == name) return &op;
    }
    return nullptr;
  }

  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

TEST_F(SortBlockTest, definitions_precede_uses) {
  mlir::Block& block = parse(R"(
    %a = stablehlo.sine %x : tensor<f32>
    %b = stablehlo.cosine %a : tensor<f32>
    %c = stablehlo.tanh %b : tensor<f32>
  )");
  find(block, "stablehlo.sine")->moveBefore(block.getTerminator());
  ASSERT_TRUE(sortBlock(block).ok());
  EXPECT_THAT(names(block),
              ElementsAre("stablehlo.sine", "stablehlo.cosine", "stablehlo.tanh", "func.return"));
}

TEST_F(SortBlockTest, effects_keep_their_order) {
  mlir::Block& block = parse(R"(
    "test.first"() : () -> ()
    %a = stablehlo.sine %x : tensor<f32>
    "test.second"(%a) : (tensor<f32>) -> ()
    "test.third"() : () -> ()
  )");
  // The second now waits for what is written last, and the third for the second.
  find(block, "stablehlo.sine")->moveBefore(block.getTerminator());
  ASSERT_TRUE(sortBlock(block).ok());
  EXPECT_THAT(names(block), ElementsAre("test.first", "stablehlo.sine", "test.second", "test.third",
                                        "func.return"));
}

TEST_F(SortBlockTest, a_cycle_is_named) {
  mlir::Block& block = parse(R"(
    %a = stablehlo.sine %x : tensor<f32>
    %b = stablehlo.cosine %a : tensor<f32>
    %c = stablehlo.tanh %b : tensor<f32>
  )");
  find(block, "stablehlo.sine")->setOperand(0, find(block, "stablehlo.cosine")->getResult(0));
  Status status = sortBlock(block);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("a cycle of 2: stablehlo."));
  EXPECT_THAT(status.message(), HasSubstr("it waits for stablehlo."));
  EXPECT_THAT(status.message(), testing::Not(HasSubstr("tanh")));
  find(block, "stablehlo.sine")->setOperand(0, block.getArgument(0));
}

TEST_F(SortBlockTest, the_order_of_effects_can_close_a_cycle) {
  mlir::Block& block = parse(R"(
    %a = "test.first"(%x) : (tensor<f32>) -> tensor<f32>
    %b = "test.second"(%a) : (tensor<f32>) -> tensor<f32>
    %c = stablehlo.sine %b : tensor<f32>
  )");
  find(block, "test.first")->setOperand(0, find(block, "stablehlo.sine")->getResult(0));
  Status status = sortBlock(block);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("a cycle of 3"));
  EXPECT_THAT(status.message(), HasSubstr("test.second"));
  find(block, "test.first")->setOperand(0, block.getArgument(0));
}

}  // namespace
}  // namespace isthmus

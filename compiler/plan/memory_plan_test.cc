// Memory plans of small programs, written with operations of no dialect: only names and structure
// matter to the plan. "test.inplace" may write its result over any operand; "test.update" wants to
// write result 0 over operand 0; "test.op" may not share at all.
#include "compiler/plan/memory_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

namespace isthmus {
namespace {

using testing::HasSubstr;
using Space = Location::Space;

class MemoryPlanTest : public testing::Test {
 protected:
  MemoryPlanTest() {
    context_.loadDialect<mlir::func::FuncDialect>();
    context_.allowUnregisteredDialects();
  }

  // The body of @main is everything after "-> (types)".
  StatusOr<MemoryPlan> plan(const std::string& text, std::vector<ParameterUse> parameters = {},
                            bool lendsResults = true) {
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    EXPECT_TRUE(module_) << text;
    main_ = *module_->getOps<mlir::func::FuncOp>().begin();
    PlanOptions options;
    options.parameters = std::move(parameters);
    options.parameters.resize(main_.getNumArguments());
    options.canShare = [](mlir::Operation* op, unsigned operand, unsigned result) {
      llvm::StringRef name = op->getName().getStringRef();
      return name == "test.inplace" || (name == "test.update" && operand == 0 && result == 0);
    };
    options.prefersInPlace = [](mlir::Operation* op, unsigned operand, unsigned result) {
      return op->getName().getStringRef() == "test.update" && operand == 0 && result == 0;
    };
    options.scratchBytes = [](mlir::Operation* op) {
      auto bytes = op->getAttrOfType<mlir::IntegerAttr>("scratch");
      return bytes ? bytes.getInt() : 0;
    };
    options.lendsResult = [&](unsigned) { return lendsResults; };
    StatusOr<MemoryPlan> plan = planMemory(main_, options);
    if (plan.ok()) {
      Status verified = verifyPlan(*plan, options);
      EXPECT_TRUE(verified.ok()) << verified.message();
    }
    return plan;
  }

  // The first operation of this name.
  mlir::Operation* find(llvm::StringRef name, int skip = 0) {
    mlir::Operation* found = nullptr;
    main_.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
      if (op->getName().getStringRef() != name || skip-- > 0) return mlir::WalkResult::advance();
      found = op;
      return mlir::WalkResult::interrupt();
    });
    EXPECT_TRUE(found) << name.str();
    return found;
  }

  mlir::Operation* returnOp() { return main_.getBody().front().getTerminator(); }

  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::func::FuncOp main_;
};

TEST_F(MemoryPlanTest, computes_the_result_in_the_result_buffer) {
  auto plan = this->plan(R"(
    func.func @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {
      %a = "test.op"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
      %b = "test.inplace"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
      return %b : tensor<1024xf32>
    })");
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->arenaBytes(), 0);
  EXPECT_EQ(plan->locate(find("test.op")->getResult(0)).space, Space::kResult);
  EXPECT_EQ(plan->locate(find("test.inplace")->getResult(0)).space, Space::kResult);
  EXPECT_TRUE(plan->movesAt(returnOp()).empty());
}

TEST_F(MemoryPlanTest, keeps_parameters_that_are_not_donated) {
  auto plan = this->plan(R"(
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %a = "test.update"(%x) : (tensor<8xf32>) -> tensor<8xf32>
      return %a : tensor<8xf32>
    })");
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->locate(find("test.update")->getResult(0)).space, Space::kResult);
}

TEST_F(MemoryPlanTest, updates_a_donated_parameter_in_place) {
  auto plan = this->plan(R"(
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %a = "test.update"(%x) : (tensor<8xf32>) -> tensor<8xf32>
      return %a : tensor<8xf32>
    })",
                         {{0, true}});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->locate(find("test.update")->getResult(0)).space, Space::kParameter);
  EXPECT_TRUE(plan->movesAt(returnOp()).empty());
}

TEST_F(MemoryPlanTest, swapped_donations_are_one_swap) {
  auto plan = this->plan(R"(
    func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      return %y, %x : tensor<8xf32>, tensor<8xf32>
    })",
                         {{0, true}, {1, true}});
  ASSERT_TRUE(plan.ok());
  std::vector<Move> moves = plan->movesAt(returnOp());
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_TRUE(moves[0].isSwap);
}

TEST_F(MemoryPlanTest, a_donated_parameter_read_after_its_result_is_not_overwritten) {
  auto plan = this->plan(R"(
    func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %a = "test.inplace"(%x) : (tensor<8xf32>) -> tensor<8xf32>
      %b = "test.op"(%x) : (tensor<8xf32>) -> tensor<8xf32>
      return %a, %b : tensor<8xf32>, tensor<8xf32>
    })",
                         {{0, true}});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->locate(find("test.inplace")->getResult(0)).space, Space::kArena);
  ASSERT_EQ(plan->movesAt(returnOp()).size(), 1u);
  EXPECT_EQ(plan->movesAt(returnOp())[0].to.space, Space::kParameter);
}

TEST_F(MemoryPlanTest, parameters_constants_and_repeats_are_copied_to_results) {
  auto plan = this->plan(R"(
    func.func @main(%x: tensor<8xf32>) ->
        (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
      %c = "stablehlo.constant"() {value = dense<1.0> : tensor<8xf32>} : () -> tensor<8xf32>
      %a = "test.op"(%x) : (tensor<8xf32>) -> tensor<8xf32>
      return %x, %c, %a, %a : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
    })");
  ASSERT_TRUE(plan.ok());
  std::vector<Move> moves = plan->movesAt(returnOp());
  EXPECT_EQ(moves.size(), 3u);
  for (const Move& move : moves) EXPECT_EQ(move.to.space, Space::kResult);
}

TEST_F(MemoryPlanTest, views_are_the_same_memory) {
  auto plan = this->plan(R"(
    func.func @main(%x: tensor<8xf32>) -> tensor<2x4xi32> {
      %a = "test.op"(%x) : (tensor<8xf32>) -> tensor<8xf32>
      %b = "stablehlo.reshape"(%a) : (tensor<8xf32>) -> tensor<2x4xf32>
      %c = "stablehlo.bitcast_convert"(%b) : (tensor<2x4xf32>) -> tensor<2x4xi32>
      return %c : tensor<2x4xi32>
    })");
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->locate(find("test.op")->getResult(0)).space, Space::kResult);
  EXPECT_TRUE(plan->movesAt(returnOp()).empty());
}

TEST_F(MemoryPlanTest, an_operand_used_twice_is_shared_only_if_both_uses_allow) {
  auto plan = this->plan(R"(
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %a = "test.op"(%x) : (tensor<8xf32>) -> tensor<8xf32>
      %b = "test.update"(%a, %a) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      return %b : tensor<8xf32>
    })");
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->locate(find("test.op")->getResult(0)).space, Space::kArena);
}

TEST_F(MemoryPlanTest, tokens_and_empty_arrays_take_nothing) {
  auto plan = this->plan(R"(
    func.func @main(%x: tensor<0x8xf32>) -> tensor<0x8xf32> {
      %t = "stablehlo.create_token"() : () -> !stablehlo.token
      %b:2 = "test.op"(%x, %t) : (tensor<0x8xf32>, !stablehlo.token)
          -> (tensor<0x8xf32>, !stablehlo.token)
      return %b#0 : tensor<0x8xf32>
    })");
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->arenaBytes(), 0);
  EXPECT_EQ(plan->locate(find("test.op")->getResult(0)).space, Space::kNone);
  EXPECT_TRUE(plan->movesAt(returnOp()).empty());
}

// ys[i] = f(ys, i): the pattern of lax.scan.
constexpr char kScan[] = R"(
    func.func @main(%w: tensor<64xf32>) -> (tensor<100x64xf32>, tensor<64xf32>) {
      %zero = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
      %ys0 = "test.op"() : () -> tensor<100x64xf32>
      %r:4 = "stablehlo.while"(%zero, %w, %ys0, %w) ({
      ^bb0(%i: tensor<i32>, %h: tensor<64xf32>, %ys: tensor<100x64xf32>, %k: tensor<64xf32>):
        %p = "test.less"(%i) : (tensor<i32>) -> tensor<i1>
        "stablehlo.return"(%p) : (tensor<i1>) -> ()
      }, {
      ^bb0(%i: tensor<i32>, %h: tensor<64xf32>, %ys: tensor<100x64xf32>, %k: tensor<64xf32>):
        %h1 = "test.inplace"(%h, %k) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
        %ys1 = "test.update"(%ys, %h1, %i) : (tensor<100x64xf32>, tensor<64xf32>, tensor<i32>)
            -> tensor<100x64xf32>
        %i1 = "test.inplace"(%i) : (tensor<i32>) -> tensor<i32>
        "stablehlo.return"(%i1, %h1, %ys1, %k) : (tensor<i32>, tensor<64xf32>, tensor<100x64xf32>,
            tensor<64xf32>) -> ()
      }) : (tensor<i32>, tensor<64xf32>, tensor<100x64xf32>, tensor<64xf32>)
         -> (tensor<i32>, tensor<64xf32>, tensor<100x64xf32>, tensor<64xf32>)
      return %r#2, %r#1 : tensor<100x64xf32>, tensor<64xf32>
    })";

TEST_F(MemoryPlanTest, a_scan_copies_nothing_in_its_body) {
  auto plan = this->plan(kScan);
  ASSERT_TRUE(plan.ok());
  mlir::Operation* loop = find("stablehlo.while");
  EXPECT_TRUE(plan->movesAt(&loop->getRegion(1).front().back()).empty()) << plan->toString();
  // The counter and the initial state, which is a parameter, go into the loop's own places.
  EXPECT_EQ(plan->movesInto(loop).size(), 2u) << plan->toString();
  EXPECT_TRUE(plan->movesAt(returnOp()).empty());
  EXPECT_EQ(plan->locate(find("test.update")->getResult(0)),
            plan->locate(find("test.op")->getResult(0)));
  EXPECT_EQ(plan->locate(loop->getResult(0)).space, Space::kStack);
  EXPECT_EQ(plan->locate(loop->getResult(3)).space, Space::kParameter);
  EXPECT_EQ(plan->arenaBytes(), 0) << plan->toString();
  EXPECT_THAT(plan->toString(), HasSubstr("stablehlo.while carried 2 tensor<100x64xf32>"));
}

TEST_F(MemoryPlanTest, permuted_carried_values_are_swapped) {
  auto plan = this->plan(R"(
    func.func @main(%x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
      %r:2 = "stablehlo.while"(%x, %y) ({
      ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
        %p = "test.less"(%a) : (tensor<64xf32>) -> tensor<i1>
        "stablehlo.return"(%p) : (tensor<i1>) -> ()
      }, {
      ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
        "stablehlo.return"(%b, %a) : (tensor<64xf32>, tensor<64xf32>) -> ()
      }) : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
      return %r#0, %r#1 : tensor<64xf32>, tensor<64xf32>
    })");
  ASSERT_TRUE(plan.ok());
  mlir::Operation* loop = find("stablehlo.while");
  std::vector<Move> moves = plan->movesAt(&loop->getRegion(1).front().back());
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_TRUE(moves[0].isSwap);
}

TEST_F(MemoryPlanTest, a_carried_value_read_after_its_successor_is_copied_at_the_end) {
  auto plan = this->plan(R"(
    func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
      %r:2 = "stablehlo.while"(%x, %x) ({
      ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
        %p = "test.less"(%a) : (tensor<64xf32>) -> tensor<i1>
        "stablehlo.return"(%p) : (tensor<i1>) -> ()
      }, {
      ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
        %a1 = "test.inplace"(%a) : (tensor<64xf32>) -> tensor<64xf32>
        %b1 = "test.inplace"(%a, %b) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
        "stablehlo.return"(%a1, %b1) : (tensor<64xf32>, tensor<64xf32>) -> ()
      }) : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
      return %r#0, %r#1 : tensor<64xf32>, tensor<64xf32>
    })");
  ASSERT_TRUE(plan.ok());
  mlir::Operation* loop = find("stablehlo.while");
  std::vector<Move> moves = plan->movesAt(&loop->getRegion(1).front().back());
  ASSERT_EQ(moves.size(), 1u) << plan->toString();
  EXPECT_EQ(moves[0].to, plan->locate(loop->getResult(0)));
  EXPECT_TRUE(moves[0].isLast);
}

TEST_F(MemoryPlanTest, what_two_carried_values_become_is_read_after_the_first_move) {
  auto plan = this->plan(R"(
    func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
      %r:2 = "stablehlo.while"(%x, %x) ({
      ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
        %p = "test.less"(%a) : (tensor<64xf32>) -> tensor<i1>
        "stablehlo.return"(%p) : (tensor<i1>) -> ()
      }, {
      ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
        %s = "test.op"(%a, %b) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
        "stablehlo.return"(%s, %s) : (tensor<64xf32>, tensor<64xf32>) -> ()
      }) : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>)
      return %r#0, %r#1 : tensor<64xf32>, tensor<64xf32>
    })");
  ASSERT_TRUE(plan.ok());
  mlir::Operation* loop = find("stablehlo.while");
  for (const Move& move : plan->movesAt(&loop->getRegion(1).front().back()))
    EXPECT_FALSE(move.isLast);
}

TEST_F(MemoryPlanTest, values_from_outside_live_until_the_loop_ends) {
  auto plan = this->plan(R"(
    func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
      %o = "test.op"(%x) : (tensor<64xf32>) -> tensor<64xf32>
      %r = "stablehlo.while"(%x) ({
      ^bb0(%a: tensor<64xf32>):
        %p = "test.less"(%a) : (tensor<64xf32>) -> tensor<i1>
        "stablehlo.return"(%p) : (tensor<i1>) -> ()
      }, {
      ^bb0(%a: tensor<64xf32>):
        %s = "test.inplace"(%o) : (tensor<64xf32>) -> tensor<64xf32>
        %a1 = "test.op"(%a, %s) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
        "stablehlo.return"(%a1) : (tensor<64xf32>) -> ()
      }) : (tensor<64xf32>) -> tensor<64xf32>
      return %r : tensor<64xf32>
    })");
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->locate(find("test.op")->getResult(0))
                   .overlaps(plan->locate(find("test.inplace")->getResult(0))));
}

TEST_F(MemoryPlanTest, branches_share_memory_and_write_the_common_result) {
  auto plan = this->plan(R"(
    func.func @main(%p: tensor<i1>, %x: tensor<64xf32>) -> tensor<64xf32> {
      %r = "stablehlo.if"(%p) ({
        %a = "test.op"(%x) : (tensor<64xf32>) -> tensor<64xf32>
        %b = "test.op"(%a) : (tensor<64xf32>) -> tensor<64xf32>
        "stablehlo.return"(%b) : (tensor<64xf32>) -> ()
      }, {
        %a = "test.op"(%x) : (tensor<64xf32>) -> tensor<64xf32>
        %b = "test.op"(%a) : (tensor<64xf32>) -> tensor<64xf32>
        "stablehlo.return"(%b) : (tensor<64xf32>) -> ()
      }) : (tensor<i1>) -> tensor<64xf32>
      return %r : tensor<64xf32>
    })");
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->locate(find("test.op", 1)->getResult(0)).space, Space::kResult);
  EXPECT_EQ(plan->locate(find("test.op", 3)->getResult(0)).space, Space::kResult);
  EXPECT_EQ(plan->arenaBytes(), 256) << plan->toString();
}

TEST_F(MemoryPlanTest, branches_that_yield_values_crosswise_swap_in_one_of_them) {
  auto plan = this->plan(R"(
    func.func @main(%p: tensor<i1>, %x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
      %a = "test.op"(%x) : (tensor<64xf32>) -> tensor<64xf32>
      %b = "test.op"(%x) : (tensor<64xf32>) -> tensor<64xf32>
      %r:2 = "stablehlo.if"(%p) ({
        "stablehlo.return"(%a, %b) : (tensor<64xf32>, tensor<64xf32>) -> ()
      }, {
        "stablehlo.return"(%b, %a) : (tensor<64xf32>, tensor<64xf32>) -> ()
      }) : (tensor<i1>) -> (tensor<64xf32>, tensor<64xf32>)
      return %r#0, %r#1 : tensor<64xf32>, tensor<64xf32>
    })");
  ASSERT_TRUE(plan.ok());
  mlir::Operation* branch = find("stablehlo.if");
  size_t moves = plan->movesAt(&branch->getRegion(0).front().back()).size() +
                 plan->movesAt(&branch->getRegion(1).front().back()).size();
  EXPECT_EQ(moves, 1u) << plan->toString();
}

TEST_F(MemoryPlanTest, nested_loops_update_in_place) {
  auto plan = this->plan(R"(
    func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
      %r = "stablehlo.while"(%x) ({
      ^bb0(%a: tensor<64xf32>):
        %p = "test.less"(%a) : (tensor<64xf32>) -> tensor<i1>
        "stablehlo.return"(%p) : (tensor<i1>) -> ()
      }, {
      ^bb0(%a: tensor<64xf32>):
        %in = "stablehlo.while"(%a) ({
        ^bb0(%b: tensor<64xf32>):
          %p = "test.less"(%b) : (tensor<64xf32>) -> tensor<i1>
          "stablehlo.return"(%p) : (tensor<i1>) -> ()
        }, {
        ^bb0(%b: tensor<64xf32>):
          %b1 = "test.update"(%b) : (tensor<64xf32>) -> tensor<64xf32>
          "stablehlo.return"(%b1) : (tensor<64xf32>) -> ()
        }) : (tensor<64xf32>) -> tensor<64xf32>
        "stablehlo.return"(%in) : (tensor<64xf32>) -> ()
      }) : (tensor<64xf32>) -> tensor<64xf32>
      return %r : tensor<64xf32>
    })");
  ASSERT_TRUE(plan.ok());
  mlir::Operation* outer = find("stablehlo.while");
  mlir::Operation* inner = find("stablehlo.while", 1);
  EXPECT_EQ(plan->movesInto(outer).size(), 1u);
  EXPECT_TRUE(plan->movesInto(inner).empty()) << plan->toString();
  EXPECT_TRUE(plan->movesAt(&inner->getRegion(1).front().back()).empty());
  EXPECT_TRUE(plan->movesAt(&outer->getRegion(1).front().back()).empty());
}

TEST_F(MemoryPlanTest, scratch_memory_is_apart_from_what_is_alive) {
  auto plan = this->plan(R"(
    func.func @main(%x: tensor<64xf32>) -> tensor<32xf32> {
      %a = "test.op"(%x) : (tensor<64xf32>) -> tensor<64xf32>
      %b = "test.scratch"(%a) {scratch = 100} : (tensor<64xf32>) -> tensor<32xf32>
      return %b : tensor<32xf32>
    })");
  ASSERT_TRUE(plan.ok());
  Location scratch = plan->scratchOf(find("test.scratch"));
  EXPECT_EQ(scratch.bytes, 100);
  EXPECT_FALSE(scratch.overlaps(plan->locate(find("test.op")->getResult(0))));
  EXPECT_EQ(plan->arenaBytes(), 256 + 128);
}

TEST_F(MemoryPlanTest, results_lend_their_memory_until_they_are_written) {
  const std::string text = R"(
    func.func @main(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
      %a = "test.op"(%x) : (tensor<64xf32>) -> tensor<64xf32>
      %b = "test.op"(%a) : (tensor<64xf32>) -> tensor<64xf32>
      %c = "test.op"(%b) : (tensor<64xf32>) -> tensor<64xf32>
      %d = "test.op"(%c) : (tensor<64xf32>) -> tensor<64xf32>
      return %d, %x : tensor<64xf32>, tensor<64xf32>
    })";
  auto plan = this->plan(text);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->arenaBytes(), 0) << plan->toString();
  auto apart = this->plan(text, {}, /*lendsResults=*/false);
  ASSERT_TRUE(apart.ok());
  EXPECT_EQ(apart->arenaBytes(), 512) << apart->toString();
}

TEST_F(MemoryPlanTest, aliases_of_different_size_are_refused) {
  auto plan = this->plan(R"(
    func.func @main(%x: tensor<8xf32>) -> tensor<4xf32> {
      %a = "test.op"(%x) : (tensor<8xf32>) -> tensor<4xf32>
      return %a : tensor<4xf32>
    })",
                         {{0, true}});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), StatusCode::kInvalidArgument);
}

TEST_F(MemoryPlanTest, dynamic_shapes_are_refused_with_op_and_position) {
  auto plan = this->plan(R"(
    func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
      %a = "test.op"(%x) : (tensor<8xf32>) -> tensor<?xf32> loc("train.py":12:5)
      return %x : tensor<8xf32>
    })");
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("test.op (tensor<8xf32>)"));
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("train.py:12:5"));
}

}  // namespace
}  // namespace isthmus

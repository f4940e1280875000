#include "compiler/schedule/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/dialect/dialect.h"
#include "compiler/schedule/choose_schedule.h"
#include "compiler/schedule/loop/reduction_axes.h"
#include "compiler/schedule/loop/sharing.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

namespace isthmus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TargetModel vectorCpu() {
  TargetModel target;
  target.vectorBits = 512;
  target.maxInterleave = 16;
  return target;
}

// A program of one fusion with one operand.
class Program {
 public:
  Program(const std::string& input, const std::string& output, const std::string& body)
      : Program("func.func @main(%in: " + input + ") -> " + output +
                " {\n%r = \"isthmus.fusion\"(%in) ({\n^bb0(%x: " + input + "):\n" + body +
                "\nisthmus.yield %y : " + output + "\n}) : (" + input + ") -> " + output +
                "\nreturn %r : " + output + "\n}\n") {}
  explicit Program(const std::string& text) : context_(mlir::MLIRContext::Threading::DISABLED) {
    loadAllDialects(context_);
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    if (module_) module_->walk([&](ir::FusionOp op) { fusion_ = op; });
  }

  ir::FusionOp fusion() const { return fusion_; }
  std::string schedule(const TargetModel& target) const {
    StatusOr<KernelSchedule> schedule = chooseSchedule(fusion_, target);
    EXPECT_TRUE(schedule.ok()) << schedule.status().message();
    EXPECT_EQ(schedule->stages.size(), 1u);
    return toString(schedule->stages[0]);
  }
  // What the verifier says of `text`.
  std::string problemWith(const std::string& text, const TargetModel& target) const {
    StatusOr<StageSchedule> stage = parseStageSchedule(text);
    if (!stage.ok()) return std::string(stage.status().message());
    KernelSchedule schedule;
    schedule.stages.push_back(*stage);
    Status status = verifySchedule(schedule, fusion_, target);
    if (!status.ok()) {
      EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    }
    return std::string(status.message());
  }

 private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  ir::FusionOp fusion_;
};

Program exponential() {
  return Program("tensor<64x1001xf32>", "tensor<64x1001xf32>",
                 "%y = stablehlo.exponential %x : tensor<64x1001xf32>");
}

Program sum(const std::string& input, const std::string& output, int dimension) {
  return Program(input, output,
                 "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                 "%y = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [" +
                     std::to_string(dimension) + "] : (" + input + ", tensor<f32>) -> " + output);
}

Program softmax(int columns = 1000) {
  const std::string type = "tensor<64x" + std::to_string(columns) + "xf32>";
  return Program(
      type, type,
      "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%e = stablehlo.exponential %x : " +
          type +
          "\n"
          "%s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : "
          "(" +
          type +
          ", tensor<f32>) -> tensor<64xf32>\n"
          "%b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<64xf32>) -> " +
          type +
          "\n"
          "%y = stablehlo.divide %e, %b : " +
          type);
}

TEST(ScheduleText, is_read_as_it_was_written) {
  const char* text =
      "loop results=0,2 rows=1 dims=0-1:4096,2:128 order=transposed@0 block=16 lanes=16 "
      "cuts=0,100,128 outer=0@8/56/57 "
      "tails=narrow "
      "tiled=1 chunk=64 grain=3 threads=32 reduce=5:row:16x4/64,7:lane,9:lane:1x10:8x2 kept=3@5 "
      "unroll=4,11 share=2 ns=1200";
  StatusOr<StageSchedule> stage = parseStageSchedule(text);
  ASSERT_TRUE(stage.ok()) << stage.status().message();
  EXPECT_EQ(toString(*stage), text);
  const auto* loop = stage->as<LoopStage>();
  ASSERT_NE(loop, nullptr);
  EXPECT_EQ(loop->dims[0], (LoopDim{0, 1, 4096}));
  EXPECT_EQ(loop->reductions[0], (ReductionSchedule{5, ReductionStrategy::kRow, 16, 4, 1, 1, 64}));
  EXPECT_EQ(loop->reductions[2], (ReductionSchedule{9, ReductionStrategy::kLane, 1, 10, 8, 2}));
  EXPECT_EQ(loop->kept[0], (KeptRow{3, 5}));
  EXPECT_EQ(loop->outerCuts[0], (OuterCuts{0, {8, 56, 57}}));
  const char* scatter = "scatter results=0 lanes=8 tiles=window@1:4x256 ns=10";
  EXPECT_EQ(toString(*parseStageSchedule(scatter)), scatter);
  const char* scan =
      "scan results=0 along=2:reversed part=blocks chunk=1024 grain=4 threads=256 "
      "tiles=indices@-1:9x1 ns=10";
  EXPECT_EQ(toString(*parseStageSchedule(scan)), scan);
  for (const char* other :
       {"dot results=0 of=2 sums=1 function=direct:swapped lanes=8 ns=1",
        "dot results=0 of=0 form=vectors tile=6x2x1 each=6x2 splits=3 with=swapped,terms "
        "copies=rows,columns lanes=8 grain=2 threads=64 ns=1",
        "attention results=0 form=library ns=1",
        "attention results=0,1 dims=0-1:8,2:512 block=32 tiled=1 chunk=64 threads=256 ns=1",
        "sort results=0 chunk=1024 grain=8 run=4 lines=2 threads=128 ns=1",
        "top_k results=0,1 lanes=4 chunk=3128 grain=4 threads=256 ns=1",
        "fft results=0 along=1 factors=16,4 lines=2 threads=24 ns=1"}) {
    StatusOr<StageSchedule> read = parseStageSchedule(other);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(toString(*read), other);
  }
}

TEST(ScheduleText, has_the_fields_of_its_kind_only) {
  for (const char* text :
       {"loop factors=4", "copy of=0", "scan order=blocks@0", "scatter dims=0:8", "dot chunk=4",
        "dot reduce=1:row", "attention lanes=8", "sort lanes=4", "top_k run=2", "fft chunk=8"}) {
    StatusOr<StageSchedule> stage = parseStageSchedule(text);
    ASSERT_FALSE(stage.ok()) << text;
    EXPECT_THAT(stage.status().message(), HasSubstr("has no such field")) << text;
  }
}

TEST(ScheduleText, names_the_field_that_it_does_not_understand) {
  for (const char* text : {"", "spiral results=0", "loop lanes=", "loop lanes=many",
                           "loop colour=1", "loop dims=0-1", "loop dims=3-1:4", "loop reduce=5",
                           "loop kept=3", "loop unroll=x", "loop reduce=5:lane:1x2:3",
                           "scan along=1:sideways", "loop tiles=indices@0:4", "loop tails=wide"}) {
    StatusOr<StageSchedule> stage = parseStageSchedule(text);
    ASSERT_FALSE(stage.ok()) << text;
    EXPECT_EQ(stage.status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(ChooseSchedule, joins_dimensions_and_leaves_no_thread_idle) {
  // 64064 elements in one loop, 16 to a vector.
  std::string text = exponential().schedule(vectorCpu());
  EXPECT_THAT(text, HasSubstr("dims=0-1:64064 lanes=16"));
  EXPECT_THAT(text, HasSubstr("cuts=0,64064"));
}

// So many ops, one after the other.
std::string chain(const std::string& op, int length, int elements, const TargetModel& target) {
  const std::string type = "tensor<" + std::to_string(elements) + "xf32>";
  std::string body, value = "%x";
  for (int i = 1; i <= length; ++i) {
    const std::string next = i == length ? "%y" : "%v" + std::to_string(i);
    body += next + " = stablehlo." + op + " " + value + " : " + type + "\n";
    value = next;
  }
  return Program(type, type, body).schedule(target);
}

TEST(ChooseSchedule, computes_two_vectors_at_once_where_a_long_chain_leaves_a_core_idle) {
  TargetModel target = vectorCpu();
  EXPECT_THAT(chain("exponential", 12, 1 << 20, target), HasSubstr("lanes=16"));
  target.instructionsInFlight = 256;
  EXPECT_THAT(chain("exponential", 12, 1 << 20, target), HasSubstr("lanes=32"));
  EXPECT_THAT(chain("exponential", 4, 1 << 20, target), HasSubstr("lanes=16"));
  // Not worth its compilation.
  EXPECT_THAT(chain("exponential", 12, 256, target), HasSubstr("lanes=16"));
}

TEST(ChooseSchedule, lanes_share_a_row_and_accumulate_columns) {
  EXPECT_THAT(sum("tensor<64x1000xf32>", "tensor<64xf32>", 1).schedule(vectorCpu()),
              HasSubstr("reduce=1:row:16x4"));
  // Long sums are of blocks.
  EXPECT_THAT(sum("tensor<4x65536xf32>", "tensor<4xf32>", 1).schedule(vectorCpu()),
              HasSubstr("reduce=1:row:16x4/64"));
  EXPECT_THAT(sum("tensor<4x4194304xf32>", "tensor<4xf32>", 1).schedule(vectorCpu()),
              HasSubstr("reduce=1:row:16x4/64"));
  // One accumulator, where what an element takes hides the addition.
  EXPECT_THAT(softmax(4096).schedule(vectorCpu()), HasSubstr("reduce=2:row:16x1"));
  std::string columns = sum("tensor<1000x640xf32>", "tensor<640xf32>", 0).schedule(vectorCpu());
  EXPECT_THAT(columns, HasSubstr("dims=0:640 lanes=16"));
  EXPECT_THAT(columns, HasSubstr("reduce=1:accumulate:1x4"));
  // Long columns are summed in blocks of rows.
  for (const char* width : {"640", "5"}) {
    const std::string row = std::string("x") + width + "xf32>";
    const Program tall = sum("tensor<100000" + row, "tensor<" + row.substr(1), 0);
    const std::string chosen = tall.schedule(vectorCpu());
    EXPECT_THAT(chosen,
                ::testing::AnyOf(HasSubstr("accumulate:1x4/64 "), HasSubstr("lane:1x1:16x4 ")));
    EXPECT_EQ(tall.problemWith(chosen, vectorCpu()), "");
  }
  // With what follows, to which a dimension of one element makes no difference.
  Program kept("tensor<1000x640xf32>", "tensor<1x640xf32>",
               "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
               "%s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : "
               "(tensor<1000x640xf32>, tensor<f32>) -> tensor<640xf32>\n"
               "%k = stablehlo.reshape %s : (tensor<640xf32>) -> tensor<1x640xf32>\n"
               "%y = stablehlo.tanh %k : tensor<1x640xf32>");
  EXPECT_THAT(kept.schedule(vectorCpu()), HasSubstr("reduce=1:accumulate:1x4"));
}

TEST(ChooseSchedule, transposes_in_registers_as_many_rows_as_the_cache_holds) {
  auto transpose = [](int size, const std::string& element) {
    const std::string n = std::to_string(size),
                      type = "tensor<" + n + "x" + n + "x" + element + ">";
    return Program(type, type,
                   "%y = stablehlo.transpose %x, dims = [1, 0] : (" + type + ") -> " + type)
        .schedule(vectorCpu());
  };
  EXPECT_THAT(transpose(1000, "f32"),
              HasSubstr("order=transposed@0 lanes=16 cuts=0,1000 chunk=64"));
  // Rows a power of two apart share sets.
  EXPECT_THAT(transpose(1024, "f32"),
              HasSubstr("order=transposed@0 lanes=16 cuts=0,1024 chunk=16"));
  // Narrow elements have no more lanes than a block has rows.
  EXPECT_THAT(transpose(1000, "i8"), HasSubstr("order=transposed@0 lanes=16 cuts=0,1000 chunk=64"));
  EXPECT_THAT(transpose(1024, "i8"), HasSubstr("order=transposed@0 lanes=16 cuts=0,1024 chunk=32"));
}

TEST(ChooseSchedule, moves_complex_numbers_as_words) {
  const std::string type = "tensor<100x16x16xcomplex<f32>>";
  const std::string move =
      "%t = stablehlo.transpose %x, dims = [0, 2, 1] : (" + type + ") -> " + type + "\n";
  EXPECT_THAT(Program(type, type, move + "%y = stablehlo.reverse %t, dims = [0] : " + type)
                  .schedule(vectorCpu()),
              HasSubstr("lanes=8"));
  EXPECT_THAT(
      Program(type, type, move + "%y = stablehlo.add %t, %t : " + type).schedule(vectorCpu()),
      HasSubstr("lanes=16"));
}

// Rows of several dimensions, or several short rows of a result, are as long as all of them.
TEST(ChooseSchedule, reduces_many_short_rows_along_them) {
  auto schedule = [](const std::string& from, const std::string& factor) {
    return Program(from, "tensor<64xf32>",
                   "%z = stablehlo.constant dense<0.0> : tensor<f32>\n" + factor +
                       "%y = stablehlo.reduce(%m init: %z) applies stablehlo.add across dimensions "
                       "= [1, 2] : (" +
                       from + ", tensor<f32>) -> tensor<64xf32>")
        .schedule(vectorCpu());
  };
  EXPECT_THAT(schedule("tensor<64x30x16xf32>", "%m = stablehlo.abs %x : tensor<64x30x16xf32>\n"),
              HasSubstr("row:16x4"));
  // Every sixteenth number twice: the dimensions stay apart.
  const std::string spread =
      "%s = stablehlo.slice %x [0:64, 0:30, 0:1] : (tensor<64x30x16xf32>) -> "
      "tensor<64x30x1xf32>\n%b = stablehlo.broadcast_in_dim %s, dims = [0, 1, 2] : "
      "(tensor<64x30x1xf32>) -> tensor<64x30x16xf32>\n%m = stablehlo.multiply %x, %b : "
      "tensor<64x30x16xf32>\n";
  EXPECT_THAT(schedule("tensor<64x30x16xf32>", spread), HasSubstr("row:16x1"));
}

TEST(ChooseSchedule, reduces_short_rows_in_blocks) {
  TargetModel target = vectorCpu();
  EXPECT_THAT(sum("tensor<64x25xf32>", "tensor<64xf32>", 1).schedule(target),
              HasSubstr("dims=0:64 order=blocks@0 block=16 lanes=16"));
  // Rows that are a vector each, not those of fewer.
  EXPECT_THAT(sum("tensor<64x16xf32>", "tensor<64xf32>", 1).schedule(target),
              HasSubstr("dims=0:64 order=blocks@0 block=16 lanes=16"));
  EXPECT_THAT(sum("tensor<64x15xf32>", "tensor<64xf32>", 1).schedule(target),
              ::testing::Not(HasSubstr("blocks")));
  EXPECT_THAT(softmax(25).schedule(target),
              HasSubstr("dims=0:64,1:25 order=blocks@0 block=16 lanes=16 cuts=0,25"));
  EXPECT_THAT(softmax(25).schedule(target), HasSubstr("reduce=2:row:16x1 kept=1@2"));
  // As many accumulators as spare rounds of a loop, where an element takes no longer than a round.
  EXPECT_THAT(sum("tensor<64x50xf32>", "tensor<64xf32>", 1).schedule(target),
              HasSubstr("reduce=1:row:16x3"));
  EXPECT_THAT(sum("tensor<64x100xf32>", "tensor<64xf32>", 1).schedule(target),
              HasSubstr("reduce=1:row:16x3"));
  EXPECT_THAT(sum("tensor<64x200xf32>", "tensor<64xf32>", 1).schedule(target),
              HasSubstr("reduce=1:row:16x2"));
  EXPECT_THAT(softmax(50).schedule(target), HasSubstr("reduce=2:row:16x1 kept=1@2"));
  // Too few rows for two blocks; rows that are worth folding one by one.
  EXPECT_THAT(sum("tensor<31x25xf32>", "tensor<31xf32>", 1).schedule(target),
              ::testing::Not(HasSubstr("blocks")));
  EXPECT_THAT(softmax(1000).schedule(target), ::testing::Not(HasSubstr("blocks")));
}

TEST(ChooseSchedule, reduces_no_blocks_where_other_rows_are_read) {
  Program reversed("tensor<64x25xf32>", "tensor<64xf32>",
                   "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                   "%s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = "
                   "[1] : (tensor<64x25xf32>, tensor<f32>) -> tensor<64xf32>\n"
                   "%t = stablehlo.reverse %s, dims = [0] : tensor<64xf32>\n"
                   "%y = stablehlo.add %s, %t : tensor<64xf32>");
  EXPECT_THAT(reversed.schedule(vectorCpu()), ::testing::Not(HasSubstr("blocks")));
}

// Of what is concatenated or padded along an outer loop, no element computes more than its own
// part.
TEST(ChooseSchedule, cuts_outer_loops_between_parts) {
  auto rolled = [](int rows, int columns = 500) {
    const std::string n = std::to_string(rows), m = std::to_string(rows - 3);
    const std::string c = std::to_string(columns);
    auto rowsOf = [&](const std::string& count) { return "tensor<" + count + "x" + c + "xf32>"; };
    const std::string type = rowsOf(n), most = rowsOf(m), few = rowsOf("3");
    return Program(type, type,
                   "%e = stablehlo.exponential %x : " + type + "\n%a = stablehlo.slice %e [" + m +
                       ":" + n + ", 0:" + c + "] : (" + type + ") -> " + few +
                       "\n%b = stablehlo.slice %e [0:" + m + ", 0:" + c + "] : (" + type + ") -> " +
                       most + "\n%y = stablehlo.concatenate %a, %b, dim = 0 : (" + few + ", " +
                       most + ") -> " + type);
  };
  const TargetModel target = vectorCpu();
  Program large = rolled(600);
  EXPECT_THAT(large.schedule(target), HasSubstr("dims=0:600,1:500 lanes=16 cuts=0,500 outer=0@3 "));
  EXPECT_THAT(rolled(6).schedule(target), HasSubstr("outer=0@3 "));
  // A little time is not worth another loop's compilation.
  EXPECT_THAT(rolled(6, 16).schedule(target), ::testing::Not(HasSubstr("outer")));
  const std::string loops = "loop results=0 dims=0:600,1:500 lanes=16 cuts=0,500 chunk=500 outer=";
  EXPECT_EQ(large.problemWith(loops + "0@3/599", target), "");
  for (const char* wrong : {"0@0", "0@600", "0@5/5", "0@7/3", "0@1,0@2", "-1@3"}) {
    EXPECT_THAT(large.problemWith(loops + wrong, target), HasSubstr("outer cuts must")) << wrong;
  }
  EXPECT_THAT(large.problemWith(loops + "1@3", target), HasSubstr("without the last"));
}

TEST(ChooseSchedule, computes_ends_of_rows_twice_where_no_result_overwrites_an_operand) {
  TargetModel target = vectorCpu();
  EXPECT_THAT(softmax(25).schedule(target), HasSubstr("cuts=0,25 tails=overlap"));
  EXPECT_THAT(softmax(1001).schedule(target), HasSubstr("cuts=0,1001 tails=overlap"));
  EXPECT_THAT(softmax(1000).schedule(target), HasSubstr("tails=overlap"));
  EXPECT_THAT(softmax(1008).schedule(target), ::testing::Not(HasSubstr("tails")));
  // Each element is read where it is written: the sum may take the operand's memory.
  Program sum("tensor<64x25xf32>", "tensor<64x25xf32>",
              "%z = stablehlo.constant dense<1.0> : tensor<25xf32>\n"
              "%i = stablehlo.iota dim = 0 : tensor<25xf32>\n"
              "%b = stablehlo.broadcast_in_dim %i, dims = [1] : (tensor<25xf32>) -> "
              "tensor<64x25xf32>\n"
              "%y = stablehlo.add %x, %b : tensor<64x25xf32>");
  std::string chosen = sum.schedule(target);
  EXPECT_THAT(chosen, HasSubstr("cuts=0,25"));
  EXPECT_THAT(chosen, ::testing::Not(HasSubstr("overlap")));
  const size_t cuts = chosen.find("cuts=0,25");
  EXPECT_THAT(
      sum.problemWith(chosen.substr(0, cuts) + "tails=overlap " + chosen.substr(cuts), target),
      HasSubstr("overwritten by then"));
}

TEST(CanShareBuffer, a_row_is_overwritten_where_all_of_it_was_reduced_before) {
  const std::string type = "tensor<64x1008xf32>";
  auto normalized = [&](const std::string& numerator) {
    return Program(type, type,
                   "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                   "%s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = "
                   "[1] : (" +
                       type +
                       ", tensor<f32>) -> tensor<64xf32>\n"
                       "%b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<64xf32>) -> " +
                       type + "\n" + numerator + "%y = stablehlo.divide %n, %b : " + type);
  };
  auto shares = [&](const Program& program) {
    mlir::Builder builder(program.fusion().getContext());
    std::string schedule = program.schedule(vectorCpu());
    EXPECT_THAT(schedule, HasSubstr("row"));
    program.fusion().setScheduleAttr(builder.getStrArrayAttr({schedule}));
    return canShareBuffer(program.fusion(), 0, 0);
  };
  EXPECT_TRUE(shares(normalized("%n = stablehlo.exponential %x : " + type + "\n")));
  // The first of a row is overwritten when the others ask for it.
  EXPECT_FALSE(shares(normalized(
      "%f = stablehlo.slice %x [0:64, 0:1] : (" + type + ") -> tensor<64x1xf32>\n" +
      "%n = stablehlo.broadcast_in_dim %f, dims = [0, 1] : (tensor<64x1xf32>) -> " + type + "\n")));
}

TEST(CanShareBuffer, equal_indices_in_arrays_of_other_shapes_are_other_places) {
  Program program("tensor<600x100xf32>", "tensor<300x200xf32>",
                  "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                  "%s = stablehlo.slice %x [0:300, 0:100] : (tensor<600x100xf32>) -> "
                  "tensor<300x100xf32>\n"
                  "%y = stablehlo.pad %s, %z, low = [0, 0], high = [0, 100], interior = [0, 0] : "
                  "(tensor<300x100xf32>, tensor<f32>) -> tensor<300x200xf32>");
  EXPECT_FALSE(canShareBuffer(program.fusion(), 0, 0));
}

TEST(CanShareBuffer, an_update_reads_what_it_replaces_alone) {
  auto updated = [](const std::string& place, const std::string& update) {
    return Program("tensor<64x8xf32>", "tensor<64x8xf32>", R"(
        %i = stablehlo.constant dense<3> : tensor<i32>
        %j = stablehlo.constant dense<4> : tensor<i32>
        %s = stablehlo.dynamic_slice %x, )" + place + R"(, sizes = [2, 8]
            : (tensor<64x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x8xf32>
        )" + update + R"(
        %y = stablehlo.dynamic_update_slice %x, %u, %i, %i
            : (tensor<64x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<64x8xf32>)");
  };
  const std::string own = "%u = stablehlo.tanh %s : tensor<2x8xf32>";
  EXPECT_TRUE(canShareBuffer(updated("%i, %i", own).fusion(), 0, 0));
  EXPECT_FALSE(canShareBuffer(updated("%i, %j", own).fusion(), 0, 0));
  EXPECT_FALSE(canShareBuffer(
      updated("%i, %i", "%u = stablehlo.reverse %s, dims = [1] : tensor<2x8xf32>").fusion(), 0, 0));
  EXPECT_FALSE(canShareBuffer(updated("%i, %i",
                                      "%r = stablehlo.reverse %s, dims = [0] : tensor<2x8xf32>\n"
                                      "%u = stablehlo.add %s, %r : tensor<2x8xf32>")
                                  .fusion(),
                              0, 0));
}

TEST(VerifySchedule, refuses_blocks_of_other_rows) {
  TargetModel target = vectorCpu();
  const std::string loop = "loop results=0 dims=0:64,1:25 order=blocks@0 ";
  const std::string rest = "lanes=16 cuts=0,25 reduce=2:row:16x1 kept=1@2 ";
  EXPECT_EQ(softmax(25).problemWith(softmax(25).schedule(target), target), "");
  EXPECT_EQ(softmax(25).problemWith(loop + "block=16 " + rest + "chunk=32", target), "");
  EXPECT_EQ(softmax(25).problemWith(loop + "block=16 " + rest + "chunk=1", target), "");
  EXPECT_THAT(softmax(25).problemWith(loop + "block=32 " + rest + "chunk=32", target),
              HasSubstr("no blocks of rows"));
  EXPECT_THAT(softmax(25).problemWith(loop + "block=16 " + rest + "chunk=24", target),
              HasSubstr("multiple of block"));
  EXPECT_THAT(softmax().problemWith("loop results=0 dims=0:64,1:1000 order=blocks@0 block=16 "
                                    "lanes=16 cuts=0,1000 chunk=64 reduce=2:row:16x4 kept=1@2",
                                    target),
              HasSubstr("no blocks of rows"));
}

TEST(ChooseSchedule, keeps_a_row_of_what_is_expensive) {
  EXPECT_THAT(softmax().schedule(vectorCpu()), HasSubstr("reduce=2:row:16x1 kept=1@2"));
  // Nothing is kept where it would not stay in cache.
  TargetModel small = vectorCpu();
  small.maxRowBytes = 4000;
  EXPECT_THAT(softmax().schedule(small), ::testing::Not(HasSubstr("kept")));
}

TEST(ChooseSchedule, gives_threads_of_a_gpu_an_element_each_or_a_row_together) {
  TargetModel gpu = gpuTarget("spirv64-unknown-unknown");
  StatusOr<KernelSchedule> elements = chooseSchedule(exponential().fusion(), gpu);
  ASSERT_TRUE(elements.ok());
  EXPECT_EQ(elements->stages[0].tiles(), 64 * 1001);
  EXPECT_EQ(elements->stages[0].base().lanes, 1u);
  EXPECT_EQ(elements->stages[0].base().groupThreads, 1u);
  StatusOr<KernelSchedule> rows = chooseSchedule(softmax().fusion(), gpu);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->stages[0].tiles(), 64);
  EXPECT_EQ(rows->stages[0].base().groupThreads, 256u);
  EXPECT_EQ(rows->only<LoopStage>()->reductions[0].strategy, ReductionStrategy::kGroup);
  // Threads side by side read columns side by side.
  StatusOr<KernelSchedule> columns =
      chooseSchedule(sum("tensor<100x8192xf32>", "tensor<8192xf32>", 0).fusion(), gpu);
  ASSERT_TRUE(columns.ok());
  EXPECT_EQ(columns->stages[0].tiles(), 8192);
  EXPECT_EQ(columns->stages[0].base().groupThreads, 1u);
}

TEST(ChooseSchedule, has_no_groups_where_threads_share_nothing) {
  TargetModel gpu = gpuTarget("spirv64-unknown-unknown");
  gpu.sharesGroupMemory = false;
  auto check = [&](const Program& program) {
    StatusOr<KernelSchedule> schedule = chooseSchedule(program.fusion(), gpu);
    ASSERT_TRUE(schedule.ok()) << schedule.status().message();
    EXPECT_EQ(schedule->stages[0].base().groupThreads, 1u);
    EXPECT_NE(schedule->only<LoopStage>()->reductions[0].strategy, ReductionStrategy::kGroup);
  };
  check(softmax());
  check(sum("tensor<100x8192xf32>", "tensor<100xf32>", 1));
}

// JAX's, but for NaN.
Program argmax(int64_t size) {
  const std::string n = std::to_string(size), floats = "tensor<64x" + n + "xf32>",
                    integers = "tensor<64x" + n + "xi32>";
  return Program(floats, "tensor<64xi32>",
                 R"(
    %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %i = stablehlo.iota dim = 1 : )" +
                     integers + R"(
    %v, %y = stablehlo.reduce(%x init: %lowest), (%i init: %zero) across dimensions = [1]
        : ()" + floats +
                     ", " + integers +
                     R"(, tensor<f32>, tensor<i32>) -> (tensor<64xf32>, tensor<64xi32>)
      reducer(%a: tensor<f32>, %b: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {
        %larger = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %same = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %earlier = stablehlo.compare LT, %j, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %tie = stablehlo.and %same, %earlier : tensor<i1>
        %isFirst = stablehlo.or %larger, %tie : tensor<i1>
        %value = stablehlo.select %larger, %a, %b : tensor<i1>, tensor<f32>
        %index = stablehlo.select %isFirst, %j, %k : tensor<i1>, tensor<i32>
        stablehlo.return %value, %index : tensor<f32>, tensor<i32>
      })");
}

TEST(ChooseSchedule, shares_a_reduction_without_neutral_value_where_each_thread_has_an_element) {
  const TargetModel gpu = gpuTarget("spirv64-unknown-unknown");
  EXPECT_THAT(argmax(1000).schedule(gpu), HasSubstr("group:256x"));
  EXPECT_THAT(argmax(200).schedule(gpu), HasSubstr("group:128x"));
  EXPECT_THAT(argmax(gpu.subgroupSize - 1).schedule(gpu), ::testing::Not(HasSubstr("group:")));
  EXPECT_THAT(argmax(255).problemWith("loop results=0 dims=0:64 cuts=0,64 tiled=1 chunk=64 "
                                      "threads=256 reduce=3:group:256x1",
                                      gpu),
              HasSubstr("for threads to begin with"));
}

TEST(VerifySchedule, takes_what_was_chosen_and_other_numbers) {
  TargetModel target = vectorCpu();
  EXPECT_EQ(softmax().problemWith(softmax().schedule(target), target), "");
  EXPECT_EQ(exponential().problemWith("loop results=0 dims=0:64,1:1001 lanes=4 cuts=0,1001 tiled=1 "
                                      "chunk=100 grain=2 ns=1",
                                      target),
            "");
}

TEST(VerifySchedule, refuses_what_would_compute_something_else) {
  TargetModel target = vectorCpu();
  Program program = exponential();
  struct {
    const char* text;
    const char* problem;
  } cases[] = {
      {"loop results=0 dims=0-1:64064 lanes=3 cuts=0,64064 chunk=64064", "power of two"},
      {"loop results=0 dims=0:64 lanes=4 cuts=0,64 chunk=64", "do not cover"},
      {"loop results=0 dims=1:1001,0:64 lanes=4 cuts=0,64 chunk=64", "do not cover"},
      {"loop results=0 dims=0-1:100 lanes=4 cuts=0,100 chunk=100", "expected 64064"},
      {"loop results=1 dims=0-1:64064 cuts=0,64064", "other results"},
      {"scan results=0", "other results"},
      {"loop results=0 dims=0-1:64064 cuts=0,64064 chunk=0", "chunk must be"},
      {"loop results=0 dims=0-1:64064 cuts=0,64064 grain=0", "grain from 1"},
      {"loop results=0 dims=0-1:64064 cuts=0,100 chunk=100", "cuts must rise"},
      {"loop results=0 dims=0-1:64064 cuts=0,64064 tiled=2", "loops"},
      {"loop results=0 dims=0-1:64064 cuts=0,64064 order=transposed@7 lanes=8",
       "other than the last"},
      {"loop results=0 dims=0-1:64064 cuts=0,64064 reduce=0:row", "is no reduction"},
      {"loop results=0 dims=0-1:64064 cuts=0,64064 kept=0@0", "cannot be kept"},
  };
  for (auto [text, problem] : cases) {
    EXPECT_THAT(program.problemWith(text, target), HasSubstr(problem)) << text;
  }
  EXPECT_THAT(softmax().problemWith("loop results=0 dims=0:64,1:1000 lanes=16 cuts=0,1000 tiled=1 "
                                    "chunk=1000 reduce=2:accumulate:1x4",
                                    target),
              HasSubstr("read while they grow"));
  // The second result has an element for each row.
  Program rows(R"(
    func.func @main(%in: tensor<64x1000xf32>) -> (tensor<64x1000xf32>, tensor<64xf32>) {
      %r:2 = "isthmus.fusion"(%in) ({
      ^bb0(%x: tensor<64x1000xf32>):
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1]
            : (tensor<64x1000xf32>, tensor<f32>) -> tensor<64xf32>
        %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<64xf32>) -> tensor<64x1000xf32>
        isthmus.yield %b, %s : tensor<64x1000xf32>, tensor<64xf32>
      }) : (tensor<64x1000xf32>) -> (tensor<64x1000xf32>, tensor<64xf32>)
      return %r#0, %r#1 : tensor<64x1000xf32>, tensor<64xf32>
    })");
  std::string chosen = rows.schedule(target);
  EXPECT_THAT(chosen, HasSubstr("loop results=0 rows=1 dims=0:64,1:1000"));
  EXPECT_EQ(rows.problemWith(chosen, target), "");
  const std::string loop =
      "loop results=0 rows=1 dims=0:64,1:1000 lanes=16 cuts=0,1000 reduce=1:row:16x4 ";
  EXPECT_EQ(rows.problemWith(loop + "tiled=1 chunk=1000 grain=3", target), "");
  EXPECT_THAT(rows.problemWith(loop + "tiled=1 chunk=512", target), HasSubstr("whole rows"));
}

TEST(ChooseSchedule, gives_a_thread_neighbours_where_there_are_threads_enough) {
  TargetModel gpu = gpuTarget("spirv64-unknown-unknown");
  gpu.threadBits = 128;
  gpu.bufferBytes = 16;
  auto add = [](const std::string& type) {
    return Program(type, type, "%y = stablehlo.add %x, %x : " + type);
  };
  EXPECT_THAT(add("tensor<512x1001xf32>").schedule(gpu),
              HasSubstr("dims=0-1:512512 lanes=4 cuts=0,512512 chunk=4"));
  EXPECT_THAT(add("tensor<1024x1024xbf16>").schedule(gpu), HasSubstr("lanes=8"));
  EXPECT_THAT(add("tensor<512x1001xcomplex<f32>>").schedule(gpu), Not(HasSubstr("lanes")));
  EXPECT_THAT(add("tensor<99x101xf32>").schedule(gpu), Not(HasSubstr("lanes")));
  TargetModel elements = gpuTarget("spirv64-unknown-unknown");
  for (const char* type : {"tensor<512x1001xf32>", "tensor<512x1001xcomplex<f32>>"}) {
    EXPECT_THAT(add(type).schedule(elements), Not(HasSubstr("lanes"))) << type;
  }
  // Rows that vectors do not divide begin anywhere.
  auto bias = [](const std::string& columns) {
    std::string type = "tensor<1024x" + columns + "xf32>";
    return Program("tensor<" + columns + "xf32>", type,
                   "%y = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<" + columns +
                       "xf32>) -> " + type);
  };
  EXPECT_THAT(bias("1024").schedule(gpu), HasSubstr("lanes=4"));
  EXPECT_THAT(bias("1023").schedule(gpu), Not(HasSubstr("lanes")));
}

TEST(ReductionsOfOneLoop, do_not_depend_on_each_other) {
  const std::string type = "tensor<64x1000xf32>", rows = "tensor<64xf32>";
  auto reduce = [&](const std::string& name, const std::string& of, const std::string& dim = "1") {
    return "%" + name + " = stablehlo.reduce(%" + of + " init: %z) applies stablehlo.add across " +
           "dimensions = [" + dim + "] : (" + type + ", tensor<f32>) -> " +
           (dim == "1" ? rows : "tensor<1000xf32>") + "\n";
  };
  const std::string squares =
      "%z = stablehlo.constant dense<0.0> : tensor<f32>\n%q = stablehlo.multiply %x, %x : " + type +
      "\n";
  auto loopsOf = [](const Program& program) {
    StatusOr<KernelSchedule> schedule =
        chooseSchedule(program.fusion(), gpuTarget("spirv64-unknown-unknown"));
    EXPECT_TRUE(schedule.ok());
    std::vector<size_t> sizes;
    for (const auto& loop :
         reductionsOfOneLoop(program.fusion(), *schedule->stages[0].as<FusedStage>())) {
      sizes.push_back(loop.size());
    }
    return sizes;
  };
  const std::string sum = "%y = stablehlo.add %a, %b : " + rows;
  EXPECT_THAT(loopsOf(Program(type, rows, squares + reduce("a", "x") + reduce("b", "q") + sum)),
              ElementsAre(2));
  // The second needs the first one's result.
  const std::string less = "%l = stablehlo.broadcast_in_dim %a, dims = [0] : (" + rows + ") -> " +
                           type + "\n%m = stablehlo.subtract %q, %l : " + type + "\n";
  EXPECT_THAT(
      loopsOf(Program(type, rows, squares + reduce("a", "x") + less + reduce("b", "m") + sum)),
      ElementsAre());
  // Four, of which two need one of the others: two loops, one after the other.
  EXPECT_THAT(
      loopsOf(Program(type, rows,
                      squares + reduce("a", "x") + reduce("b", "q") + less + reduce("c", "m") +
                          reduce("d", "l") + "%e = stablehlo.add %a, %b : " + rows +
                          "\n%f = stablehlo.add %c, %d : " + rows +
                          "\n%y = stablehlo.add %e, %f : " + rows)),
      ElementsAre(2, 2));
}

// Errors of a sum that takes one element after the other grow with the line: blocks of it are
// summed by themselves. Maxima have no errors.
TEST(Scan, combines_blocks_of_what_is_rounded) {
  auto scan = [](const std::string& type, const std::string& element, const std::string& size,
                 const std::string& combiner) {
    return Program(type, type,
                   "%z = stablehlo.constant dense<1> : tensor<i32>\n%i = stablehlo.convert %z : "
                   "(tensor<i32>) -> tensor<" +
                       element +
                       ">\n"
                       "%y = \"stablehlo.reduce_window\"(%x, %i) ({\n^bb0(%a: tensor<" +
                       element + ">, %b: tensor<" + element + ">):\n%s = stablehlo." + combiner +
                       " %a, %b : tensor<" + element + ">\nstablehlo.return %s : tensor<" +
                       element + ">\n}) {window_dimensions = array<i64: " + size +
                       ">, padding = dense<[[" + std::to_string(std::stoll(size) - 1) +
                       ", 0]]> : tensor<1x2xi64>} : (" + type + ", tensor<" + element + ">) -> " +
                       type)
        .schedule(vectorCpu());
  };
  EXPECT_THAT(scan("tensor<1000000xf32>", "f32", "1000000", "add"), HasSubstr("along=0 chunk=128"));
  EXPECT_THAT(scan("tensor<1000xf64>", "f64", "1000", "multiply"), HasSubstr("along=0 chunk=32"));
  EXPECT_THAT(scan("tensor<256xf32>", "f32", "256", "add"), Not(HasSubstr("chunk")));
  EXPECT_THAT(scan("tensor<1000000xf32>", "f32", "1000000", "maximum"), Not(HasSubstr("chunk")));
  EXPECT_THAT(scan("tensor<1000000xi32>", "i32", "1000000", "add"), Not(HasSubstr("chunk")));
}

TEST(VerifySchedule, keeps_the_parts_of_a_scan_together) {
  Program scan(
      "tensor<3x500xf32>", "tensor<3x500xf32>",
      "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%y = \"stablehlo.reduce_window\"(%x, %z) ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
      "%s = stablehlo.add %a, %b : tensor<f32>\nstablehlo.return %s : tensor<f32>\n"
      "}) {window_dimensions = array<i64: 1, 500>, padding = dense<[[0, 0], [499, 0]]> : "
      "tensor<2x2xi64>} : (tensor<3x500xf32>, tensor<f32>) -> tensor<3x500xf32>");
  TargetModel gpu = gpuTarget("spirv64-unknown-unknown");
  const std::string tiles = "tiles=indices@-1:3x1";
  EXPECT_THAT(scan.schedule(gpu),
              HasSubstr("along=1 part=whole chunk=500 grain=4 threads=128 " + tiles));
  const std::string start = "scan results=0 along=1 part=whole chunk=500 ";
  EXPECT_EQ(scan.problemWith(start + "grain=2 threads=64 " + tiles, gpu), "");
  EXPECT_THAT(scan.problemWith(start + "grain=99 threads=64 " + tiles, gpu), HasSubstr("grain"));
  EXPECT_THAT(scan.problemWith(start + "grain=4 " + tiles, gpu), HasSubstr("threads"));
  EXPECT_THAT(scan.problemWith(
                  "scan results=0 along=1 part=blocks chunk=500 grain=4 threads=64 " + tiles, gpu),
              HasSubstr("go together"));
  EXPECT_THAT(scan.problemWith(start + "grain=4 threads=64", gpu), HasSubstr("tiles"));
  for (const char* along : {"0", "1:reversed"}) {
    EXPECT_THAT(scan.problemWith("scan results=0 along=" + std::string(along) +
                                     " part=whole chunk=500 grain=4 threads=64 " + tiles,
                                 gpu),
                HasSubstr("another dimension"));
  }
}

Program windows(const std::string& window, const std::string& padding) {
  return Program("tensor<64x500xf32>", "tensor<64x500xf32>",
                 "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                 "%y = \"stablehlo.reduce_window\"(%x, %z) ({\n"
                 "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
                 "%s = stablehlo.add %a, %b : tensor<f32>\nstablehlo.return %s : tensor<f32>\n"
                 "}) {window_dimensions = array<i64: 1, " +
                     window + ">, padding = dense<[[0, 0], [" + padding +
                     ", 0]]> : tensor<2x2xi64>} : (tensor<64x500xf32>, tensor<f32>) -> "
                     "tensor<64x500xf32>");
}

TEST(ChooseSchedule, unrolls_small_windows) {
  EXPECT_THAT(windows("12", "11").schedule(vectorCpu()), HasSubstr("unroll=1"));
  EXPECT_THAT(windows("13", "12").schedule(vectorCpu()), Not(HasSubstr("unroll")));
}

TEST(VerifySchedule, refuses_to_unroll_large_windows_and_what_is_none) {
  const std::string loop = "loop results=0 dims=0:64,1:500 lanes=16 cuts=0,500 tiled=1 chunk=500 ";
  EXPECT_EQ(windows("13", "12").problemWith(loop + "unroll=1", vectorCpu()), "");
  EXPECT_EQ(windows("12", "11").problemWith(loop, vectorCpu()), "");
  EXPECT_THAT(windows("65", "64").problemWith(loop + "unroll=1", vectorCpu()),
              HasSubstr("no window of at most"));
  EXPECT_THAT(windows("12", "11").problemWith(loop + "unroll=0", vectorCpu()),
              HasSubstr("no window of at most"));
}

TEST(VerifySchedule, wants_every_reduction_scheduled) {
  Program program = sum("tensor<64x1000xf32>", "tensor<64xf32>", 1);
  const std::string loop = "loop results=0 dims=0:64 cuts=0,64 tiled=1 ";
  EXPECT_EQ(program.problemWith(loop + "reduce=1:row:8x2", vectorCpu()), "");
  EXPECT_THAT(program.problemWith(loop, vectorCpu()), HasSubstr("how op 1 reduces"));
  EXPECT_THAT(program.problemWith(loop + "reduce=1:lane:1x1:3x1", vectorCpu()),
              HasSubstr("out of range"));
}

// Of eight values side by side, each element computes its own: that is a short row's work, whatever
// all of them take.
TEST(ChooseSchedule, interleaves_what_is_stacked_last) {
  std::string body, pieces, types;
  for (int piece = 0; piece < 8; ++piece) {
    const std::string p = std::to_string(piece);
    std::string value = "%x";
    for (int step = 0; step < 12; ++step) {
      const std::string next = "%p" + p + "_" + std::to_string(step);
      body += next + " = stablehlo." + (step % 2 ? "sine" : "cosine") + " " + value +
              " : tensor<512x64xf32>\n";
      value = next;
    }
    body += "%q" + p + " = stablehlo.reshape " + value +
            " : (tensor<512x64xf32>) -> tensor<512x64x1xf32>\n";
    pieces += (piece ? ", %q" : "%q") + p;
    types += piece ? ", tensor<512x64x1xf32>" : "tensor<512x64x1xf32>";
  }
  Program stacked("tensor<512x64xf32>", "tensor<512x64x8xf32>",
                  body + "%y = stablehlo.concatenate " + pieces + ", dim = 2 : (" + types +
                      ") -> tensor<512x64x8xf32>");
  EXPECT_THAT(stacked.schedule(vectorCpu()), HasSubstr("order=interleaved@"));
}

// Rows of twelve that lie apart: half a vector and a quarter of one, not elements of two rows each
// of which has an address. Where elements take long, whole vectors are worth the addresses.
TEST(ChooseSchedule, keeps_short_rows_that_do_not_join) {
  auto sums = [](int operations) {
    std::string body, value = "%x";
    for (int i = 0; i < operations; ++i) {
      const std::string next = "%v" + std::to_string(i);
      body += next + " = stablehlo.cosine " + value + " : tensor<500x12x12xf32>\n";
      value = next;
    }
    return Program("tensor<500x12x12xf32>", "tensor<500x12xf32>",
                   body +
                       "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                       "%y = stablehlo.reduce(" +
                       value +
                       " init: %z) applies stablehlo.add across dimensions = [1] : "
                       "(tensor<500x12x12xf32>, tensor<f32>) -> tensor<500x12xf32>");
  };
  EXPECT_THAT(sums(0).schedule(vectorCpu()), HasSubstr("dims=0:500,1:12 lanes=8"));
  EXPECT_THAT(sums(9).schedule(vectorCpu()), HasSubstr("dims=0-1:6000 lanes=16"));
}

// Threads share a large block, by parts of its outermost dimension.
TEST(ChooseSchedule, cuts_updates_of_large_slices_into_tiles) {
  auto updated = [](int rows) {
    const std::string block = "tensor<" + std::to_string(rows) + "x498xf32>";
    return Program("tensor<600x500xf32>", "tensor<600x500xf32>",
                   "%i = stablehlo.constant dense<1> : tensor<i32>\n"
                   "%s = stablehlo.slice %x [1:" +
                       std::to_string(rows + 1) + ", 1:499] : (tensor<600x500xf32>) -> " + block +
                       "\n%e = stablehlo.exponential %s : " + block +
                       "\n%y = stablehlo.dynamic_update_slice %x, %e, %i, %i : "
                       "(tensor<600x500xf32>, " +
                       block + ", tensor<i32>, tensor<i32>) -> tensor<600x500xf32>");
  };
  auto scheduleOf = [&](int rows, const TargetModel& target) {
    Program program = updated(rows);
    StatusOr<KernelSchedule> schedule = chooseSchedule(program.fusion(), target);
    EXPECT_TRUE(schedule.ok()) << schedule.status().message();
    return toString(schedule->stages.back());
  };
  EXPECT_THAT(scheduleOf(598, vectorCpu()),
              HasSubstr("update_slice results=0 lanes=16 tiles=window@0:60x10 share="));
  EXPECT_THAT(scheduleOf(2, vectorCpu()), ::testing::Not(HasSubstr("tiles")));
  // Of a GPU, a thread has an element.
  EXPECT_THAT(scheduleOf(598, gpuTarget("spirv64-unknown-unknown")),
              HasSubstr("tiles=indices@-1:297804x1"));
}

// A row is updated by the sum of another array: no loop over results asks for it.
TEST(ChooseSchedule, schedules_reductions_inside_of_updates) {
  Program update(R"(
    func.func @main(%in: tensor<64x8xf32>, %rows: tensor<8x1000xf32>) -> tensor<64x8xf32> {
      %r = "isthmus.fusion"(%in, %rows) ({
      ^bb0(%x: tensor<64x8xf32>, %a: tensor<8x1000xf32>):
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %i = stablehlo.constant dense<3> : tensor<i32>
        %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1]
            : (tensor<8x1000xf32>, tensor<f32>) -> tensor<8xf32>
        %u = stablehlo.reshape %s : (tensor<8xf32>) -> tensor<1x8xf32>
        %y = stablehlo.dynamic_update_slice %x, %u, %i, %i
            : (tensor<64x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<64x8xf32>
        isthmus.yield %y : tensor<64x8xf32>
      }) : (tensor<64x8xf32>, tensor<8x1000xf32>) -> tensor<64x8xf32>
      return %r : tensor<64x8xf32>
    })");
  StatusOr<KernelSchedule> schedule = chooseSchedule(update.fusion(), vectorCpu());
  ASSERT_TRUE(schedule.ok()) << schedule.status().message();
  const StageSchedule& stage = schedule->stages.back();
  EXPECT_EQ(stage.kind(), StageKind::kUpdateSlice);
  EXPECT_THAT(toString(stage), HasSubstr("reduce=2:row:16x4"));
  KernelSchedule edited = *schedule;
  edited.stages.back().as<UpdateStage>()->reductions.clear();
  EXPECT_THAT(verifySchedule(edited, update.fusion(), vectorCpu()).message(),
              HasSubstr("how op 2 reduces"));
  edited = *schedule;
  edited.stages.back().as<UpdateStage>()->reductions[0].strategy = ReductionStrategy::kLane;
  EXPECT_THAT(verifySchedule(edited, update.fusion(), vectorCpu()).message(),
              HasSubstr("share rows only"));
}

}  // namespace
}  // namespace isthmus

// How sorts, selections and Fourier transforms run on devices, and what an edited schedule may say.
#include "compiler/schedule/data/data_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/dialect/dialect.h"
#include "compiler/schedule/op_schedule.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

namespace isthmus {
namespace {

using ::testing::HasSubstr;

// The first operation of a function of one argument, %x, beside other functions.
class DataOp {
 public:
  DataOp(const std::string& type, const std::string& text, const std::string& others = "")
      : context_(mlir::MLIRContext::Threading::DISABLED) {
    loadAllDialects(context_);
    std::string program = others + "func.func @main(%x: " + type + ") {\n" + text + "\nreturn\n}\n";
    module_ = mlir::parseSourceString<mlir::ModuleOp>(program, &context_);
    if (!module_) return;
    auto main = module_->lookupSymbol<mlir::func::FuncOp>("main");
    op_ = &main.getBody().front().front();
  }

  mlir::Operation* op() { return op_; }
  // The stages, without what they are estimated to take.
  std::string text(const TargetModel& target) {
    StatusOr<KernelSchedule> schedule = chooseDataSchedule(op_, target, &reason_);
    if (!schedule.ok()) return std::string(schedule.status().message());
    std::string text;
    for (StageSchedule& stage : schedule->stages) {
      stage.base().ns = 1;
      // What is printed is read again.
      StatusOr<StageSchedule> parsed = parseStageSchedule(toString(stage));
      EXPECT_TRUE(parsed.ok()) << parsed.status().message();
      EXPECT_EQ(*parsed, stage) << toString(stage);
      text += (text.empty() ? "" : "; ") + toString(stage);
    }
    if (text.empty()) return text;
    // With another estimate, it is verified as an edited one.
    EXPECT_EQ(carry(*schedule, target), "") << text;
    return text;
  }
  const std::string& reason() const { return reason_; }
  // What is said of an edited schedule, as the attribute of the operation.
  std::string problemWithAll(const std::vector<std::string>& texts, const TargetModel& target) {
    mlir::Builder builder(&context_);
    llvm::SmallVector<llvm::StringRef> parts(texts.begin(), texts.end());
    op_->setAttr(kOpScheduleName, builder.getStrArrayAttr(parts));
    StatusOr<KernelSchedule> schedule = dataScheduleOf(op_, target);
    op_->removeAttr(kOpScheduleName);
    return schedule.ok() ? "" : std::string(schedule.status().message());
  }
  std::string problemWith(const std::string& text, const TargetModel& target) {
    return problemWithAll({text}, target);
  }

 private:
  std::string carry(const KernelSchedule& schedule, const TargetModel& target) {
    attachOpSchedule(schedule, op_);
    StatusOr<KernelSchedule> read = dataScheduleOf(op_, target);
    op_->removeAttr(kOpScheduleName);
    if (read.ok()) EXPECT_EQ(*read, schedule);
    return read.ok() ? "" : std::string(read.status().message());
  }

  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::Operation* op_ = nullptr;
  std::string reason_;
};

DataOp sortOf(const std::string& type, int dimension) {
  return DataOp(type, "%y = \"stablehlo.sort\"(%x) <{dimension = " + std::to_string(dimension) +
                          " : i64, is_stable = true}> ({\n"
                          "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
                          "%c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> "
                          "tensor<i1>\n"
                          "stablehlo.return %c : tensor<i1>\n"
                          "}) : (" +
                          type + ") -> " + type);
}

DataOp topKOf(int64_t rows, int64_t length, int64_t k) {
  auto array = [&](int64_t size, const char* element) {
    return "tensor<" + std::to_string(rows) + "x" + std::to_string(size) + "x" + element + ">";
  };
  const std::string operand = array(length, "f32");
  const std::string results = "(" + array(k, "f32") + ", " + array(k, "i32") + ")";
  return DataOp(operand,
                "%y:2 = stablehlo.composite \"chlo.top_k\" %x {composite_attributes = {k = " +
                    std::to_string(k) + " : i64}, decomposition = @f} : (" + operand + ") -> " +
                    results,
                "func.func private @f(" + operand + ") -> " + results + "\n");
}

DataOp fftOf(const std::string& type, int64_t length) {
  return DataOp(type, "%y = stablehlo.fft %x, type = FFT, length = [" + std::to_string(length) +
                          "] : (" + type + ") -> " + type);
}

TargetModel gpu() {
  TargetModel target = gpuTarget("spirv64-unknown-unknown");
  target.threadBits = 128;
  return target;
}
// One whose threads share nothing.
TargetModel elementsOnly() {
  TargetModel target = gpu();
  target.sharesGroupMemory = false;
  return target;
}

TEST(DataScheduler, groups_sort_tiles_that_fit_their_memory) {
  // 4,096 rows or more would have tiles of 2,048 elements, of which two with their keys are in 32
  // KiB; smaller ones are enough to go round.
  DataOp one = sortOf("tensor<100000xf32>", 0);
  EXPECT_EQ(one.text(gpu()), "sort results=0 chunk=1024 grain=8 run=8 threads=128 ns=1");
  EXPECT_EQ(one.reason(), "small tiles, since of 2048 there were 64 of 4096");
  DataOp many = sortOf("tensor<1000000x32xf32>", 1);
  EXPECT_EQ(many.text(gpu()), "sort results=0 chunk=32 grain=8 run=8 lines=64 threads=256 ns=1");
  EXPECT_EQ(sortOf("tensor<1000000x2xf32>", 1).text(gpu()),
            "sort results=0 chunk=2 grain=8 run=2 lines=512 threads=128 ns=1");
}

TEST(DataScheduler, work_items_sort_by_insertion_where_there_are_no_groups) {
  DataOp sort = sortOf("tensor<100000xf32>", 0);
  EXPECT_EQ(sort.text(elementsOnly()), "sort results=0 chunk=16 grain=16 run=16 ns=1");
  EXPECT_EQ(sort.reason(), "groups: the device has none");
  EXPECT_EQ(fftOf("tensor<512x64xcomplex<f32>>", 64).text(elementsOnly()),
            "fft results=0 along=1 factors=16 ns=1; fft results=0 along=1 factors=4 ns=1");
  TargetModel small = gpu();
  small.localBytes = 1024;
  EXPECT_EQ(sort.text(small), "sort results=0 chunk=16 grain=16 run=16 ns=1");
  EXPECT_EQ(sort.reason(), "groups: a tile of 256 does not fit");
}

TEST(DataScheduler, an_edited_sort_is_verified) {
  DataOp one = sortOf("tensor<100000xf32>", 0);
  auto problem = [&](const std::string& rest) {
    return one.problemWith("sort results=0 " + rest, gpu());
  };
  EXPECT_EQ(problem("chunk=2048 grain=8 run=4 threads=256"), "");
  EXPECT_EQ(problem("chunk=16 grain=16 run=16"), "");
  EXPECT_EQ(problem("chunk=32 grain=64 run=32"), "");
  EXPECT_THAT(problem("chunk=1000 grain=8 run=8 threads=128"), HasSubstr("powers of two"));
  EXPECT_THAT(problem("chunk=1024 grain=8 run=8 threads=256"),
              HasSubstr("threads times grain must be lines times chunk"));
  EXPECT_THAT(problem("chunk=1024 grain=8 run=8 threads=100"), HasSubstr("power of two"));
  EXPECT_THAT(problem("chunk=8192 grain=32 run=8 threads=256"), HasSubstr("does not fit"));
  EXPECT_THAT(problem("chunk=4096 grain=16 run=8 threads=512"), HasSubstr("up to 256"));
  EXPECT_THAT(problem("chunk=1024 grain=8 run=16 threads=128"), HasSubstr("run must be"));
  EXPECT_THAT(problem("chunk=1024 grain=4 run=4 lines=2 threads=512"), HasSubstr("up to 256"));
  EXPECT_THAT(problem("chunk=512 grain=8 run=4 lines=2 threads=128"), HasSubstr("groups apart"));
  EXPECT_THAT(problem("chunk=4611686018427387904 grain=8 run=8 threads=128"),
              HasSubstr("a row has"));
  EXPECT_THAT(problem("chunk=16 grain=24 run=16"), HasSubstr("multiple of run"));
  EXPECT_THAT(problem("chunk=32 grain=16 run=16"), HasSubstr("chunk and run"));
  EXPECT_THAT(problem("chunk=1024 grain=8 run=8 lines=4611686018427387904 threads=128"),
              HasSubstr("groups apart"));
  EXPECT_THAT(sortOf("tensor<9x4xf32>", 1)
                  .problemWith("sort results=0 chunk=4 grain=4 run=4 lines=4611686018427387904 "
                               "threads=128",
                               gpu()),
              HasSubstr("does not fit"));
  EXPECT_THAT(problem("chunk=1024 grain=8 run=8 threads=128 lanes=4"), HasSubstr("no such field"));
  EXPECT_THAT(one.problemWith("top_k results=0 chunk=16", gpu()), HasSubstr("another"));
  EXPECT_THAT(one.problemWith("sort results=0,1 chunk=16 grain=16 run=16", gpu()),
              HasSubstr("another"));
  EXPECT_THAT(one.problemWith("sort results=0 tiles", gpu()), HasSubstr("'tiles'"));
  EXPECT_THAT(one.problemWithAll({"sort results=0 chunk=16 grain=16 run=16",
                                  "sort results=0 chunk=16 grain=16 run=16"},
                                 gpu()),
              HasSubstr("one stage"));
  DataOp pairs = sortOf("tensor<1000x2xf32>", 1);
  EXPECT_THAT(
      pairs.problemWith("sort results=0 chunk=2 grain=8 run=1 lines=512 threads=128", gpu()),
      HasSubstr("of one row"));
  EXPECT_THAT(one.problemWith("sort results=0 chunk=1024 grain=8 run=8 threads=2", elementsOnly()),
              HasSubstr("no groups of threads"));
}

TEST(DataScheduler, groups_select_from_parts_whose_largest_are_selected_from) {
  // Of 16 elements of each of the threads with the 40 largest, 640 are sorted.
  DataOp few = topKOf(8, 100'000, 40);
  EXPECT_EQ(few.text(gpu()),
            "top_k results=0,1 lanes=4 chunk=3128 grain=4 threads=256 ns=1; "
            "top_k results=0,1 chunk=1280 grain=4 threads=256 ns=1");
  DataOp many = topKOf(8192, 1000, 3);
  EXPECT_EQ(many.text(gpu()), "top_k results=0,1 lanes=4 chunk=1000 threads=256 ns=1");
  EXPECT_EQ(many.reason(), "whole rows");
  // A driver of OpenCL C has no vectors.
  TargetModel scalar = gpu();
  scalar.threadBits = 0;
  EXPECT_EQ(many.text(scalar), "top_k results=0,1 chunk=1000 grain=4 threads=256 ns=1");
  EXPECT_FALSE(isDataOp(few.op(), elementsOnly()));
  EXPECT_THAT(topKOf(8, 1000, 300).text(gpu()), HasSubstr("no kernel selects so many"));
}

TEST(DataScheduler, an_edited_selection_is_verified) {
  DataOp few = topKOf(8, 100'000, 40);
  auto problem = [&](const std::string& first, const std::string& second) {
    return few.problemWithAll({"top_k results=0,1 " + first, "top_k results=0,1 " + second}, gpu());
  };
  EXPECT_EQ(problem("lanes=2 chunk=2000 grain=2 threads=128", "chunk=2000 threads=64"), "");
  EXPECT_THAT(problem("chunk=3128 threads=256", "chunk=640 threads=256"),
              HasSubstr("a stage must follow"));
  EXPECT_THAT(problem("chunk=3128 threads=256", "chunk=1281 threads=256"),
              HasSubstr("from 1 to 1280"));
  EXPECT_THAT(problem("chunk=60 threads=256", "chunk=60 threads=256"), HasSubstr("twice as many"));
  EXPECT_THAT(problem("chunk=3128 threads=32", "chunk=1280 threads=256"),
              HasSubstr("threads for the 40 largest"));
  EXPECT_THAT(problem("chunk=3128 lanes=16 threads=256", "chunk=1280 threads=256"),
              HasSubstr("vectors of so many lanes"));
  EXPECT_THAT(problem("chunk=3128 threads=256", "lanes=2 chunk=1280 threads=256"),
              HasSubstr("vectors of so many lanes"));
  TargetModel scalar = gpu();
  scalar.threadBits = 0;
  EXPECT_THAT(few.problemWithAll({"top_k results=0,1 lanes=2 chunk=2000 grain=2 threads=128",
                                  "top_k results=0,1 chunk=2000 threads=64"},
                                 scalar),
              HasSubstr("vectors of so many lanes"));
  EXPECT_THAT(problem("chunk=3128 grain=17 threads=256", "chunk=1280 threads=256"),
              HasSubstr("grain must be"));
  EXPECT_THAT(problem("chunk=50000 threads=256", "chunk=80 threads=256"),
              HasSubstr("does not fit"));
  EXPECT_THAT(topKOf(1, 100, 4).problemWithAll({"top_k results=0,1 chunk=100 threads=64",
                                                "top_k results=0,1 chunk=4 threads=64"},
                                               gpu()),
              HasSubstr("a stage follows"));
}

TEST(DataScheduler, groups_transform_lines_that_fit_their_memory) {
  DataOp fits = fftOf("tensor<512x1024xcomplex<f32>>", 1024);
  EXPECT_EQ(fits.text(gpu()), "fft results=0 along=1 factors=16,16,4 threads=64 ns=1");
  EXPECT_EQ(fits.reason(), "lines fit groups' memory");
  // Where there are enough, several lines of a group.
  EXPECT_EQ(fftOf("tensor<65536x64xcomplex<f32>>", 64).text(gpu()),
            "fft results=0 along=1 factors=16,4 lines=16 threads=64 ns=1");
  DataOp large = fftOf("tensor<512x4096xcomplex<f32>>", 4096);
  EXPECT_EQ(large.text(gpu()),
            "fft results=0 along=1 factors=16 ns=1; fft results=0 along=1 factors=16 ns=1; "
            "fft results=0 along=1 factors=16 ns=1");
  EXPECT_EQ(large.reason(), "groups along 1: a line does not fit a group's memory");
  EXPECT_EQ(fftOf("tensor<512x34xcomplex<f32>>", 34).text(gpu()),
            "fft results=0 along=1 factors=17 ns=1; fft results=0 along=1 factors=2 ns=1");
  EXPECT_THAT(fftOf("tensor<512x257xcomplex<f32>>", 257).text(gpu()),
              HasSubstr("dimension of 257"));
}

TEST(DataScheduler, an_edited_transform_is_verified) {
  DataOp fft = fftOf("tensor<512x64xcomplex<f32>>", 64);
  auto problem = [&](const std::string& rest) {
    return fft.problemWith("fft results=0 " + rest, gpu());
  };
  EXPECT_EQ(problem("along=1 factors=8,8 lines=2 threads=32"), "");
  EXPECT_EQ(problem("along=1 factors=2,4,8 lines=3 threads=20"), "");
  EXPECT_EQ(problem("along=1 factors=64"), "");
  EXPECT_EQ(fft.problemWithAll(
                {"fft results=0 along=1 factors=32", "fft results=0 along=1 factors=2"}, gpu()),
            "");
  EXPECT_THAT(problem("along=1 factors=8,4 threads=32"), HasSubstr("make 32, expected 64"));
  EXPECT_THAT(problem("along=1 factors=8,16 threads=32"), HasSubstr("more than the dimension"));
  EXPECT_THAT(problem("along=1 factors=8,0 threads=32"), HasSubstr("factors must be from 1"));
  EXPECT_THAT(problem("along=0 factors=8,8 threads=32"), HasSubstr("dimension 1"));
  EXPECT_THAT(problem("along=1 factors=8,8"), HasSubstr("one factor in each stage"));
  EXPECT_THAT(problem("along=1 factors=32,2 threads=32"), HasSubstr("a factor of 32"));
  EXPECT_THAT(problem("along=1 factors=8,8 lines=64 threads=32"), HasSubstr("so many lines"));
  EXPECT_THAT(problem("along=1 factors=8,8 lines=0 threads=32"), HasSubstr("so many lines"));
  EXPECT_THAT(problem("along=1 factors=8,8 lines=32 threads=2"), HasSubstr("registers"));
  EXPECT_THAT(problem("along=1 factors=8,8 threads=257"), HasSubstr("up to 256"));
  EXPECT_THAT(fft.problemWithAll({"fft results=0 along=1 factors=8,8 threads=32",
                                  "fft results=0 along=1 factors=1"},
                                 gpu()),
              HasSubstr("all factors of a dimension"));
  EXPECT_THAT(fft.problemWithAll({"fft results=0 along=1 factors=8,8 threads=32",
                                  "fft results=0 along=0 factors=1"},
                                 gpu()),
              HasSubstr("no further dimension"));
}

TEST(DataScheduler, there_are_none_of_operations_that_the_host_does) {
  DataOp sort = sortOf("tensor<100xf32>", 0);
  EXPECT_TRUE(isDataOp(sort.op(), gpu()));
  EXPECT_FALSE(isDataOp(sort.op(), TargetModel()));
  // Nothing to compute has no stage, and cannot be given one.
  DataOp none = sortOf("tensor<0xf32>", 0);
  EXPECT_EQ(none.text(gpu()), "");
  EXPECT_THAT(none.problemWith("sort results=0 chunk=16 grain=16 run=16", gpu()),
              HasSubstr("nothing to compute"));
}

}  // namespace
}  // namespace isthmus

// Who multiplies on which device, and what an edited schedule may say of it.
#include "compiler/schedule/products/product_scheduler.h"

#include <gtest/gtest.h>

#include "backends/cuda/target/nvidia.h"
#include "compiler/dialect/dialect.h"
#include "compiler/schedule/op_schedule.h"
#include "compiler/schedule/schedule_pass.h"
#include "compiler/target/portable_cpu.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

namespace isthmus {
namespace {

class Product {
 public:
  // lhs x rhs of (rows, terms) and (terms, columns).
  Product(int64_t rows, int64_t columns, int64_t terms, const std::string& type,
          const std::string& result)
      : context_(mlir::MLIRContext::Threading::DISABLED) {
    loadAllDialects(context_);
    auto array = [](int64_t a, int64_t b, const std::string& element) {
      return "tensor<" + std::to_string(a) + "x" + std::to_string(b) + "x" + element + ">";
    };
    std::string lhs = array(rows, terms, type), rhs = array(terms, columns, type);
    std::string out = array(rows, columns, result);
    module_ = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @main(%a: " + lhs + ", %b: " + rhs + ") -> " + out +
            " {\n%r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (" + lhs + ", " +
            rhs + ") -> " + out + "\nreturn %r : " + out + "\n}\n",
        &context_);
    module_->walk([&](shlo::DotGeneralOp found) { op_ = found; });
  }

  mlir::ModuleOp module() { return *module_; }
  mlir::Operation* op() { return op_; }
  std::string text(const TargetModel& target) {
    DotStage stage = chooseProduct(op_, target, nullptr, &reason_);
    stage.ns = 1;
    // What is printed is what was chosen, and may be.
    StatusOr<StageSchedule> parsed = parseStageSchedule(toString(stage));
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(*parsed, stage) << toString(stage);
    EXPECT_EQ(productRefusal(op_, stage, target), "");
    return toString(stage);
  }
  const std::string& reason() const { return reason_; }
  // What is said of an edited schedule, as the attribute of the operation.
  std::string problemWith(const std::string& text, const TargetModel& target) {
    mlir::Builder builder(&context_);
    op_->setAttr(kOpScheduleName, builder.getArrayAttr({builder.getStringAttr(text)}));
    StatusOr<DotStage> stage = productScheduleOf(op_, target);
    op_->removeAttr(kOpScheduleName);
    return stage.ok() ? "" : std::string(stage.status().message());
  }

 private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::Operation* op_ = nullptr;
  std::string reason_;
};

TargetModel matrixDevice() {
  TargetModel target = gpuTarget("spirv64-unknown-unknown");
  target.products.unit = ProductUnit::kSubgroups;
  target.products.instructionRows = 8;
  target.products.instructionColumns = 16;
  target.products.instructionBytes = 32;
  return target;
}

TEST(ProductScheduler, groups_have_large_tiles_where_there_are_enough_of_them) {
  TargetModel gpu = gpuTarget("spirv64-unknown-unknown");
  Product large(2048, 1024, 512, "f32", "f32");
  EXPECT_EQ(large.text(gpu),
            "dot results=0 of=0 form=groups tile=128x128x16 each=8x8 threads=256 ns=1");
  EXPECT_EQ(large.reason(),
            "tensors: the device has none; matrices: the device has no instruction for them; "
            "large tiles, of which there are 128, at least 128");
  gpu.products.enoughGroups = 129;
  EXPECT_EQ(large.text(gpu),
            "dot results=0 of=0 form=groups tile=64x64x16 each=4x4 threads=256 ns=1");
  EXPECT_NE(large.reason().find("small tiles, since of large ones there were 128 of 129"),
            std::string::npos);
}

TEST(ProductScheduler, each_unit_has_its_form) {
  Product narrow(512, 512, 512, "bf16", "bf16");
  EXPECT_EQ(narrow.text(cuda::nvidiaTarget(80)),
            "dot results=0 of=0 form=tensors tile=64x64x32 each=32x32 threads=128 ns=1");
  EXPECT_EQ(narrow.text(matrixDevice()),
            "dot results=0 of=0 form=matrices tile=32x32x16 threads=128 ns=1");
  EXPECT_EQ(narrow.text(portableCpuTarget("spirv64-unknown-unknown", 512)),
            "dot results=0 of=0 form=vectors each=8x2 copies=rows,columns lanes=16 grain=8 ns=1");
  Product wide(512, 512, 512, "f32", "f32");
  EXPECT_NE(wide.text(cuda::nvidiaTarget(80)).find("form=groups"), std::string::npos);
  EXPECT_NE(wide.reason().find("tensors: they do not multiply these types as exactly"),
            std::string::npos);
}

TEST(ProductScheduler, results_of_few_terms_are_stored_in_long_stretches) {
  TargetModel cpu = portableCpuTarget("spirv64-unknown-unknown", 512);
  Product outer(2000, 2000, 8, "f32", "f32");
  EXPECT_EQ(outer.text(cpu), "dot results=0 of=0 form=vectors each=2x8 lanes=16 grain=250 ns=1");
}

TEST(ProductScheduler, few_lines_are_shared) {
  TargetModel gpu = gpuTarget("spirv64-unknown-unknown");
  Product vector(1, 64, 65536, "f32", "f32");
  EXPECT_EQ(vector.text(gpu),
            "dot results=0 of=0 form=lines tile=32x1x512 splits=128 threads=256 ns=1");
  Product few(3, 5, 7, "f32", "f32");
  EXPECT_EQ(few.text(gpu), "dot results=0 of=0 form=items each=3x1 ns=1");
}

TEST(ProductScheduler, a_library_comes_first) {
  Product product(512, 512, 512, "f32", "f32");
  DotStage stage =
      chooseProduct(product.op(), cuda::nvidiaTarget(80), [](mlir::Operation*) { return true; });
  EXPECT_EQ(stage.product.form, ProductForm::kLibrary);
}

TEST(ProductScheduler, edited_tiles_are_verified) {
  TargetModel gpu = gpuTarget("spirv64-unknown-unknown");
  Product product(512, 512, 512, "f32", "f32");
  auto problem = [&](const char* text) {
    return product.problemWith(std::string("dot results=0 of=0 ") + text, gpu);
  };
  EXPECT_EQ(problem("form=groups tile=64x128x16 each=4x8 threads=256"), "");
  EXPECT_EQ(problem("form=groups tile=64x64x32 each=4x4 threads=256"), "");
  EXPECT_EQ(problem("form=items each=4x2"), "");
  auto has = [&](const char* text, const char* expected) {
    EXPECT_NE(problem(text).find(expected), std::string::npos) << problem(text);
  };
  has("form=groups tile=64x64x16 each=4x8 threads=256", "a tile is of 16 x 16 threads");
  has("form=groups tile=256x256x16 each=16x16 threads=256", "do not fit a thread's registers");
  has("form=groups tile=128x128x64 each=8x8 threads=256", "does not fit a group's memory");
  has("form=groups tile=64x64x12 each=4x4 threads=256", "must be a power of two");
  has("form=groups tile=64x64x0 each=4x4 threads=256", "must be a power of two");
  has("form=tensors tile=64x64x32 each=32x32 threads=128", "the device has none");
  has("form=vectors each=8x2 lanes=16", "threads are the lanes");
  has("form=lines tile=32x1x512 threads=256", "neither operand has few lines");
  has("form=nobody", "is not understood");
  EXPECT_NE(product.problemWith("dot results=1 of=0 form=items each=4x2", gpu), "");

  Product narrow(512, 512, 512, "bf16", "bf16");
  auto onWarps = [&](const char* text) {
    return narrow.problemWith(std::string("dot results=0 of=0 form=tensors ") + text,
                              cuda::nvidiaTarget(80));
  };
  EXPECT_EQ(onWarps("tile=128x64x32 each=64x32 threads=128"), "");
  EXPECT_NE(onWarps("tile=128x64x32 each=64x32 threads=256"), "");
  EXPECT_NE(onWarps("tile=128x64x16 each=64x32 threads=128"), "");
  EXPECT_NE(onWarps("tile=256x256x32 each=64x64 threads=512"), "");
  EXPECT_NE(onWarps("tile=128x128x32 each=128x128 threads=32"), "");

  TargetModel cpu = portableCpuTarget("spirv64-unknown-unknown", 512);
  auto inVectors = [&](const char* text) {
    return product.problemWith(std::string("dot results=0 of=0 form=vectors ") + text, cpu);
  };
  EXPECT_EQ(inVectors("each=8x3 copies=columns lanes=16 grain=2"), "");
  EXPECT_EQ(inVectors("each=8x3 lanes=16"), "");
  EXPECT_NE(inVectors("each=8x3 lanes=8"), "");
  EXPECT_NE(inVectors("each=0x3 lanes=16"), "");
  EXPECT_NE(inVectors("each=80x3 lanes=16"), "");
  EXPECT_NE(inVectors("each=8x3 with=terms lanes=16"), "");
  EXPECT_NE(inVectors("each=8x3 lanes=16 grain=100"), "");
}

TEST(ProductScheduler, the_pass_writes_it_into_the_program) {
  Product product(512, 512, 512, "f32", "f32");
  mlir::PassManager passes(product.module().getContext());
  passes.addPass(createSchedulePass(gpuTarget("spirv64-unknown-unknown")));
  ASSERT_TRUE(mlir::succeeded(passes.run(product.module())));
  auto texts = product.op()->getAttrOfType<mlir::ArrayAttr>(kOpScheduleName);
  ASSERT_TRUE(texts);
  EXPECT_TRUE(llvm::cast<mlir::StringAttr>(texts[0]).getValue().starts_with(
      "dot results=0 of=0 form=groups"));
}

TEST(ProductScheduler, the_cpu_backend_has_functions_of_its_own) {
  Product product(512, 512, 512, "f32", "f32");
  mlir::PassManager passes(product.module().getContext());
  passes.addPass(createSchedulePass(TargetModel()));
  ASSERT_TRUE(mlir::succeeded(passes.run(product.module())));
  EXPECT_FALSE(product.op()->hasAttr(kOpScheduleName));
}

}  // namespace
}  // namespace isthmus

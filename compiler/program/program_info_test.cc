// Which outputs donated parameters are given, and where outputs come from, also of programs with
// tens of thousands of them.
#include "compiler/program/program_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

namespace isthmus {
namespace {

using ::testing::ElementsAre;

class ProgramInfoTest : public testing::Test {
 protected:
  ProgramInfoTest() {
    context_.loadDialect<mlir::func::FuncDialect>();
    context_.allowUnregisteredDialects();
  }

  ProgramInfo describe(mlir::ModuleOp module) {
    ProgramInfo info;
    Status described = describeProgram(*module.getOps<mlir::func::FuncOp>().begin(), info);
    EXPECT_TRUE(described.ok()) << described.message();
    return info;
  }

  // A function whose results are those of one operation, which has `size` operations inside. All
  // parameters are donors.
  mlir::OwningOpRef<mlir::ModuleOp> donors(const std::vector<mlir::Type>& parameters,
                                           const std::vector<mlir::Type>& results, int size) {
    mlir::OpBuilder builder(&context_);
    const mlir::Location location = mlir::FileLineColLoc::get(&context_, "model.py", 7, 1);
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(location);
    builder.setInsertionPointToEnd(module->getBody());
    auto main = mlir::func::FuncOp::create(builder, location, "main",
                                           builder.getFunctionType(parameters, results));
    const mlir::NamedAttribute donor =
        builder.getNamedAttr("jax.buffer_donor", builder.getBoolAttr(true));
    main.setAllArgAttrs(
        std::vector<mlir::DictionaryAttr>(parameters.size(), builder.getDictionaryAttr(donor)));
    builder.setInsertionPointToEnd(main.addEntryBlock());
    mlir::OperationState loop(location, "test.loop");
    loop.addTypes(results);
    mlir::Block& body = loop.addRegion()->emplaceBlock();
    mlir::Operation* made = builder.create(loop);
    mlir::func::ReturnOp::create(builder, location, made->getResults());
    builder.setInsertionPointToEnd(&body);
    for (int i = 0; i < size; ++i) builder.create(mlir::OperationState(location, "test.op"));
    return module;
  }

  mlir::MLIRContext context_;
};

std::vector<int> aliasedOutputs(const ProgramInfo& info) {
  std::vector<int> outputs;
  for (const ParameterSpec& parameter : info.parameters) {
    EXPECT_EQ(parameter.donation,
              parameter.aliasedOutput < 0 ? DonationKind::kNone : DonationKind::kMustAlias);
    outputs.push_back(parameter.aliasedOutput);
  }
  return outputs;
}

// In the order of parameters: the first free output of the type; then, of what is left, the first
// of the size and the kind of memory. What another parameter names is not free.
TEST_F(ProgramInfoTest, donors_take_the_first_free_output_of_their_type_else_of_their_size) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
    func.func @main(%a: tensor<4xi32> {jax.buffer_donor = true},
                    %b: tensor<4xf32> {jax.buffer_donor = true},
                    %c: tensor<4xf32> {tf.aliasing_output = 1 : i32},
                    %d: tensor<2x2xf32> {jax.buffer_donor = true},
                    %e: tensor<4xf32> {jax.buffer_donor = true},
                    %f: tensor<8xf32> {jax.buffer_donor = true},
                    %g: tensor<0xf32> {jax.buffer_donor = true},
                    %h: tensor<4xf32>,
                    %i: tensor<4xf32> {jax.buffer_donor = true, mhlo.memory_kind = "pinned_host"},
                    %j: tensor<4xf32> {jax.buffer_donor = true})
        -> (tensor<2xf64>, tensor<4xf32>, tensor<4xf32>, tensor<16xi8>, tensor<0xf32>,
            tensor<4xf32>, tensor<4xf32> {mhlo.memory_kind = "pinned_host"}) {
      %0:7 = "test.op"() : () -> (tensor<2xf64>, tensor<4xf32>, tensor<4xf32>, tensor<16xi8>,
                                  tensor<0xf32>, tensor<4xf32>, tensor<4xf32>)
      return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6
          : tensor<2xf64>, tensor<4xf32>, tensor<4xf32>, tensor<16xi8>, tensor<0xf32>,
            tensor<4xf32>, tensor<4xf32>
    })",
                                                        &context_);
  ASSERT_TRUE(module);
  EXPECT_THAT(aliasedOutputs(describe(*module)), ElementsAre(0, 2, 1, 3, 5, -1, -1, -1, 6, -1));
}

// Time of this process, which others' work does not lengthen.
class ProcessTime {
 public:
  double seconds() const { return static_cast<double>(std::clock() - begin_) / CLOCKS_PER_SEC; }

 private:
  std::clock_t begin_ = std::clock();
};

// Half of the donors find outputs of their type, at the end; the others none, not even of their
// size.
TEST_F(ProgramInfoTest, matches_tens_of_thousands_of_donors_in_little_time) {
  constexpr int kCount = 60'000;
  mlir::OpBuilder builder(&context_);
  auto of = [&](int64_t size) -> mlir::Type {
    return mlir::RankedTensorType::get({size}, builder.getF32Type());
  };
  std::vector<mlir::Type> parameters, results(kCount, of(3));
  for (int i = 0; i < kCount; ++i) {
    parameters.push_back(of(2 + i % 2 * 3));
    if (i % 2 == 0) results.push_back(of(2));
  }
  auto module = donors(parameters, results, 1);
  ProcessTime time;
  ProgramInfo info = describe(*module);
  EXPECT_LT(time.seconds(), 3);  // 0.1; 26 if each donor looks at all outputs
  for (int i = 0; i < kCount; ++i) {
    const int expected = i % 2 == 0 ? kCount + i / 2 : -1;
    ASSERT_EQ(info.parameters[i].aliasedOutput, expected) << i;
  }
}

TEST_F(ProgramInfoTest, looks_once_where_the_results_of_a_loop_come_from) {
  const mlir::Type type = mlir::RankedTensorType::get({2}, mlir::Float32Type::get(&context_));
  auto module = donors({}, std::vector<mlir::Type>(20'000, type), 20'000);
  ProcessTime time;
  ProgramInfo info = describe(*module);
  EXPECT_LT(time.seconds(), 3);  // 0.02; 31 if each looks for itself
  for (const BufferSpec& output : info.outputs) ASSERT_EQ(output.source, "model.py:7:1");
}

}  // namespace
}  // namespace isthmus

// Which fusions are convolutions with an epilogue of cuDNN's, and which are not.
#include "backends/cuda/kernels/dnn_epilogue.h"

#include <gtest/gtest.h>

#include "compiler/dialect/dialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

namespace isthmus::cuda {
namespace {

// As cuDNN has them.
struct Layout {
  std::string image, kernel, result, numbers, features;
};
const Layout kLast = {"2x7x7x8", "24x3x3x8", "2x5x5x24", "[b, 0, 1, f]x[o, 0, 1, i]->[b, 0, 1, f]",
                      "3"};
const Layout kFirst = {"2x8x7x7", "24x8x3x3", "2x24x5x5", "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]",
                       "1"};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// A fusion of %residual, %w, %bias and %x; %sums is the convolution, and `body` computes %r. Y is
// the type of results, B that of biases, F the features' dimension.
std::string textOf(const std::string& body, const std::string& type, const Layout& layout,
                   const std::string& bias) {
  std::string text = R"(
func.func @main(%a: Y, %b: W, %c: B, %d: X) -> Y {
  %0 = "isthmus.fusion"(%a, %b, %c, %d) ({
  ^bb0(%residual: Y, %w: W, %bias: B, %x: X):
    %sums = stablehlo.convolution(%x, %w) dim_numbers = NUMBERS, window = {}
        {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (X, W) -> Y
    )" + body + R"(
    isthmus.yield %r : Y
  }) : (Y, W, B, X) -> Y
  return %0 : Y
})";
  text = replaced(text, "NUMBERS", layout.numbers);
  text = replaced(text, "dims = [F]", "dims = [" + layout.features + "]");
  auto tensor = [&](const std::string& dims) { return "tensor<" + dims + "x" + type + ">"; };
  // Types are single letters between what no name has.
  for (const auto& [letter, full] : {std::pair{"Y", tensor(layout.result)},
                                     {"W", tensor(layout.kernel)},
                                     {"B", tensor(bias)},
                                     {"X", tensor(layout.image)}}) {
    for (const char* before : {": ", "(", ", ", "> "}) {
      for (const char* after : {",", ")", " ", "\n"}) {
        text = replaced(text, std::string(before) + letter + after, before + full + after);
      }
    }
  }
  return text;
}

// "residual and bias and ReLU of 3 1 0 2", or "none".
std::string read(const std::string& body, const Layout& layout = kLast,
                 const std::string& type = "f32", const std::string& bias = "24") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadAllDialects(context);
  const std::string text = textOf(body, type, layout, bias);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  std::optional<DnnFusion> found;
  if (module) module->walk([&](ir::FusionOp fusion) { found = dnnFusionOf(fusion, false); });
  if (!found) return "none";
  EXPECT_TRUE(isValid(found->convolution));
  EXPECT_EQ(found->operands.size() + 1, found->convolution.bufferElements().size());
  std::string said = found->convolution.epilogue.toString() + " of";
  for (unsigned operand : found->operands) said += " " + std::to_string(operand);
  return said;
}

const std::string kWide = "%wide = stablehlo.broadcast_in_dim %bias, dims = [F] : (B) -> Y\n";
const std::string kBias = kWide + "%v = stablehlo.add %sums, %wide : Y\n";
// Of %v.
const std::string kResidual = "%u = stablehlo.add %residual, %v : Y\n";
const std::string kRelu =
    "%zero = stablehlo.constant dense<0.0> : Y\n%r = stablehlo.maximum %u, %zero : Y\n";

TEST(DnnEpilogue, those_that_cudnn_may_have) {
  for (const Layout& layout : {kLast, kFirst}) {
    for (const char* type : {"f32", "bf16", "f16"}) {
      EXPECT_EQ(read(replaced(kBias, "%v", "%r"), layout, type), "bias of 3 1 2");
      EXPECT_EQ(read(kBias + replaced(kRelu, "%u", "%v"), layout, type), "bias and ReLU of 3 1 2");
      EXPECT_EQ(read(replaced(kRelu, "%u", "%sums"), layout, type), "ReLU of 3 1");
      EXPECT_EQ(read(kBias + kResidual + kRelu, layout, type),
                "residual and bias and ReLU of 3 1 0 2");
    }
  }
  // The residual first, or alone.
  EXPECT_EQ(read("%v = stablehlo.add %sums, %residual : Y\n" + kWide +
                 "%r = stablehlo.add %wide, %v : Y\n"),
            "residual and bias of 3 1 0 2");
  EXPECT_EQ(read("%r = stablehlo.add %sums, %residual : Y\n"), "residual of 3 1 0");
}

TEST(DnnEpilogue, others_are_none) {
  EXPECT_EQ(read("%r = stablehlo.tanh %sums : Y"), "none");
  EXPECT_EQ(read("%r = stablehlo.add %sums, %sums : Y"), "none");
  EXPECT_EQ(read("%r = stablehlo.add %residual, %residual : Y"), "none");
  EXPECT_EQ(read("%r = stablehlo.subtract %sums, %residual : Y"), "none");
  EXPECT_EQ(read(replaced(kBias, "%v", "%q") + "%r = stablehlo.add %q, %wide : Y"), "none");
  EXPECT_EQ(read(replaced(replaced(kRelu, "%u", "%sums"), "maximum", "minimum")), "none");
  EXPECT_EQ(read(replaced(replaced(kRelu, "%u", "%sums"), "0.0", "1.0")), "none");
  // What is added afterwards.
  EXPECT_EQ(read(replaced(replaced(kRelu, "%u", "%sums"), "%r", "%q") +
                 "%r = stablehlo.add %q, %residual : Y"),
            "none");
}

TEST(DnnEpilogue, a_bias_is_for_each_feature) {
  auto bias = [](const std::string& dims) {
    return "%wide = stablehlo.broadcast_in_dim %bias, dims = [" + dims +
           "] : (B) -> Y\n%r = stablehlo.add %wide, %sums : Y\n";
  };
  EXPECT_EQ(read(bias("0, 1, 2, 3"), kLast, "f32", "1x1x1x24"), "bias of 3 1 2");
  EXPECT_EQ(read(bias("0, 1, 2, 3"), kFirst, "f32", "1x24x1x1"), "bias of 3 1 2");
  EXPECT_EQ(read(bias("2"), kLast, "f32", "5"), "none");
  EXPECT_EQ(read(bias("2, 3"), kLast, "f32", "5x24"), "none");
}

}  // namespace
}  // namespace isthmus::cuda

// Which fusions are products with an epilogue of cuBLASLt's, and which are not.
#include "backends/cuda/kernels/blas_epilogue.h"

#include <gtest/gtest.h>

#include "compiler/dialect/dialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

namespace isthmus::cuda {
namespace {

// A fusion of %x [64,128], %w [128,256], %b [256] and %other [64,256], of `type`; %sums is the
// product, of type `sums`. `body` computes %r.
struct Fusion {
  std::string type, body;
  std::string sums = "", bias = "tensor<256xTYPE>";
};

// TYPE and SUMS in a text are the types of elements.
std::string filled(std::string text, const Fusion& f) {
  auto replace = [&](const std::string& what, const std::string& by) {
    for (size_t at; (at = text.find(what)) != text.npos;) text.replace(at, what.size(), by);
  };
  replace("TYPE", f.type);
  replace("SUMS", f.sums.empty() ? f.type : f.sums);
  return text;
}

std::string textOf(const Fusion& f) {
  const std::string inputs =
      "tensor<64x128xTYPE>, " + f.bias + ", tensor<128x256xTYPE>, tensor<64x256xTYPE>";
  return filled("func.func @main(%a: tensor<64x128xTYPE>, %b: " + f.bias + R"(,
    %c: tensor<128x256xTYPE>, %d: tensor<64x256xTYPE>) -> tensor<64x256xTYPE> {
  %0 = "isthmus.fusion"(%a, %b, %c, %d) ({
  ^bb0(%x: tensor<64x128xTYPE>, %bias: )" +
                    f.bias + R"(, %w: tensor<128x256xTYPE>,
       %other: tensor<64x256xTYPE>):
    %sums = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<64x128xTYPE>, tensor<128x256xTYPE>) -> tensor<64x256xSUMS>
    )" + f.body + R"(
    isthmus.yield %r : tensor<64x256xTYPE>
  }) : ()" + inputs +
                    R"() -> tensor<64x256xTYPE>
  return %0 : tensor<64x256xTYPE>
})",
                f);
}

std::optional<BlasFusion> read(const Fusion& f) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadAllDialects(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(textOf(f), &context);
  EXPECT_TRUE(module) << textOf(f);
  std::optional<BlasFusion> found;
  if (module) module->walk([&](ir::FusionOp fusion) { found = blasFusionOf(fusion, false); });
  return found;
}

// "bias and ReLU of 0 2 1", or "none".
std::string textOf(const std::optional<BlasFusion>& found) {
  if (!found) return "none";
  std::string text = nameOf(found->product.epilogue) + " of";
  for (unsigned operand : found->operands) text += " " + std::to_string(operand);
  return text;
}

const std::string kBias = R"(
    %wide = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<256xTYPE>) -> tensor<64x256xTYPE>
    %v = stablehlo.add %sums, %wide : tensor<64x256xTYPE>)";
// Of %v.
const std::string kRelu = R"(
    %zero = stablehlo.constant dense<0.0> : tensor<TYPE>
    %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<TYPE>) -> tensor<64x256xTYPE>
    %r = stablehlo.maximum %zeros, %v : tensor<64x256xTYPE>)";

std::string gelu(const std::string& cubed = "4.471500e-02") {
  return R"(
    %k = stablehlo.constant dense<)" +
         cubed + R"(> : tensor<64x256xTYPE>
    %s = stablehlo.constant dense<0.7978845608> : tensor<64x256xTYPE>
    %one = stablehlo.constant dense<1.0> : tensor<64x256xTYPE>
    %half = stablehlo.constant dense<5.000000e-01> : tensor<64x256xTYPE>
    %g0 = stablehlo.multiply %v, %v : tensor<64x256xTYPE>
    %g1 = stablehlo.multiply %g0, %v : tensor<64x256xTYPE>
    %g2 = stablehlo.multiply %k, %g1 : tensor<64x256xTYPE>
    %g3 = stablehlo.add %v, %g2 : tensor<64x256xTYPE>
    %g4 = stablehlo.multiply %s, %g3 : tensor<64x256xTYPE>
    %g5 = stablehlo.tanh %g4 : tensor<64x256xTYPE>
    %g6 = stablehlo.add %one, %g5 : tensor<64x256xTYPE>
    %g7 = stablehlo.multiply %half, %g6 : tensor<64x256xTYPE>
    %r = stablehlo.multiply %v, %g7 : tensor<64x256xTYPE>)";
}

// What names a value of the body `by` another one.
std::string renamed(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST(BlasEpilogue, those_that_cublaslt_has) {
  for (const char* type : {"f32", "bf16", "f16"}) {
    EXPECT_EQ(textOf(read({type, renamed(kBias, "%v", "%r")})), "bias of 0 2 1");
    EXPECT_EQ(textOf(read({type, kBias + kRelu})), "bias and ReLU of 0 2 1");
    EXPECT_EQ(textOf(read({type, renamed(kRelu, "%v", "%sums")})), "ReLU of 0 2");
    const bool isNarrow = std::string(type) != "f32";
    EXPECT_EQ(textOf(read({type, kBias + gelu()})), isNarrow ? "bias and GELU of 0 2 1" : "none");
    EXPECT_EQ(textOf(read({type, renamed(gelu(), "%v", "%sums")})),
              isNarrow ? "GELU of 0 2" : "none");
  }
}

TEST(BlasEpilogue, others_are_none) {
  const std::string alone = "%r = stablehlo.tanh %sums : tensor<64x256xTYPE>";
  EXPECT_EQ(textOf(read({"bf16", alone})), "none");
  EXPECT_EQ(textOf(read({"bf16", kBias + gelu("4.0e-02")})), "none");
  // Another array than a bias; what is added afterwards; a minimum; another bound.
  EXPECT_EQ(textOf(read({"f32", "%r = stablehlo.add %sums, %other : tensor<64x256xTYPE>"})),
            "none");
  EXPECT_EQ(textOf(read({"f32", renamed(kBias + kRelu, "%r", "%q") +
                                    "\n%r = stablehlo.add %q, %other : tensor<64x256xTYPE>"})),
            "none");
  EXPECT_EQ(textOf(read({"f32", renamed(kBias + kRelu, "maximum", "minimum")})), "none");
  EXPECT_EQ(textOf(read({"f32", renamed(kBias + kRelu, "dense<0.0>", "dense<1.0>")})), "none");
  // A product of the sums with themselves is no bias, nor is the sum of two products.
  EXPECT_EQ(textOf(read({"f32", "%r = stablehlo.add %sums, %sums : tensor<64x256xTYPE>"})), "none");
  EXPECT_EQ(textOf(read({"f64", renamed(kBias, "%v", "%r")})), "none");
}

TEST(BlasEpilogue, a_bias_is_for_each_column) {
  auto broadcast = [](const std::string& bias, const std::string& dims) {
    return Fusion{"f32",
                  "%wide = stablehlo.broadcast_in_dim %bias, dims = [" + dims + "] : (" + bias +
                      ") -> tensor<64x256xTYPE>\n"
                      "%r = stablehlo.add %wide, %sums : tensor<64x256xTYPE>",
                  "", bias};
  };
  EXPECT_EQ(textOf(read(broadcast("tensor<1x256xTYPE>", "0, 1"))), "bias of 0 2 1");
  EXPECT_EQ(textOf(read(broadcast("tensor<64xTYPE>", "0"))), "none");
  EXPECT_EQ(textOf(read(broadcast("tensor<64x1xTYPE>", "0, 1"))), "none");
  EXPECT_EQ(textOf(read(broadcast("tensor<TYPE>", ""))), "none");
  // Columns of several dimensions, of which a bias has both.
  const std::string shaped = R"(
    %view = stablehlo.reshape %sums : (tensor<64x256xTYPE>) -> tensor<8x8x16x16xTYPE>
    %wide = stablehlo.broadcast_in_dim %bias, dims = [DIMS] : (tensor<16x16xTYPE>) -> tensor<8x8x16x16xTYPE>
    %sum = stablehlo.add %view, %wide : tensor<8x8x16x16xTYPE>
    %r = stablehlo.reshape %sum : (tensor<8x8x16x16xTYPE>) -> tensor<64x256xTYPE>)";
  EXPECT_EQ(textOf(read({"f32", renamed(shaped, "DIMS", "2, 3"), "", "tensor<16x16xTYPE>"})),
            "bias of 0 2 1");
  EXPECT_EQ(textOf(read({"f32", renamed(shaped, "DIMS", "3, 2"), "", "tensor<16x16xTYPE>"})),
            "none");
}

// As jax.numpy.dot(preferred_element_type=float32) has it.
TEST(BlasEpilogue, sums_in_f32_are_rounded_at_the_end) {
  const std::string body = R"(
    %b32 = stablehlo.convert %bias : (tensor<256xTYPE>) -> tensor<256xf32>
    %wide = stablehlo.broadcast_in_dim %b32, dims = [1] : (tensor<256xf32>) -> tensor<64x256xf32>
    %v = stablehlo.add %sums, %wide : tensor<64x256xf32>
    %zeros = stablehlo.constant dense<0.0> : tensor<64x256xf32>
    %m = stablehlo.maximum %v, %zeros : tensor<64x256xf32>
    %r = stablehlo.convert %m : (tensor<64x256xf32>) -> tensor<64x256xTYPE>)";
  std::optional<BlasFusion> found = read({"bf16", body, "f32"});
  EXPECT_EQ(textOf(found), "bias and ReLU of 0 2 1");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->product.result, BlasType::kBf16);
  EXPECT_EQ(found->product.columns, 256);
  // A bias in f32 is none that cuBLASLt adds to what it rounds to bf16.
  const std::string direct = body.substr(body.find("%wide"));
  EXPECT_EQ(textOf(read({"bf16", renamed(direct, "%b32", "%bias"), "f32", "tensor<256xf32>"})),
            "none");
}

}  // namespace
}  // namespace isthmus::cuda

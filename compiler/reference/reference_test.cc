// The evaluator's numbers against LLVM's soft floats, and its bounds.
#include <cmath>
#include <string>

#include "base/types/float_format.h"
#include "base/types/float_format_testing.h"
#include "compiler/dialect/dialect.h"
#include "compiler/reference/interpreter.h"
#include "compiler/reference/scalar/number_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "llvm/ADT/APFloat.h"
#include "mlir/Parser/Parser.h"

namespace isthmus::reference {
namespace {

struct Format {
  ElementType type;
  const llvm::fltSemantics& semantics;
};

std::vector<Format> smallFormats() {
  using llvm::APFloat;
  return {{ElementType::kF16, APFloat::IEEEhalf()},
          {ElementType::kBF16, APFloat::BFloat()},
          {ElementType::kF8E5M2, APFloat::Float8E5M2()},
          {ElementType::kF8E4M3, APFloat::Float8E4M3()},
          {ElementType::kF8E3M4, APFloat::Float8E3M4()},
          {ElementType::kF8E4M3FN, APFloat::Float8E4M3FN()},
          {ElementType::kF8E4M3B11FNUZ, APFloat::Float8E4M3B11FNUZ()},
          {ElementType::kF8E5M2FNUZ, APFloat::Float8E5M2FNUZ()},
          {ElementType::kF8E4M3FNUZ, APFloat::Float8E4M3FNUZ()},
          {ElementType::kF6E2M3FN, APFloat::Float6E2M3FN()},
          {ElementType::kF6E3M2FN, APFloat::Float6E3M2FN()},
          {ElementType::kF4E2M1FN, APFloat::Float4E2M1FN()}};
}

TEST(NumberFormat, DecodesEveryPattern) {
  for (const Format& format : smallFormats()) {
    auto bits = static_cast<unsigned>(bitWidth(format.type));
    for (uint64_t pattern = 0; pattern < uint64_t{1} << bits; ++pattern) {
      double expected =
          llvm::APFloat(format.semantics, llvm::APInt(bits, pattern)).convertToDouble();
      double got = decodeFloat(pattern, format.type);
      EXPECT_TRUE(got == expected || (std::isnan(got) && std::isnan(expected)))
          << elementTypeName(format.type) << " " << pattern << ": " << got << " for " << expected;
    }
  }
}

TEST(NumberFormat, RoundsToNearestEven) {
  for (const Format& format : smallFormats()) {
    double largest = llvm::APFloat::getLargest(format.semantics).convertToDouble();
    double smallest = llvm::APFloat::getSmallest(format.semantics).convertToDouble();
    // Numbers, and what lies between them and beside the ties.
    for (double x = smallest / 8; x <= largest; x *= 1.0078125) {
      for (double value : {x, -x, std::nextafter(x, 1e9)}) {
        bool isInexact = false;
        llvm::APFloat expected(value);
        expected.convert(format.semantics, llvm::APFloat::rmNearestTiesToEven, &isInexact);
        EXPECT_EQ(decodeFloat(encodeFloat(value, format.type), format.type),
                  expected.convertToDouble())
            << elementTypeName(format.type) << " " << value;
      }
    }
  }
}

// What collectives and the CPU's kernels convert by, which shares no code with the evaluator.
TEST(NumberFormat, AgreesWithTheOtherConversions) {
  for (ElementType type : kOneByteFloats) {
    const isthmus::FloatFormat& format = *floatFormatOf(type);
    auto expectSame = [&](double value) {
      EXPECT_EQ(encodeFloat(value, type), isthmus::encodeFloat(format, value))
          << elementTypeName(type) << " " << value;
    };
    const int codes = 1 << elementBits(type);
    for (int code = 0; code < codes; ++code) {
      const double value = decodeFloat(code, type);
      const double other = isthmus::decodeFloat(format, code);
      EXPECT_TRUE(value == other || (std::isnan(value) && std::isnan(other))) << code;
      EXPECT_EQ(std::signbit(value), std::signbit(other)) << elementTypeName(type) << " " << code;
      expectSame(value);
      // What lies between it and the next one: ties, and what is beside them.
      const double tie = (value + decodeFloat((code + 1) % codes, type)) / 2;
      for (double near : {tie, std::nextafter(tie, 1e300), std::nextafter(tie, -1e300)}) {
        expectSame(near);
      }
    }
  }
}

TEST(NumberFormat, KnownCodes) {
  for (const EncodedFloat& known : encodedFloats()) {
    for (size_t i = 0; i < std::size(kOneByteFloats); ++i) {
      EXPECT_EQ(encodeFloat(known.value, kOneByteFloats[i]), known.codes[i])
          << elementTypeName(kOneByteFloats[i]) << " " << known.value;
    }
  }
}

TEST(NumberFormat, WrapsIntegers) {
  EXPECT_EQ(static_cast<int64_t>(wrapInteger(200, ElementType::kS8)), -56);
  EXPECT_EQ(wrapInteger(300, ElementType::kU8), 44u);
  EXPECT_EQ(static_cast<int64_t>(wrapInteger(9, ElementType::kS4)), -7);
  EXPECT_EQ(wrapInteger(7, ElementType::kU2), 3u);
}

class InterpreterTest : public testing::Test {
 protected:
  InterpreterTest() : context_(mlir::MLIRContext::Threading::DISABLED) {
    loadAllDialects(context_);
  }

  StatusOr<std::vector<Value>> run(const std::string& text, InterpreterOptions options = {}) {
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context_));
    if (!module_) return invalidArgument("the program does not parse");
    return Interpreter(*module_, std::move(options))
        .run(module_->lookupSymbol<mlir::func::FuncOp>("main"), {});
  }

  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

TEST_F(InterpreterTest, EndlessLoopRunsOutOfSteps) {
  InterpreterOptions options;
  options.limits.steps = 1000;
  auto result = run(R"(func.func @main() -> tensor<i32> {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.while(%x = %0) : tensor<i32>
      cond { %t = stablehlo.constant dense<true> : tensor<i1>
             stablehlo.return %t : tensor<i1> }
      do { stablehlo.return %x : tensor<i32> }
    return %1 : tensor<i32>
  })",
                    options);
  EXPECT_EQ(result.status().code(), StatusCode::kResourceExhausted);
}

TEST_F(InterpreterTest, EndlessRecursionIsAnError) {
  auto result = run(R"(func.func @main() { call @main() : () -> ()
    return })");
  EXPECT_EQ(result.status().code(), StatusCode::kResourceExhausted);
}

TEST_F(InterpreterTest, LargeArraysRunOutOfMemory) {
  InterpreterOptions options;
  options.limits.maxBytes = 1000;
  auto result = run(R"(func.func @main() -> tensor<1000xf32> {
    %0 = stablehlo.iota dim = 0 : tensor<1000xf32>
    return %0 : tensor<1000xf32>
  })",
                    options);
  EXPECT_EQ(result.status().code(), StatusCode::kResourceExhausted);
}

TEST_F(InterpreterTest, MemoryComesBack) {
  InterpreterOptions options;
  options.limits.maxBytes = 20000;  // fewer than all iterations together take
  auto result = run(R"(func.func @main() -> tensor<i32> {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %end = stablehlo.constant dense<100> : tensor<i32>
    %1 = stablehlo.while(%x = %0) : tensor<i32>
      cond { %t = stablehlo.compare LT, %x, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
             stablehlo.return %t : tensor<i1> }
      do { %i = stablehlo.iota dim = 0 : tensor<1000xi32>
           %j = stablehlo.slice %i [1:2] : (tensor<1000xi32>) -> tensor<1xi32>
           %k = stablehlo.reshape %j : (tensor<1xi32>) -> tensor<i32>
           %y = stablehlo.add %x, %k : tensor<i32>
           stablehlo.return %y : tensor<i32> }
    return %1 : tensor<i32>
  })",
                    options);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ((*result)[0].tensor.integer(0), 100);
}

TEST_F(InterpreterTest, ErrorsNameTheOperation) {
  auto result = run(R"(func.func @main() -> tensor<f32> {
    %0 = stablehlo.custom_call @nobody() : () -> tensor<f32>
    return %0 : tensor<f32>
  })");
  EXPECT_EQ(result.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(result.status().message()), testing::HasSubstr("stablehlo.custom_call"));
}

}  // namespace
}  // namespace isthmus::reference

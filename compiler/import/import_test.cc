#include "compiler/import/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "compiler/import/diagnostics.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Bytecode/BytecodeWriter.h"

namespace isthmus {
namespace {

using testing::HasSubstr;
using testing::Not;

class ImportTest : public testing::Test {
 protected:
  // The program as text without locations, or the error's message.
  std::string import(std::string_view code, std::string_view format = "mlir") {
    auto module = importProgram(code, format, context_);
    status_ = module.status();
    if (!module.ok()) return "error: " + std::string(module.status().message());
    std::string text;
    llvm::raw_string_ostream out(text);
    (*module)->print(out);
    return text;
  }
  std::string importFile(const std::string& name) { return import(readFile(name)); }

  static std::string readFile(const std::string& name) {
    std::ifstream stream(std::filesystem::path(ISTHMUS_IMPORT_TESTDATA) / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }

  mlir::MLIRContext context_{mlir::MLIRContext::Threading::DISABLED};
  Status status_;
};

// What JAX's own printer says of the program that make_corpus.py lowers.
constexpr std::string_view kAddProgram =
    R"(module @jit_add attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<4xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %1 = stablehlo.multiply %0, %arg1 : tensor<4xf32>
    %2 = stablehlo.add %arg0, %1 : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
)";

TEST_F(ImportTest, PortableArtifactsOfEveryAge) {
  // Read from the text, for the names that the printer gives to values.
  const std::string expected = import(kAddProgram);
  ASSERT_TRUE(status_.ok()) << expected;
  EXPECT_EQ(importFile("add.1.17.0.mlirbc"), expected);
  EXPECT_EQ(importFile("add.0.12.0.mlirbc"), expected);
  EXPECT_EQ(importFile("add.0.9.0.mlirbc"), expected);
}

// The same program, written for two versions, is the same after the upgrade.
TEST_F(ImportTest, UpgradesAgree) {
  for (const auto& [older, newer] : {std::pair("train_step.1.0.0", "train_step.1.17.0"),
                                     std::pair("convolution.0.14.0", "convolution.1.17.0"),
                                     std::pair("control_flow.0.13.0", "control_flow.1.17.0")}) {
    const std::string text = importFile(std::string(newer) + ".mlirbc");
    EXPECT_THAT(text, Not(HasSubstr("error:")));
    EXPECT_EQ(importFile(std::string(older) + ".mlirbc"), text);
  }
}

TEST_F(ImportTest, EveryFileOfTheCorpus) {
  int numFiles = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ISTHMUS_IMPORT_TESTDATA)) {
    if (entry.path().extension() != ".mlirbc") continue;
    ++numFiles;
    const std::string text = importFile(entry.path().filename());
    EXPECT_TRUE(status_.ok()) << entry.path() << ": " << text;
    EXPECT_THAT(text, Not(HasSubstr("vhlo"))) << entry.path();
    EXPECT_THAT(text, Not(HasSubstr("unrealized_conversion_cast"))) << entry.path();
    // The text is the same program.
    EXPECT_EQ(import(text), text) << entry.path();
  }
  EXPECT_GE(numFiles, 19);
}

// What the artifact of the same program computes, as XLA's own converter says it in HLO.
TEST_F(ImportTest, HloProtos) {
  const std::string add = import(readFile("add.hlo"), "hlo");
  EXPECT_THAT(add, HasSubstr("func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> "
                             "tensor<4xf32>"));
  EXPECT_THAT(add, HasSubstr("stablehlo.broadcast_in_dim"));
  EXPECT_THAT(add, HasSubstr("stablehlo.multiply"));
  EXPECT_THAT(add, HasSubstr("stablehlo.add"));
  int numFiles = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ISTHMUS_IMPORT_TESTDATA)) {
    if (entry.path().extension() != ".hlo") continue;
    ++numFiles;
    const std::string text = import(readFile(entry.path().filename()), "hlo");
    EXPECT_TRUE(status_.ok()) << entry.path() << ": " << text;
    EXPECT_EQ(import(text), text) << entry.path();
  }
  EXPECT_GE(numFiles, 7);
}

TEST_F(ImportTest, HloTuplesAreFlattened) {
  const std::string text = import(readFile("control_flow.hlo"), "hlo");
  EXPECT_THAT(text, HasSubstr("stablehlo.while"));
  EXPECT_THAT(text, HasSubstr("stablehlo.case"));
  EXPECT_THAT(text, Not(HasSubstr("tuple")));
}

// Plain bytecode of our own dialects, as MLIR's writer makes it.
TEST_F(ImportTest, PlainBytecode) {
  for (const auto& entry : std::filesystem::directory_iterator(ISTHMUS_IMPORT_TESTDATA)) {
    if (entry.path().extension() != ".mlirbc") continue;
    auto module = importProgram(readFile(entry.path().filename()), "mlir", context_);
    ASSERT_TRUE(module.ok()) << entry.path();
    std::string text, bytecode;
    llvm::raw_string_ostream textOut(text), bytecodeOut(bytecode);
    (*module)->print(textOut);
    ASSERT_TRUE(mlir::succeeded(mlir::writeBytecodeToFile(**module, bytecodeOut)));
    EXPECT_EQ(import(bytecode), text) << entry.path();
  }
}

TEST_F(ImportTest, KeepsStructuredAttributes) {
  const std::string convolution = importFile("convolution.1.17.0.mlirbc");
  EXPECT_THAT(convolution, HasSubstr("dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"));
  EXPECT_THAT(convolution, HasSubstr("stride = [2, 1]"));
  const std::string step = importFile("train_step.1.17.0.mlirbc");
  EXPECT_THAT(step, HasSubstr("contracting_dims = [1] x [0]"));
  EXPECT_THAT(step, HasSubstr("#stablehlo.scatter<"));
}

TEST_F(ImportTest, KeepsSourceLocations) {
  auto module = importProgram(readFile("add.1.17.0.mlirbc"), "mlir", context_);
  ASSERT_TRUE(module.ok());
  std::string where;
  (*module)->walk([&](mlir::Operation* op) {
    if (op->getName().getStringRef() == "stablehlo.multiply") {
      where = importer::describeLocation(op->getLoc());
    }
  });
  EXPECT_THAT(where, HasSubstr("make_corpus.py:"));
  EXPECT_THAT(where, HasSubstr("mul"));
}

TEST_F(ImportTest, KeepsConstants) {
  const std::string text = importFile("element_types.1.17.0.mlirbc");
  EXPECT_THAT(text, HasSubstr("dense<[true, false, true, true, false]> : tensor<5xi1>"));
  EXPECT_THAT(text, HasSubstr("tensor<5xf8E4M3FN>"));
  EXPECT_THAT(text, HasSubstr("tensor<complex<f32>>"));
  EXPECT_THAT(text, HasSubstr("tensor<5xui8>"));
}

TEST_F(ImportTest, Formats) {
  EXPECT_EQ(import("", "elf"), "error: Unknown program format 'elf'.");
  EXPECT_EQ(status_.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(import("not a proto", "hlo"), HasSubstr("HloModuleProto"));
  EXPECT_EQ(status_.code(), StatusCode::kInvalidArgument);
}

TEST_F(ImportTest, TextPrettyAndGeneric) {
  EXPECT_THAT(import(R"(
    "builtin.module"() ({
      "func.func"() <{function_type = (tensor<2xi32>) -> tensor<2xi32>, sym_name = "main"}> ({
      ^bb0(%x: tensor<2xi32>):
        %0 = "stablehlo.transpose"(%x) <{permutation = array<i64: 0>}>
            : (tensor<2xi32>) -> tensor<2xi32>
        "func.return"(%0) : (tensor<2xi32>) -> ()
      }) : () -> ()
    }) : () -> ())"),
              HasSubstr("stablehlo.transpose %arg0, dims = [0]"));
}

TEST_F(ImportTest, TextErrorsSayWhere) {
  EXPECT_THAT(import("func.func @main(%x: tensor<2xf32>) -> tensor<3xf32> {\n"
                     "  return %x : tensor<2xf32>\n}"),
              HasSubstr("program:2:3"));
  EXPECT_EQ(status_.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(import("func.func @main() { %0 = nonsense.op }"), HasSubstr("error: program:1:"));
  EXPECT_EQ(status_.code(), StatusCode::kInvalidArgument);
}

TEST_F(ImportTest, VerifiesWhatItReads) {
  EXPECT_THAT(import(R"(func.func @main(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<2xf32> {
    %0 = "stablehlo.add"(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  })"),
              HasSubstr("stablehlo.add"));
  EXPECT_EQ(status_.code(), StatusCode::kInvalidArgument);
}

TEST_F(ImportTest, BoundsNesting) {
  EXPECT_THAT(import(std::string(1'000'000, '(')), HasSubstr("nests deeper"));
  EXPECT_THAT(
      import("module attributes {a = affine_map<() -> (" + std::string(1'000'000, '-') + "1)>} {}"),
      HasSubstr("nests deeper"));
  // Brackets in strings and comments do not count, nor do arrows close anything.
  EXPECT_THAT(import("module attributes {x.a = \"" + std::string(1000, '[') + "\"} {}\n//" +
                     std::string(1000, '{')),
              HasSubstr("module"));
  EXPECT_TRUE(status_.ok());
}

TEST_F(ImportTest, RefusesTensorsBeyondMemory) {
  EXPECT_THAT(import("func.func @main(%x: tensor<4294967296x4294967296xf32>) { return }"),
              HasSubstr("too large"));
  EXPECT_EQ(status_.code(), StatusCode::kInvalidArgument);
  std::string ones;
  for (int i = 0; i < 100'000; ++i) ones += "1x";
  EXPECT_THAT(import("func.func @main(%x: tensor<" + ones + "f32>) { return }"),
              HasSubstr("too large"));
}

TEST_F(ImportTest, MhloText) {
  const std::string text = import(R"(
    module @m attributes {mhlo.num_partitions = 1 : i32, x.a = "mhlo.add is a name"} {
      func.func @main(%x: tensor<f32> {mhlo.sharding = "{replicated}"}) -> tensor<f32> {
        %0 = "mhlo.copy"(%x) : (tensor<f32>) -> tensor<f32>
        %1 = mhlo.constant dense<1.0> : tensor<f32>
        %2 = mhlo.add %0, %1 : tensor<f32>
        %3 = "mhlo.compare"(%2, %1) <{comparison_direction = #mhlo<comparison_direction LT>}>
            : (tensor<f32>, tensor<f32>) -> tensor<i1>
        return %2 : tensor<f32>
      }
    })");
  EXPECT_THAT(text, HasSubstr("%0 = stablehlo.optimization_barrier %arg0"));
  EXPECT_THAT(text, HasSubstr("stablehlo.constant"));
  EXPECT_THAT(text, HasSubstr("stablehlo.add %0"));
  EXPECT_THAT(text, HasSubstr("stablehlo.compare"));
  EXPECT_THAT(text, HasSubstr("mhlo.num_partitions"));
  EXPECT_THAT(text, HasSubstr("mhlo.sharding"));
  EXPECT_THAT(text, HasSubstr("\"mhlo.add is a name\""));
}

// MLIR writes constants of more than 100 elements in hexadecimal: booleans now as bytes, before as
// bits.
TEST_F(ImportTest, HexBooleans) {
  std::string bytes, bits;
  for (int i = 0; i < 128; ++i) bytes += i % 3 == 0 ? "01" : "00";
  for (int i = 0; i < 128; i += 8) {
    unsigned byte = 0;
    for (int k = 0; k < 8; ++k) byte |= ((i + k) % 3 == 0) << k;
    bits += "0123456789ABCDEF"[byte / 16];
    bits += "0123456789ABCDEF"[byte % 16];
  }
  auto program = [](const std::string& digits) {
    return "func.func @main() -> tensor<4x32xi1> {\n  %0 = stablehlo.constant dense<\"0x" + digits +
           "\"> : tensor<4x32xi1>\n  return %0 : tensor<4x32xi1>\n}";
  };
  const std::string text = import(program(bytes));
  EXPECT_TRUE(status_.ok()) << text;
  EXPECT_THAT(text, HasSubstr(bits));
  EXPECT_EQ(import(program(bits)), text);
}

TEST_F(ImportTest, BytecodeErrorsSayWhere) {
  const std::string code = readFile("add.1.17.0.mlirbc");
  EXPECT_THAT(import(code.substr(0, code.size() / 2)), HasSubstr("(byte "));
  EXPECT_EQ(status_.code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace isthmus

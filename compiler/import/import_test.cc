#include "compiler/import/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "compiler/import/diagnostics.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Builders.h"

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

TEST_F(ImportTest, HloOfTorch) {
  EXPECT_THAT(import(readFile("torch_gelu.hlo"), "hlo"), HasSubstr("chlo.erf"));
  const std::string eigh = import(readFile("torch_eigh.hlo"), "hlo");
  EXPECT_THAT(eigh, HasSubstr("@Eigh"));
  EXPECT_THAT(eigh, HasSubstr("(tensor<4x4xf32>, tensor<4xf32>)"));
  // Arrays of a size that only the program knows are bounded.
  EXPECT_THAT(import(readFile("torch_masked_scatter.hlo"), "hlo"),
              HasSubstr("tensor<?xf32, #stablehlo.bounds<24>>"));
}

TEST_F(ImportTest, HloShardings) {
  const std::string text = import(readFile("torch_sharded.hlo"), "hlo");
  EXPECT_THAT(text,
              HasSubstr("{mhlo.sharding = \"{devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}\"}"));
  EXPECT_THAT(text, HasSubstr("@Sharding("));
}

// Messages of HLO by hand: field numbers and values.
std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}
std::string number(int field, uint64_t value) { return varint(field << 3) + varint(value); }
std::string bytes(int field, const std::string& message) {
  return varint(field << 3 | 2) + varint(message.size()) + message;
}
std::string arrayShape(int elementType, std::initializer_list<int64_t> dims) {
  std::string message = number(2, elementType);
  for (int64_t dim : dims) message += number(3, dim);
  return bytes(3, message);
}
std::string instruction(const std::string& opcode, uint64_t id, const std::string& rest,
                        std::initializer_list<uint64_t> operands = {}) {
  std::string message = bytes(1, opcode) + bytes(2, opcode) + number(35, id) + rest;
  for (uint64_t operand : operands) message += number(36, operand);
  return bytes(2, message);
}

// A literal has no size that only the program knows, whatever its shape says.
TEST_F(ImportTest, HloConstantsAreStatic) {
  constexpr int kF32 = 11;
  auto program = [](const std::string& isDynamic) {
    const std::string shape = number(2, kF32) + number(3, 1) + isDynamic;
    const std::string literal = bytes(1, shape) + bytes(8, std::string("\0\0\x80\x3f", 4));
    return bytes(1, "constant") + number(6, 7) +
           bytes(3, bytes(1, "entry") + number(5, 7) + number(6, 1) +
                        instruction("constant", 1, bytes(3, shape) + bytes(8, literal)));
  };
  EXPECT_THAT(import(program(""), "hlo"), HasSubstr("dense<1.000000e+00> : tensor<1xf32>"));
  EXPECT_THAT(import(program(number(6, 1)), "hlo"), HasSubstr("constant of a dynamic shape"));
}

// The upper half of ids is the computation's, though not everywhere; the starts of slices may be
// one vector.
TEST_F(ImportTest, HloIdsAreLocalAndStartsMayBeAVector) {
  constexpr int kF32 = 11, kS32 = 4;
  constexpr uint64_t kOwn = uint64_t{7} << 32;
  const std::string code =
      bytes(1, "slice") + number(6, 7) +
      bytes(3, bytes(1, "entry") + number(5, 7) + number(6, kOwn | 4) +
                   instruction("parameter", kOwn | 1, arrayShape(kF32, {4, 5}) + number(9, 0)) +
                   instruction("parameter", kOwn | 2, arrayShape(kS32, {2}) + number(9, 1)) +
                   instruction("negate", kOwn | 3, arrayShape(kF32, {4, 5}), {1}) +
                   instruction("dynamic-slice", kOwn | 4,
                               arrayShape(kF32, {2, 3}) + number(20, 2) + number(20, 3),
                               {kOwn | 3, 2}));
  const std::string text = import(code, "hlo");
  EXPECT_THAT(text, HasSubstr("stablehlo.negate %arg0"));
  EXPECT_THAT(text, HasSubstr("stablehlo.dynamic_slice %0, %2, %4, sizes = [2, 3]"));
}

TEST_F(ImportTest, HloResultsOfSizesThatDependOnValuesAreRefused) {
  constexpr int kF32 = 11, kS32 = 4;
  const std::string bounded = bytes(3, number(2, kF32) + number(3, 5) + number(6, 1));
  const std::string code =
      bytes(1, "cut") + number(6, 7) +
      bytes(3, bytes(1, "entry") + number(5, 7) + number(6, 3) +
                   instruction("parameter", 1, arrayShape(kF32, {5}) + number(9, 0)) +
                   instruction("parameter", 2, arrayShape(kS32, {}) + number(9, 1)) +
                   instruction("set-dimension-size", 3, bounded + number(14, 0), {1, 2}));
  const std::string text = import(code, "hlo");
  EXPECT_THAT(text, HasSubstr("result 0"));
  EXPECT_THAT(text, HasSubstr("tensor<?xf32, #stablehlo.bounds<5>>"));
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

TEST_F(ImportTest, BoundsNestingBehindOperatorsThatLookLikeBrackets) {
  std::string constraints;
  for (int i = 0; i < 300; ++i) constraints += "d0 >= 0, ";
  const std::string set = "affine_set<(d0) : (" + constraints + "d0 >= 0)>";
  EXPECT_THAT(import("module attributes {x.a = " + set + "} {}"), HasSubstr("module"));
  EXPECT_TRUE(status_.ok());
  // Each >= once made one bracket more than there are.
  std::string nested;
  for (int i = 0; i < 5000; ++i) nested += "[affine_set<(d0) : (d0 >= 0, d0 >= 0)>, ";
  EXPECT_THAT(import("module attributes {x.a = " + nested + "} {}"), HasSubstr("nests deeper"));
}

TEST_F(ImportTest, BoundsTermsOfAffineExpressions) {
  std::string sum = "d0";
  for (int i = 0; i < 55'000; ++i) sum += " + d0";
  EXPECT_THAT(import("module attributes {x.a = affine_map<(d0) -> (" + sum + ")>} {}"),
              HasSubstr("nests deeper"));
  std::string dimensions;
  for (int i = 0; i < 5000; ++i) dimensions += "1 x ";
  EXPECT_THAT(import("func.func @main(%x: tensor<" + dimensions + "f32>) { return }"),
              HasSubstr("too large"));
}

// Each alias uses the one before it `width` times.
std::string aliasChain(int length, int width, const std::string& first,
                       const std::function<std::string(const std::string& uses)>& next) {
  std::string text = first + "\n";
  for (int i = 1; i < length; ++i) {
    std::string name = first.substr(0, 2) + std::to_string(i - 1);
    std::string uses = name;
    for (int k = 1; k < width; ++k) uses += ", " + name;
    text += first.substr(0, 2) + std::to_string(i) + " = " + next(uses) + "\n";
  }
  return text;
}

TEST_F(ImportTest, BoundsChainsAndGraphsOfAliases) {
  auto array = [](const std::string& uses) { return "[" + uses + "]"; };
  auto tuple = [](const std::string& uses) { return "tuple<" + uses + ">"; };
  auto location = [](const std::string& uses) { return "loc(fused[" + uses + "])"; };
  auto encoding = [](const std::string& uses) { return "tensor<1xf32, [" + uses + "]>"; };
  // Graphs of 3^60 entries.
  EXPECT_THAT(import(aliasChain(60, 3, "#a0 = [1]", array) + "module attributes {x.a = #a59} {}"),
              HasSubstr("expands too far"));
  EXPECT_THAT(import(aliasChain(60, 3, "!t0 = tensor<f32>", tuple) +
                     "func.func @main(%x: !t59) { return }"),
              HasSubstr("expands too far"));
  EXPECT_THAT(import(aliasChain(60, 3, "#l0 = loc(\"f\":1:1)", location) + "module {} loc(#l59)"),
              HasSubstr("expands too far"));
  // Chains that nest deep and expand little.
  EXPECT_THAT(import(aliasChain(50'000, 1, "#a0 = [1]", array) + "module {}"),
              HasSubstr("nest too deeply"));
  EXPECT_THAT(import(aliasChain(50'000, 1, "!t0 = tensor<f32>", tuple) + "module {}"),
              HasSubstr("nest too deeply"));
  EXPECT_THAT(import(aliasChain(50'000, 1, "#e0 = [1]",
                                [&](const std::string& uses) { return encoding(uses); }) +
                     "module {}"),
              HasSubstr("nest too deeply"));
  EXPECT_EQ(status_.code(), StatusCode::kInvalidArgument);
  // What programs have: many aliases, most of them locations, each used often.
  std::string uses;
  for (int i = 0; i < 20'000; ++i) uses += "#l99, ";
  EXPECT_THAT(
      import(aliasChain(100, 1, "#l0 = loc(\"f\":1:1)",
                        [](const std::string& inner) { return "loc(\"scope\"(" + inner + "))"; }) +
             "#cst = dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>\n" +
             "module attributes {x.a = #cst, x.b = [" + uses + "#cst]} {} loc(#l99)"),
      HasSubstr("module"));
  EXPECT_TRUE(status_.ok()) << status_.message();
}

// A module as plain bytecode, with one attribute.
std::string bytecodeWith(mlir::MLIRContext& context, llvm::StringRef name,
                         mlir::Attribute attribute) {
  auto module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  module->setAttr(name, attribute);
  std::string bytes;
  llvm::raw_string_ostream out(bytes);
  (void)mlir::writeBytecodeToFile(module, out);
  module->erase();
  return bytes;
}

TEST_F(ImportTest, BoundsGraphsInBytecode) {
  // An exporter that shares attributes writes the same graph in a few hundred bytes.
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::Builder builder(&context);
  mlir::Attribute graph = builder.getUnitAttr();
  for (int i = 0; i < 60; ++i) graph = builder.getArrayAttr({graph, graph, graph});
  EXPECT_THAT(import(bytecodeWith(context, "x.a", graph)), HasSubstr("expand too far"));
  mlir::Type type = builder.getF32Type();
  for (int i = 0; i < 20; ++i) type = mlir::TupleType::get(&context, {type, type});
  EXPECT_THAT(import(bytecodeWith(context, "x.a", mlir::TypeAttr::get(type))),
              HasSubstr("expands too far"));
  EXPECT_EQ(status_.code(), StatusCode::kInvalidArgument);
}

TEST_F(ImportTest, BoundsTheSizesOfAttributes) {
  auto reduce = [](const std::string& groups) {
    return "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {"
           "%0 = \"stablehlo.all_gather\"(%x) {all_gather_dim = 0 : i64, replica_groups = " +
           groups + "} : (tensor<4xf32>) -> tensor<4xf32> return %0 : tensor<4xf32> }";
  };
  for (const char* groups : {"dense<0> : tensor<1x9223372036854775807xi64>",
                             "dense<-1> : tensor<1x288230376151711744xi64>",
                             "dense<0> : tensor<4294967296x4294967296xi64>"}) {
    EXPECT_THAT(import(reduce(groups)), HasSubstr("too large")) << groups;
    EXPECT_EQ(status_.code(), StatusCode::kInvalidArgument);
  }
  EXPECT_THAT(import(reduce("dense<0> : tensor<1x1xi64>")), HasSubstr("all_gather"));
  // In attributes of attributes too, and where nobody knows the attribute.
  EXPECT_THAT(import("module attributes {x.a = [{b = dense<0> : tensor<4294967296xi8>}]} {}"),
              HasSubstr("too large"));
  // A constant is as large as its type may be, and is nowhere else.
  EXPECT_THAT(import("func.func @main() -> tensor<4294967296xi8> {"
                     "%0 = stablehlo.constant dense<0> : tensor<4294967296xi8>"
                     " return %0 : tensor<4294967296xi8> }"),
              HasSubstr("constant"));
  EXPECT_TRUE(status_.ok()) << status_.message();
}

TEST_F(ImportTest, ComplexElementsOfOtherTypesAreRefused) {
  // MLIR's parser takes them: constants had more bytes than their type, and lists fewer, so that
  // what lies behind those in memory became part of the program.
  auto constant = [](const std::string& value, const std::string& type) {
    return "func.func @main() -> " + type + " { %c = stablehlo.constant dense<" + value +
           "> : " + type + "\n return %c : " + type + " }";
  };
  auto permute = [](const std::string& pairs) {
    return "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
           "%r = \"stablehlo.collective_permute\"(%x) {source_target_pairs = dense<" +
           pairs + "> : tensor<2x2xi64>} : (tensor<f32>) -> tensor<f32>\n" +
           "return %r : tensor<f32> }";
  };
  for (const std::string& program :
       {constant("(0.0,1.0)", "tensor<f32>"), constant("(0.0,1.0)", "tensor<3xf32>"),
        constant("[(0.0,1.0),(2.0,3.0)]", "tensor<2xf64>"), constant("(1,2)", "tensor<5xi32>"),
        permute("(0,1)")}) {
    EXPECT_THAT(import(program), HasSubstr("do not fit its type")) << program;
  }
  for (const std::string& program :
       {constant("(0.0,1.0)", "tensor<2xcomplex<f32>>"),
        constant("[(1,2)]", "tensor<1xcomplex<i32>>"), constant("[true,true]", "tensor<2xi1>"),
        constant("true", "tensor<9xi1>"), constant("[true,false,true]", "tensor<3xi1>"),
        constant("[]", "tensor<0xf32>"), constant("[7]", "tensor<1xi4>"),
        constant("[1,1,1]", "tensor<3xi4>")}) {
    EXPECT_THAT(import(program), Not(HasSubstr("do not fit its type"))) << program;
  }
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

// A caller's bytes end where he says, whatever follows them, also in the middle of a word.
TEST_F(ImportTest, TextEndsWithItsSize) {
  constexpr std::string_view kMemory = "func.func @main() { return } !alias = i32x";
  EXPECT_THAT(import(kMemory.substr(0, kMemory.size() - 1)), HasSubstr("func.func @main"));
  EXPECT_TRUE(status_.ok()) << status_.message();
  import(kMemory);
  EXPECT_FALSE(status_.ok());
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

// SPIR-V of kernels in each form, judged by spirv-val. That it computes the right thing is for
// python/tests/xpu_test.py, with a driver.
#include "backends/opencl/codegen/spirv.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "backends/opencl/codegen/loop_controls.h"
#include "compiler/codegen/simt/kernel_module.h"
#include "compiler/dialect/dialect.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

namespace isthmus::opencl {
namespace {

struct Way {
  const char* name;
  KernelDevice device;
};
KernelDevice groupsDevice(MatrixUnit matrices = MatrixUnit::kNone) {
  return {.groupItems = 256, .localBytes = 32 << 10, .matrices = matrices};
}
KernelDevice subGroupsDevice() {
  KernelDevice device = groupsDevice();
  device.hasVectors = device.hasSubgroupShuffle = true;
  return device;
}
const Way kWays[] = {{"wide vectors", {.vectorBits = 512}},
                     {"narrow vectors", {.vectorBits = 128}},
                     {"halves", {.vectorBits = 512, .convertsF16 = true}},
                     {"groups", groupsDevice()},
                     {"sub-groups", subGroupsDevice()},
                     {"matrices", groupsDevice(MatrixUnit::kIntel)},
                     {"emulated matrices", groupsDevice(MatrixUnit::kEmulated)},
                     {"elements", {}}};

StatusOr<std::string> compile(const std::string& text, const KernelDevice& device) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadAllDialects(context);
  auto program = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!program) return invalidArgument("the program is malformed");
  codegen::WorkItemForm form = kernelForm(device);
  llvm::LLVMContext llvmContext;
  ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<llvm::Module> module, makeModule("test", llvmContext));
  codegen::KernelModule kernels(*module, form);
  Status status;
  program->walk([&](mlir::Operation* op) {
    if (auto fusion = llvm::dyn_cast<ir::FusionOp>(op)) {
      if (Status added = kernels.add(fusion).status(); !added.ok()) status = added;
    } else if (llvm::isa<shlo::DotGeneralOp, shlo::ConvolutionOp>(op)) {
      if (Status added = kernels.add(op).status(); !added.ok()) status = added;
    }
  });
  ISTHMUS_RETURN_IF_ERROR(status);
  EXPECT_FALSE(kernels.kernels().empty());
  callBuiltins(*module);
  return compileToSpirv(*module);
}

bool hasValidator() { return std::system("spirv-val --version > /dev/null 2>&1") == 0; }

// Empty if the validator has nothing to say.
std::string judge(const std::string& binary) {
  std::filesystem::path file = std::filesystem::temp_directory_path() /
                               ("isthmus_spirv_test_" + std::to_string(getpid()) + ".spv");
  std::ofstream(file, std::ios::binary).write(binary.data(), std::streamsize(binary.size()));
  std::string command = "spirv-val --target-env spv1.4 " + file.string() + " 2>&1";
  std::string said;
  FILE* pipe = popen(command.c_str(), "r");
  char line[256];
  while (pipe && fgets(line, sizeof line, pipe)) said += line;
  int code = pipe ? pclose(pipe) : -1;
  std::filesystem::remove(file);
  return code == 0 ? "" : said + "exit " + std::to_string(code);
}

void check(const std::string& text) {
  if (!hasValidator()) GTEST_SKIP() << "no spirv-val: apt-get install spirv-tools";
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    StatusOr<std::string> binary = compile(text, way.device);
    ASSERT_TRUE(binary.ok()) << binary.status().message();
    EXPECT_EQ(judge(*binary), "");
  }
}

std::string fusion(const std::string& input, const std::string& output, const std::string& body) {
  return "func.func @main(%in: " + input + ") -> " + output +
         " {\n%r = \"isthmus.fusion\"(%in) ({\n^bb0(%x: " + input + "):\n" + body +
         "\nisthmus.yield %y : " + output + "\n}) : (" + input + ") -> " + output +
         "\nreturn %r : " + output + "\n}\n";
}

TEST(Spirv, functions_with_rare_paths) {
  std::string type = "tensor<1000xf32>";
  check(fusion(type, type,
               "%e = stablehlo.sine %x : " + type + "\n%t = stablehlo.tan %e : " + type +
                   "\n%y = stablehlo.power %t, %e : " + type));
}

TEST(Spirv, complex_numbers_and_bytes) {
  std::string type = "tensor<100xcomplex<f32>>";
  check(fusion(type, type, "%y = stablehlo.multiply %x, %x : " + type));
  type = "tensor<1000xi8>";
  check(fusion(type, type,
               "%d = stablehlo.divide %x, %x : " + type + "\n%y = stablehlo.popcnt %d : " + type));
  check(fusion("tensor<999xf32>", "tensor<999xui8>",
               "%y = stablehlo.convert %x : (tensor<999xf32>) -> tensor<999xui8>"));
}

// The code generator's own check lets through what the standard has for integers only.
TEST(Spirv, booleans_are_not_compared_as_integers) {
  llvm::LLVMContext context;
  for (const char* predicate : {"ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"}) {
    llvm::SMDiagnostic problem;
    std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(std::string(R"(
    target datalayout = "e-i64:64-n8:16:32:64-G1"
    target triple = "spirv64-unknown-unknown"
    define spir_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q) {
      %x = load <4 x i8>, ptr addrspace(1) %p
      %a = trunc <4 x i8> %x to <4 x i1>
      %y = load <4 x i8>, ptr addrspace(1) %q
      %b = trunc <4 x i8> %y to <4 x i1>
      %c = icmp )") + predicate + R"( <4 x i1> %a, %b
      %d = zext <4 x i1> %c to <4 x i8>
      store <4 x i8> %d, ptr addrspace(1) %p
      ret void
    })",
                                                                     problem, context);
    ASSERT_TRUE(module) << problem.getMessage().str();
    StatusOr<std::string> binary = compileToSpirv(*module);
    ASSERT_TRUE(binary.ok()) << binary.status().message();
    for (const llvm::Instruction& instruction : llvm::instructions(module->getFunction("k"))) {
      EXPECT_FALSE(llvm::isa<llvm::ICmpInst>(instruction) &&
                   instruction.getOperand(0)->getType()->isIntOrIntVectorTy(1))
          << predicate;
    }
    if (hasValidator()) {
      EXPECT_EQ(judge(*binary), "") << predicate;
    }
  }
}

// How many instructions of a kind there are.
int countOf(const std::string& binary, uint32_t opcode) {
  constexpr size_t kHeaderWords = 5;
  std::vector<uint32_t> words(binary.size() / sizeof(uint32_t));
  std::memcpy(words.data(), binary.data(), words.size() * sizeof(uint32_t));
  int count = 0;
  for (size_t i = kHeaderWords; i < words.size(); i += std::max(words[i] >> 16, 1U)) {
    count += (words[i] & 0xffff) == opcode;
  }
  return count;
}

// By integers it takes three to six times as long.
TEST(Spirv, f16_is_converted_by_instructions_where_the_device_has_them) {
  constexpr uint32_t kFConvert = 115;
  const std::string type = "tensor<1000xf16>";
  const std::string program = fusion(type, type, "%y = stablehlo.exponential %x : " + type);
  for (const KernelDevice& device : {KernelDevice{.vectorBits = 512}, groupsDevice()}) {
    KernelDevice converting = device;
    converting.convertsF16 = true;
    StatusOr<std::string> without = compile(program, device);
    StatusOr<std::string> with = compile(program, converting);
    ASSERT_TRUE(without.ok() && with.ok());
    EXPECT_EQ(countOf(*without, kFConvert), 0);
    EXPECT_GE(countOf(*with, kFConvert), 2);
    EXPECT_LT(with->size(), without->size());
  }
  check(program);
}

TEST(Spirv, rows_and_columns_are_reduced) {
  for (const char* dimension : {"0", "1"}) {
    std::string size = *dimension == '0' ? "200" : "300";
    check(fusion("tensor<300x200xf32>", "tensor<" + size + "xf32>",
                 "%z = stablehlo.constant dense<5.0> : tensor<f32>\n%y = stablehlo.reduce(%x init: "
                 "%z) applies stablehlo.add across dimensions = [" +
                     std::string(dimension) + "] : (tensor<300x200xf32>, tensor<f32>) -> tensor<" +
                     size + "xf32>"));
  }
}

TEST(Spirv, transposes) {
  check(fusion("tensor<130x70xbf16>", "tensor<70x130xbf16>",
               "%y = stablehlo.transpose %x, dims = [1, 0] : (tensor<130x70xbf16>) -> "
               "tensor<70x130xbf16>"));
}

TEST(Spirv, products_and_convolutions) {
  check(R"(func.func @main(%a: tensor<2x100x64xf32>, %b: tensor<2x64x70xf32>,
      %c: tensor<4x9x9x8xbf16>, %d: tensor<3x3x8x32xbf16>) {
    %p = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]
        : (tensor<2x100x64xf32>, tensor<2x64x70xf32>) -> tensor<2x100x70xf32>
    %q = stablehlo.dot_general %b, %a, batching_dims = [0] x [0], contracting_dims = [1] x [2]
        : (tensor<2x64x70xf32>, tensor<2x100x64xf32>) -> tensor<2x70x100xf32>
    %r = stablehlo.convolution(%c, %d) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
        window = {stride = [1, 1], pad = [[1, 1], [1, 1]]}
        {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
        : (tensor<4x9x9x8xbf16>, tensor<3x3x8x32xbf16>) -> tensor<4x9x9x32xbf16>
    return
  })");
}

// LLVM's SPIR-V code generator once took numbers of 4 bits for numbers of 8.
// For each type, and no other: the function of the extension, in sub-groups of 16.
TEST(Spirv, matrices_are_multiplied_by_the_extension) {
  const std::pair<const char*, const char*> kTypes[] = {{"bf16", "_bf16_bf16_matrix_mad_k16"},
                                                        {"f16", "_f16_f16_matrix_mad_k16"},
                                                        {"i8", "_i8_i8_matrix_mad_k32"},
                                                        {"ui8", ""},
                                                        {"f32", ""}};
  for (auto [type, function] : kTypes) {
    SCOPED_TRACE(type);
    const std::string of(type);
    const std::string result = of.find('i') == std::string::npos ? "f32" : "i32";
    const std::string program =
        "func.func @main(%a: tensor<3x50x70x" + of + ">, %b: tensor<3x70x40x" + of +
        ">) -> tensor<3x50x40x" + result +
        "> {\n%p = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] "
        "x [1] : (tensor<3x50x70x" +
        of + ">, tensor<3x70x40x" + of + ">) -> tensor<3x50x40x" + result +
        ">\nreturn %p : tensor<3x50x40x" + result + ">\n}\n";
    StatusOr<std::string> binary = compile(program, groupsDevice(MatrixUnit::kIntel));
    ASSERT_TRUE(binary.ok()) << binary.status().message();
    // OpExecutionMode of 4 words: SubgroupSize (35), 16.
    const uint32_t mode[] = {35, 16};
    const std::string bytes(reinterpret_cast<const char*>(mode), sizeof(mode));
    const bool has = binary->find("matrix_mad") != std::string::npos;
    EXPECT_EQ(has, *function != '\0');
    EXPECT_EQ(binary->find(bytes) != std::string::npos, has);
    EXPECT_NE(binary->find(function), std::string::npos);
    check(program);
  }
}

// Intel's compiler took 10 s for `jnp.block` of four matrices whose rows have 64 vectors.
TEST(Spirv, long_loops_are_not_unrolled) {
  constexpr uint32_t kLoopMerge = 246;
  auto kernelOf = [](int rows, int columns) {
    return R"(
    target datalayout = "e-i64:64-n8:16:32:64-G1"
    target triple = "spirv64-unknown-unknown"
    define spir_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q) {
    entry:
      br label %outer
    outer:
      %i = phi i64 [ 0, %entry ], [ %nexti, %latch ]
      br label %inner
    inner:
      %j = phi i64 [ 0, %outer ], [ %nextj, %inner ]
      %at = add i64 %i, %j
      %from = getelementptr float, ptr addrspace(1) %p, i64 %at
      %x = load <8 x float>, ptr addrspace(1) %from
      %to = getelementptr float, ptr addrspace(1) %q, i64 %at
      store <8 x float> %x, ptr addrspace(1) %to
      %nextj = add nuw nsw i64 %j, 8
      %morej = icmp ult i64 %nextj, )" +
           std::to_string(columns) + R"(
      br i1 %morej, label %inner, label %latch
    latch:
      %nexti = add nuw nsw i64 %i, 1000
      %morei = icmp ult i64 %nexti, )" +
           std::to_string(rows * 1000) + R"(
      br i1 %morei, label %outer, label %exit
    exit:
      ret void
    })";
  };
  struct Case {
    int rows, columns, kept;
  };
  // Short loops in a long one are unrolled, long ones in a short one are not.
  for (const Case& each : {Case{2, 64, 0}, Case{64, 64, 1}, Case{2, 512, 1}, Case{64, 512, 2}}) {
    SCOPED_TRACE(std::to_string(each.rows) + " times " + std::to_string(each.columns));
    llvm::LLVMContext context;
    llvm::SMDiagnostic problem;
    std::unique_ptr<llvm::Module> module =
        llvm::parseAssemblyString(kernelOf(each.rows, each.columns), problem, context);
    ASSERT_TRUE(module) << problem.getMessage().str();
    limitUnrolling(*module);
    StatusOr<std::string> binary = compileToSpirv(*module);
    ASSERT_TRUE(binary.ok()) << binary.status().message();
    EXPECT_EQ(countOf(*binary, kLoopMerge), each.kept);
    if (hasValidator()) {
      EXPECT_EQ(judge(*binary), "");
    }
  }
}

TEST(Spirv, few_bits_are_masks) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(R"(
    target datalayout = "e-i64:64-n8:16:32:64-G1"
    target triple = "spirv64-unknown-unknown"
    define spir_kernel void @k(ptr addrspace(1) %p) {
      %x = load i64, ptr addrspace(1) %p
      %few = trunc i64 %x to i4
      %y = zext i4 %few to i32
      store i32 %y, ptr addrspace(1) %p
      ret void
    })",
                                                                   problem, context);
  ASSERT_TRUE(module) << problem.getMessage().str();
  ASSERT_TRUE(compileToSpirv(*module).ok());
  bool masks = false;
  for (const llvm::Instruction& instruction : llvm::instructions(module->getFunction("k"))) {
    masks |= instruction.getOpcode() == llvm::Instruction::And &&
             llvm::cast<llvm::ConstantInt>(instruction.getOperand(1))->getZExtValue() == 15;
  }
  EXPECT_TRUE(masks);
}

}  // namespace
}  // namespace isthmus::opencl

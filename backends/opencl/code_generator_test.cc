// What programs are compiled to for devices that are not at hand.
#include "backends/opencl/code_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <variant>

#include "compiler/driver/driver.h"
#include "isthmus/flags.h"
#include "tools/unloaded_program.h"

namespace isthmus::opencl {
namespace {

using Unloaded = UnloadedProgram<ProgramImage>;

DeviceFacts someFacts() {
  DeviceFacts facts;
  facts.takesSpirv = true;
  facts.memoryBytes = uint64_t{1} << 34;
  facts.localBytes = 64 << 10;
  facts.maxWorkGroupItems = 1024;
  facts.computeUnits = 64;
  facts.vectorBits = 256;
  return facts;
}

ProgramImage compileFor(const DeviceFacts& facts, const std::string& program) {
  OpenclCodeGenerator generator(facts, "none", Unloaded::keep);
  CompileRequest request;
  request.code = program;
  request.format = "mlir";
  StatusOr<std::shared_ptr<const Executable>> compiled = compileProgram(generator, request);
  EXPECT_TRUE(compiled.ok()) << compiled.status().message();
  return compiled.ok() ? static_cast<const Unloaded&>(**compiled).image() : ProgramImage();
}

// A device without 64-bit floats, as many GPUs are, whose host does what it lacks.
class WithoutDoubles : public ::testing::TestWithParam<const char*> {
 protected:
  WithoutDoubles() {
    setFlagForTest("ISTHMUS_OPENCL_KERNELS", GetParam());
    setFlagForTest("ISTHMUS_FALLBACK", "cpu");
  }
  void TearDown() override {
    setFlagForTest("ISTHMUS_OPENCL_KERNELS", "");
    setFlagForTest("ISTHMUS_FALLBACK", "");
  }

  // tanh of x · w, the product of type `product` and tanh of type `rest`.
  ProgramImage compile(const std::string& product, const std::string& rest) {
    const std::string array = "tensor<64x64x" + product + ">";
    const std::string result = "tensor<64x64x" + rest + ">";
    const std::string program = "func.func @main(%x: " + array + ", %w: " + array + ") -> " +
                                result +
                                " {\n"
                                "%p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] "
                                ": (" +
                                array + ", " + array + ") -> " + array +
                                "\n"
                                "%c = stablehlo.convert %p : (" +
                                array + ") -> " + result +
                                "\n"
                                "%t = stablehlo.tanh %c : " +
                                result + "\nreturn %t : " + result + "\n}";
    return compileFor(someFacts(), program);
  }
};

TEST_P(WithoutDoubles, products_have_epilogues) {
  const ProgramImage image = compile("f32", "f32");
  EXPECT_EQ(image.kernels.size(), 1U);
  EXPECT_TRUE(image.host.functions.empty());
}

TEST_P(WithoutDoubles, the_host_takes_products_and_epilogues_of_doubles_one_by_one) {
  ProgramImage image = compile("f64", "f32");
  // What makes floats of doubles has no kernel either.
  EXPECT_EQ(image.kernels.size(), 0U);
  EXPECT_EQ(image.host.functions.size(), 2U);
  image = compile("f32", "f64");
  EXPECT_EQ(image.kernels.size(), 1U);
  EXPECT_EQ(image.host.functions.size(), 1U);
}

// The host has no vectors as narrow as these rows.
TEST(OpenclCodeGenerator, the_host_takes_loops_with_products_of_short_rows) {
  DeviceFacts facts = someFacts();
  facts.isCpu = facts.hasFineSvm = facts.hasDoubles = true;
  const ProgramImage image = compileFor(facts, R"(
    func.func @main(%x: tensor<3x3xf32>, %n: tensor<i32>) -> tensor<3x3xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<3x3xf32>
        cond {
          %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %l = "stablehlo.cholesky"(%y) {lower = true} : (tensor<3x3xf32>) -> tensor<3x3xf32>
          %p = stablehlo.dot_general %l, %x, contracting_dims = [1] x [0]
              : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
          %s = stablehlo.subtract %x, %p : tensor<3x3xf32>
          %j = stablehlo.add %i, %one : tensor<i32>
          stablehlo.return %j, %s : tensor<i32>, tensor<3x3xf32>
        }
      return %r#1 : tensor<3x3xf32>
    })");
  const Loop* loop = nullptr;
  for (const Step& step : image.steps) {
    if (std::holds_alternative<Loop>(step.what)) loop = &std::get<Loop>(step.what);
  }
  ASSERT_NE(loop, nullptr);
  for (const std::vector<Step>* steps : {&loop->condition, &loop->body}) {
    EXPECT_TRUE(forEachStep(
        *steps, [](const Step& step) { return !std::holds_alternative<KernelLaunch>(step.what); }));
  }
}

// As of a vocabulary: exponentials are kept by the thread that computes them.
TEST(OpenclCodeGenerator, softmax_of_long_rows_is_one_kernel) {
  DeviceFacts facts = someFacts();
  facts.isCpu = facts.hasFineSvm = true;
  const ProgramImage image = compileFor(facts, R"(
    func.func @main(%x: tensor<128x32000xf32>) -> tensor<128x32000xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1]
          : (tensor<128x32000xf32>, tensor<f32>) -> tensor<128xf32>
      %w = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<128xf32>) -> tensor<128x32000xf32>
      %d = stablehlo.subtract %x, %w : tensor<128x32000xf32>
      %e = stablehlo.exponential %d : tensor<128x32000xf32>
      %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]
          : (tensor<128x32000xf32>, tensor<f32>) -> tensor<128xf32>
      %t = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<128xf32>) -> tensor<128x32000xf32>
      %r = stablehlo.divide %e, %t : tensor<128x32000xf32>
      return %r : tensor<128x32000xf32>
    })");
  EXPECT_EQ(image.kernels.size(), 1U);
}

// A group of one work-item for each row of jax.scipy.special.spence took longer than the row.
TEST(OpenclCodeGenerator, work_items_of_cpus_take_many_short_rows) {
  DeviceFacts facts = someFacts();
  facts.isCpu = facts.hasFineSvm = true;
  auto itemsFor = [&](const std::string& rows) {
    const std::string type = "tensor<" + rows + "x3xi32>";
    const ProgramImage image =
        compileFor(facts, "func.func @main(%x: " + type + ") -> " + type + R"( {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %r = "stablehlo.reduce_window"(%x, %zero) ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %s = stablehlo.add %a, %b : tensor<i32>
        stablehlo.return %s : tensor<i32>
      }) {padding = dense<[[0, 0], [2, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 3>}
          : ()" + type + ", tensor<i32>) -> " +
                              type + "\nreturn %r : " + type + "\n}");
    return image.kernels.size() == 1 ? image.kernels[0].items[0] : -1;
  };
  EXPECT_EQ(itemsFor("100"), 1);
  EXPECT_GT(itemsFor("65536"), 4);
  EXPECT_LT(itemsFor("65536"), 200);
}

std::string chainOf(const std::string& op, int count) {
  std::string program = "func.func @main(%x0: tensor<1000xf32>) -> tensor<1000xf32> {\n";
  for (int i = 0; i < count; ++i) {
    program += "%x" + std::to_string(i + 1) + " = stablehlo." + op + " %x" + std::to_string(i) +
               " : tensor<1000xf32>\n";
  }
  return program + "return %x" + std::to_string(count) + " : tensor<1000xf32>\n}";
}

// Drivers take more than linear time for long kernels.
TEST(OpenclCodeGenerator, long_chains_of_functions_are_several_kernels) {
  DeviceFacts facts = someFacts();
  facts.isCpu = facts.hasFineSvm = true;
  EXPECT_EQ(compileFor(facts, chainOf("sine", 60)).kernels.size(), 1U);
  EXPECT_EQ(compileFor(facts, chainOf("sine", 250)).kernels.size(), 3U);
  EXPECT_EQ(compileFor(facts, chainOf("sqrt", 200)).kernels.size(), 1U);
}

// A launch takes longer than a small product that several threads compute. Code of many is long.
TEST(OpenclCodeGenerator, small_products_that_follow_each_other_are_one_kernel) {
  DeviceFacts facts = someFacts();
  facts.isCpu = facts.hasFineSvm = true;
  facts.vectorBits = 512;
  auto countLaunches = [&](int products, int size) {
    const std::string type = "tensor<" + std::to_string(size) + "x64xf32>";
    std::string program = "func.func @main(%x0: " + type + ", %w: tensor<64x64xf32>) -> " + type;
    program += " {\n";
    for (int i = 0; i < products; ++i) {
      program += "%x" + std::to_string(i + 1) + " = stablehlo.dot_general %x" + std::to_string(i) +
                 ", %w, contracting_dims = [1] x [0] : (" + type + ", tensor<64x64xf32>) -> " +
                 type + "\n";
    }
    program += "return %x" + std::to_string(products) + " : " + type + "\n}";
    return compileFor(facts, program).steps.size();
  };
  EXPECT_EQ(countLaunches(4, 32), 1U);
  // Each copies columns first.
  EXPECT_EQ(countLaunches(4, 512), 8U);
  EXPECT_GE(countLaunches(30, 32), 3U);
  EXPECT_LE(countLaunches(30, 32), 15U);
}

// What a sine does for large arguments is in the program once, not once for each sine.
TEST(OpenclCodeGenerator, sines_share_what_is_rare) {
  DeviceFacts facts = someFacts();
  facts.isCpu = facts.hasFineSvm = true;
  auto bytes = [&](int sines) { return compileFor(facts, chainOf("sine", sines)).spirv.size(); };
  constexpr size_t kBytesOfCallsForEachLane = 1500;
  EXPECT_LT(bytes(40) - bytes(20), 20 * kBytesOfCallsForEachLane);
}

// Fifty rounds of a stencil, each of which copies what it has made.
TEST(OpenclCodeGenerator, the_host_takes_loops_whose_launches_take_longer_than_their_work) {
  auto hasLaunch = [](bool isCpu, const char* size) {
    DeviceFacts facts = someFacts();
    facts.isCpu = facts.hasFineSvm = isCpu;
    std::string program = R"(
      func.func @main(%x: tensor<NxNxf32>) -> tensor<NxNxf32> {
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %n = stablehlo.constant dense<50> : tensor<i32>
        %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<NxNxf32>
          cond {
            %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %c : tensor<i1>
          } do {
            %t = stablehlo.reverse %y, dims = [0] : tensor<NxNxf32>
            %s = stablehlo.add %y, %t : tensor<NxNxf32>
            %j = stablehlo.add %i, %one : tensor<i32>
            stablehlo.return %j, %s : tensor<i32>, tensor<NxNxf32>
          }
        return %r#1 : tensor<NxNxf32>
      })";
    for (size_t at = 0; (at = program.find("NxN", at)) != std::string::npos;) {
      program.replace(at, 3, std::string(size) + "x" + size);
    }
    return !forEachStep(compileFor(facts, program).steps, [](const Step& step) {
      return !std::holds_alternative<KernelLaunch>(step.what);
    });
  };
  EXPECT_FALSE(hasLaunch(true, "256"));
  EXPECT_TRUE(hasLaunch(true, "1024"));  // more work
  EXPECT_TRUE(hasLaunch(false, "256"));
}

// Rounds of a product by a vector, whose matrix takes longer to read than to multiply.
TEST(OpenclCodeGenerator, the_host_takes_loops_whose_products_wait_for_memory) {
  DeviceFacts facts = someFacts();
  facts.isCpu = facts.hasFineSvm = true;
  const ProgramImage image = compileFor(facts, R"(
    func.func @main(%w: tensor<500x500xf32>, %x: tensor<500xf32>) -> tensor<500xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.constant dense<10> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<500xf32>
        cond {
          %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %p = stablehlo.dot_general %w, %y, contracting_dims = [1] x [0]
              : (tensor<500x500xf32>, tensor<500xf32>) -> tensor<500xf32>
          %s = stablehlo.sign %p : tensor<500xf32>
          %j = stablehlo.add %i, %one : tensor<i32>
          stablehlo.return %j, %s : tensor<i32>, tensor<500xf32>
        }
      return %r#1 : tensor<500xf32>
    })");
  EXPECT_TRUE(forEachStep(image.steps, [](const Step& step) {
    return !std::holds_alternative<KernelLaunch>(step.what);
  }));
}

// A convolution of one channel has no vectors: as part of a kernel of one thread it would take
// longer than rounds of launches.
TEST(OpenclCodeGenerator, the_host_takes_loops_whose_products_have_no_vectors) {
  DeviceFacts facts = someFacts();
  facts.isCpu = facts.hasFineSvm = true;
  const ProgramImage image = compileFor(facts, R"(
    func.func @main(%x: tensor<1x1x64x64xf32>, %w: tensor<1x1x3x3xf32>) -> tensor<1x1x64x64xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.constant dense<40> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<1x1x64x64xf32>
        cond {
          %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        } do {
          %p = stablehlo.convolution(%y, %w)
              dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
              window = {stride = [1, 1], pad = [[1, 1], [1, 1]]}
              {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
              : (tensor<1x1x64x64xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x64x64xf32>
          %s = stablehlo.tanh %p : tensor<1x1x64x64xf32>
          %j = stablehlo.add %i, %one : tensor<i32>
          stablehlo.return %j, %s : tensor<i32>, tensor<1x1x64x64xf32>
        }
      return %r#1 : tensor<1x1x64x64xf32>
    })");
  EXPECT_TRUE(forEachStep(image.steps, [](const Step& step) {
    return !std::holds_alternative<KernelLaunch>(step.what);
  }));
}

// Products and fusions are estimated; a loop may take for ever, even as a kernel, and nobody says
// what the host takes.
TEST(OpenclCodeGenerator, says_how_long_programs_of_kernels_take) {
  DeviceFacts facts = someFacts();
  facts.isCpu = facts.hasFineSvm = true;
  auto estimate = [&](const std::string& steps) {
    return compileFor(facts, "func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {\n" +
                                 steps + "\nreturn %r : tensor<64x64xf32>\n}")
        .estimatedNs;
  };
  const std::string dot =
      "%r = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : "
      "(tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>";
  const double tanhNs = estimate("%r = stablehlo.tanh %x : tensor<64x64xf32>");
  EXPECT_GT(tanhNs, 500);
  EXPECT_LT(tanhNs, 50'000);
  EXPECT_GT(estimate(dot), 64 * 64 * 64 / 50.0);
  EXPECT_LT(estimate(dot), 64 * 64 * 64.0);
  EXPECT_EQ(estimate(R"(%r = stablehlo.while(%y = %x) : tensor<64x64xf32>
      cond {
        %true = stablehlo.constant dense<true> : tensor<i1>
        stablehlo.return %true : tensor<i1>
      } do {
        %s = stablehlo.negate %y : tensor<64x64xf32>
        stablehlo.return %s : tensor<64x64xf32>
      })"),
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(estimate("%r = \"stablehlo.cholesky\"(%x) {lower = true} : "
                     "(tensor<64x64xf32>) -> tensor<64x64xf32>"),
            std::numeric_limits<double>::infinity());
}

// Programs of many arrays, for a device whose kernels have no more than 128 parameters.
class FewParameters : public ::testing::TestWithParam<const char*> {
 protected:
  FewParameters() { setFlagForTest("ISTHMUS_OPENCL_KERNELS", GetParam()); }
  void TearDown() override { setFlagForTest("ISTHMUS_OPENCL_KERNELS", ""); }

  static std::string join(int count, const std::function<std::string(int)>& item) {
    std::string text;
    for (int i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + item(i);
    return text;
  }
  static std::string repeat(int count, const std::string& item) {
    return join(count, [&](int) { return item; });
  }
  static std::string numbered(int count, const std::string& name) {
    return join(count, [&](int i) { return name + std::to_string(i); });
  }
  // The most parameters of a launch.
  static size_t maxParametersOf(const ProgramImage& image) {
    size_t most = 0;
    forEachStep(image.steps, [&](const Step& step) {
      if (auto* launch = std::get_if<KernelLaunch>(&step.what)) {
        most = std::max(most, launch->buffers.size());
      }
      return true;
    });
    return most;
  }
};

TEST_P(FewParameters, hold_for_concatenations_and_fusions) {
  constexpr int kArrays = 600;
  std::string joined, summed = "%s0 = stablehlo.negate %a0 : tensor<3xf32>\n";
  for (int i = 0; i < kArrays; ++i) {
    const std::string n = std::to_string(i);
    joined += "%b" + n + " = stablehlo.reshape %a" + n + " : (tensor<3xf32>) -> tensor<1x3xf32>\n";
    if (i == 0) continue;
    summed += "%s" + n + " = stablehlo.add %s" + std::to_string(i - 1) + ", %a" + n +
              " : tensor<3xf32>\n";
  }
  const std::string arguments =
      join(kArrays, [](int i) { return "%a" + std::to_string(i) + ": tensor<3xf32>"; });
  const ProgramImage image = compileFor(
      someFacts(), "func.func @main(" + arguments + ") -> (tensor<600x3xf32>, tensor<3xf32>) {\n" +
                       joined + summed + "%j = stablehlo.concatenate " + numbered(kArrays, "%b") +
                       ", dim = 0 : (" + repeat(kArrays, "tensor<1x3xf32>") +
                       ") -> tensor<600x3xf32>\n"
                       "return %j, %s599 : tensor<600x3xf32>, tensor<3xf32>\n}");
  EXPECT_GT(maxParametersOf(image), 2U);
  EXPECT_LE(maxParametersOf(image), 128U);
  EXPECT_TRUE(image.host.functions.empty());
}

// What cannot be split is the host's.
TEST_P(FewParameters, hold_for_single_operations) {
  constexpr int kArrays = 4;
  const std::string init = "tensor<f32>", array = "tensor<8xf32>";
  std::string body;
  for (int i = 0; i < kArrays; ++i) {
    const std::string n = std::to_string(i);
    body += "%s" + n + " = stablehlo.add %p" + n + ", %q" + n + " : tensor<f32>\n";
  }
  auto typed = [&](const std::string& name, const std::string& type) {
    return join(kArrays, [&](int i) { return name + std::to_string(i) + ": " + type; });
  };
  const std::string results = repeat(kArrays, init);
  DeviceFacts facts = someFacts();
  facts.parameterBytes = 10 * sizeof(void*);
  const ProgramImage image = compileFor(
      facts, "func.func @main(" + typed("%a", array) + ", " + typed("%i", init) + ") -> (" +
                 results + ") {\n%r:4 = \"stablehlo.reduce\"(" + numbered(kArrays, "%a") + ", " +
                 numbered(kArrays, "%i") + ") ({\n^bb0(" + typed("%p", init) + ", " +
                 typed("%q", init) + "):\n" + body + "stablehlo.return " + numbered(kArrays, "%s") +
                 " : " + results + "\n}) {dimensions = array<i64: 0>} : (" +
                 repeat(kArrays, array) + ", " + results + ") -> (" + results + ")\nreturn " +
                 numbered(kArrays, "%r#") + " : " + results + "\n}");
  EXPECT_LE(maxParametersOf(image), 10U);
  EXPECT_EQ(image.host.functions.size(), 1U);
}

// SPIR-V has no instruction that adds up several products of bytes, which AVX-512's VNNI is.
TEST(OpenclCodeGenerator, the_host_takes_large_products_of_bytes) {
  auto compile = [](bool isCpu, int size) {
    DeviceFacts facts = someFacts();
    facts.isCpu = facts.hasFineSvm = isCpu;
    const std::string n = std::to_string(size), array = "tensor<" + n + "x" + n + "x";
    return compileFor(facts, "func.func @main(%x: " + array + "i8>, %w: " + array + "i8>) -> " +
                                 array +
                                 "i32> {\n"
                                 "%p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] "
                                 ": (" +
                                 array + "i8>, " + array + "i8>) -> " + array +
                                 "i32>\n"
                                 "%t = stablehlo.negate %p : " +
                                 array + "i32>\nreturn %t : " + array + "i32>\n}");
  };
  const bool hasInstruction = __builtin_cpu_supports("avx512vnni");
  const ProgramImage large = compile(true, 512);
  EXPECT_EQ(large.host.functions.size(), hasInstruction ? 1U : 0U);
  EXPECT_EQ(large.kernels.empty(), false);
  // No wait is worth a small one, nor any where the device is another.
  EXPECT_TRUE(compile(true, 32).host.functions.empty());
  EXPECT_TRUE(compile(false, 512).host.functions.empty());
}

// Kernels of the device have vectors of channels of a group, and the host's of all.
TEST(OpenclCodeGenerator, the_host_takes_convolutions_of_few_channels_a_group) {
  auto countHostFunctions = [](bool isCpu, const std::string& element, int size, int ofGroup) {
    DeviceFacts facts = someFacts();
    facts.isCpu = facts.hasFineSvm = isCpu;
    facts.vectorBits = 256;
    const std::string n = std::to_string(size), of = "x" + element + ">";
    const std::string image = "tensor<1x" + n + "x" + n + "x64" + of;
    const std::string kernel = "tensor<3x3x" + std::to_string(ofGroup) + "x64" + of;
    return compileFor(facts, "func.func @main(%x: " + image + ", %w: " + kernel + ") -> " + image +
                                 " {\n%c = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, "
                                 "f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} "
                                 "{batch_group_count = 1 : i64, feature_group_count = " +
                                 std::to_string(64 / ofGroup) + " : i64} : (" + image + ", " +
                                 kernel + ") -> " + image + "\nreturn %c : " + image + "\n}")
        .host.functions.size();
  };
  for (int ofGroup : {2, 4}) EXPECT_EQ(countHostFunctions(true, "f32", 50, ofGroup), 1U);
  for (int ofGroup : {1, 8, 64}) EXPECT_EQ(countHostFunctions(true, "f32", 50, ofGroup), 0U);
  EXPECT_EQ(countHostFunctions(true, "f32", 5, 2), 0U);
  EXPECT_EQ(countHostFunctions(true, "bf16", 50, 2), 0U);
  EXPECT_EQ(countHostFunctions(false, "f32", 50, 2), 0U);
}

// The number of functions of the host that a product of `batch` matrices needs, or a 3 x 3
// convolution of 50 x 50 images.
size_t countHostProducts(const std::string& element, int batch, int rows, int terms, int columns) {
  DeviceFacts facts = someFacts();
  facts.isCpu = facts.hasFineSvm = facts.hasHalves = true;
  auto array = [&](const std::string& of, int first, int second) {
    const std::string many = batch > 1 ? std::to_string(batch) + "x" : "";
    return "tensor<" + many + std::to_string(first) + "x" + std::to_string(second) + "x" + of + ">";
  };
  const std::string lhs = array(element, rows, terms), rhs = array(element, terms, columns);
  const std::string result = array(element == "i8" ? "i32" : element, rows, columns);
  const std::string dims = batch > 1 ? "batching_dims = [0] x [0], contracting_dims = [2] x [1]"
                                     : "contracting_dims = [1] x [0]";
  return compileFor(facts, "func.func @main(%x: " + lhs + ", %w: " + rhs + ") -> " + result +
                               " {\n%p = stablehlo.dot_general %x, %w, " + dims + " : (" + lhs +
                               ", " + rhs + ") -> " + result + "\nreturn %p : " + result + "\n}")
      .host.functions.size();
}
size_t countHostConvolutions(const std::string& element, int inputs, int outputs) {
  DeviceFacts facts = someFacts();
  facts.isCpu = facts.hasFineSvm = facts.hasHalves = true;
  const std::string in = std::to_string(inputs), out = std::to_string(outputs);
  const std::string image = "tensor<8x50x50x" + in + "x" + element + ">";
  const std::string kernel = "tensor<3x3x" + in + "x" + out + "x" + element + ">";
  const std::string result =
      "tensor<8x50x50x" + out + "x" + (element == "i8" ? "i32" : element) + ">";
  return compileFor(facts, "func.func @main(%x: " + image + ", %w: " + kernel + ") -> " + result +
                               " {\n%c = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, "
                               "f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} "
                               "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (" +
                               image + ", " + kernel + ") -> " + result +
                               "\nreturn %c : " + result + "\n}")
      .host.functions.size();
}

// An image by a filter has no features that fill a vector: the host's vectors are rows of it.
TEST(OpenclCodeGenerator, the_host_takes_filters_of_images) {
  auto countHostFunctions = [](int size) {
    DeviceFacts facts = someFacts();
    facts.isCpu = facts.hasFineSvm = true;
    const std::string n = std::to_string(size);
    const std::string image = "tensor<3x1x" + n + "x" + n + "xf32>";
    return compileFor(facts,
                      "func.func @main(%x: " + image + ", %w: tensor<1x1x7x7xf32>) -> " + image +
                          " {\n%c = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, "
                          "1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[3, 3], [3, 3]]} "
                          "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (" +
                          image + ", tensor<1x1x7x7xf32>) -> " + image + "\nreturn %c : " + image +
                          "\n}")
        .host.functions.size();
  };
  EXPECT_EQ(countHostFunctions(64), 1U);
  EXPECT_EQ(countHostFunctions(8), 0U);
}

// Which took up to fifty times as long, element by element.
TEST(OpenclCodeGenerator, the_host_takes_narrow_products_that_become_no_vectors) {
  for (const char* element : {"f16", "i8"}) {
    SCOPED_TRACE(element);
    EXPECT_EQ(countHostProducts(element, 1, 1000, 1000, 3), 1U);
    EXPECT_EQ(countHostConvolutions(element, 16, 3), 1U);
    // Of many small matrices it would convert each.
    EXPECT_EQ(countHostProducts(element, 4096, 8, 16, 8), 0U);
    // These are vectors.
    EXPECT_EQ(countHostConvolutions(element, 17, 8), 0U);
  }
}

TEST(OpenclCodeGenerator, the_host_takes_convolutions_of_bytes_to_few_features) {
  const size_t ofInstructions = __builtin_cpu_supports("avx512vnni") ? 1 : 0;
  for (int features : {18, 64}) EXPECT_EQ(countHostConvolutions("i8", features, 8), ofInstructions);
  EXPECT_EQ(countHostProducts("i8", 1, 1024, 1024, 8), ofInstructions);
}

INSTANTIATE_TEST_SUITE_P(Forms, FewParameters, ::testing::Values("groups", "vectors", "elements"),
                         [](const auto& form) { return std::string(form.param); });

INSTANTIATE_TEST_SUITE_P(Forms, WithoutDoubles, ::testing::Values("groups", "vectors", "elements"),
                         [](const auto& form) { return std::string(form.param); });

}  // namespace
}  // namespace isthmus::opencl

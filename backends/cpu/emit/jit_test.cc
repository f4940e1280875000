// Modules become objects, and objects become functions that run.
#include "backends/cpu/emit/jit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

#include "backends/cpu/load/object_loader.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"

namespace isthmus::cpu {
namespace {

// double name(double x) { return callee(x) * factor; } with the factor in a constant global.
void addScaledCall(llvm::Module& module, const char* name, const char* callee, double factor) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* f64 = llvm::Type::getDoubleTy(context);
  auto* type = llvm::FunctionType::get(f64, {f64}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, &module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", function));
  llvm::FunctionCallee target = module.getOrInsertFunction(callee, type);
  llvm::Value* inner = builder.CreateCall(target, {function->getArg(0)});
  builder.CreateRet(builder.CreateFMul(inner, llvm::ConstantFP::get(f64, factor)));
}

// The functions of a module in LLVM's assembly language.
StatusOr<std::unique_ptr<LoadedCode>> loadText(const char* text) {
  std::vector<JitModule> modules(1);
  ISTHMUS_ASSIGN_OR_RETURN(modules[0], makeModule("m", hostTarget()));
  llvm::SMDiagnostic error;
  if (llvm::parseAssemblyInto(llvm::MemoryBufferRef(text, "m"), modules[0].module.get(), nullptr,
                              error)) {
    return invalidArgument(error.getMessage().str());
  }
  ISTHMUS_ASSIGN_OR_RETURN(auto objects,
                           compileModules(modules, hostTarget(), {.verify = true}, 1));
  return LoadedCode::load(objects);
}

TEST(Jit, objects_call_each_other_and_the_c_library) {
  std::vector<JitModule> modules;
  for (const char* name : {"first", "second"}) {
    auto module = makeModule(name, hostTarget());
    ASSERT_TRUE(module.ok()) << module.status().message();
    modules.push_back(std::move(*module));
  }
  addScaledCall(*modules[0].module, "outer", "inner", 3.0);
  addScaledCall(*modules[1].module, "inner", "sin", 0.5);
  std::string assembly;
  CodegenOptions options;
  options.verify = true;
  auto objects = compileModules(modules, hostTarget(), options, 2);
  ASSERT_TRUE(objects.ok()) << objects.status().message();
  auto code = LoadedCode::load(*objects);
  ASSERT_TRUE(code.ok()) << code.status().message();
  auto* outer = reinterpret_cast<double (*)(double)>((*code)->lookup("outer"));
  ASSERT_NE(outer, nullptr);
  EXPECT_EQ(outer(1.25), std::sin(1.25) * 0.5 * 3.0);
  EXPECT_EQ((*code)->lookup("absent"), nullptr);
}

// out = |x| is small ? x : y * y with the sign of x, of 16 floats; the sign's mask comes from
// memory, as constants of vectors do.
constexpr char kMaskedSelectOfBits[] = R"(
  define void @restore_sign(ptr %x, ptr %y, ptr %out) {
    %xi = load <16 x i32>, ptr %x, align 4
    %yf = load <16 x float>, ptr %y, align 4
    %xf = bitcast <16 x i32> %xi to <16 x float>
    %magnitude = call <16 x float> @llvm.fabs.v16f32(<16 x float> %xf)
    %is_small = fcmp olt <16 x float> %magnitude, splat (float 7.812500e-03)
    %scaled = fmul <16 x float> %yf, %yf
    %positive = call <16 x float> @llvm.fabs.v16f32(<16 x float> %scaled)
    %bits = bitcast <16 x float> %positive to <16 x i32>
    %sign = and <16 x i32> %xi, splat (i32 -2147483648)
    %both = or disjoint <16 x i32> %sign, %bits
    %result = select <16 x i1> %is_small, <16 x i32> %xi, <16 x i32> %both
    store <16 x i32> %result, ptr %out, align 4
    ret void
  }
)";

// Fails where LLVM's wrong truth tables are used: llvm_workarounds.h.
TEST(Jit, selects_of_bits_below_a_mask_keep_their_bits) {
  auto code = loadText(kMaskedSelectOfBits);
  ASSERT_TRUE(code.ok()) << code.status().message();
  auto* restoreSign = reinterpret_cast<void (*)(const float*, const float*, float*)>(
      (*code)->lookup("restore_sign"));
  ASSERT_NE(restoreSign, nullptr);
  float x[16], y[16], out[16];
  for (int i = 0; i < 16; ++i) {
    x[i] = (i % 3 == 0 ? 0.001f : 1.0f) * static_cast<float>(i % 2 == 0 ? i : -i);
    y[i] = static_cast<float>(i) + 0.5f;
  }
  restoreSign(x, y, out);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(out[i], std::abs(x[i]) < 7.8125e-3f ? x[i] : std::copysign(y[i] * y[i], x[i])) << i;
  }
}

// out = {sin x, cos x}, as of the slow paths of a sine and a cosine that passes have joined.
constexpr char kSineAndCosine[] = R"(
  declare float @sinf(float)
  declare float @cosf(float)
  declare double @sin(double)
  declare double @cos(double)
  define void @singles(float %x, ptr %out) {
    %s = call float @sinf(float %x) memory(none)
    %c = call float @cosf(float %x) memory(none)
    %next = getelementptr float, ptr %out, i64 1
    store float %s, ptr %out, align 4
    store float %c, ptr %next, align 4
    ret void
  }
  define void @doubles(double %x, ptr %out) {
    %s = call double @sin(double %x) memory(none)
    %c = call double @cos(double %x) memory(none)
    %next = getelementptr double, ptr %out, i64 1
    store double %s, ptr %out, align 8
    store double %c, ptr %next, align 8
    ret void
  }
)";

TEST(Jit, a_sine_and_a_cosine_may_become_one_call) {
  auto code = loadText(kSineAndCosine);
  ASSERT_TRUE(code.ok()) << code.status().message();
  auto* singles = reinterpret_cast<void (*)(float, float*)>((*code)->lookup("singles"));
  auto* doubles = reinterpret_cast<void (*)(double, double*)>((*code)->lookup("doubles"));
  ASSERT_TRUE(singles && doubles);
  float single[2];
  singles(1e6f, single);
  EXPECT_FLOAT_EQ(single[0], std::sin(1e6f));
  EXPECT_FLOAT_EQ(single[1], std::cos(1e6f));
  double both[2];
  doubles(1e6, both);
  EXPECT_DOUBLE_EQ(both[0], std::sin(1e6));
  EXPECT_DOUBLE_EQ(both[1], std::cos(1e6));
}

// The generators of code are used again.
TEST(Jit, objects_do_not_depend_on_what_was_compiled_before) {
  auto compile = [](const char* name, double factor) {
    auto module = makeModule("m", hostTarget());
    EXPECT_TRUE(module.ok());
    addScaledCall(*module->module, name, "sin", factor);
    auto object = compileToObject(*module->module, hostTarget());
    EXPECT_TRUE(object.ok()) << object.status().message();
    return object.ok() ? *object : std::string();
  };
  const std::string first = compile("f", 2.0);
  EXPECT_NE(compile("another_with_a_longer_name", 3.0), first);
  EXPECT_EQ(compile("f", 2.0), first);
  std::vector<std::thread> threads;
  std::vector<std::string> objects(12);
  for (size_t i = 0; i < objects.size(); ++i) {
    threads.emplace_back([&, i] { objects[i] = compile("f", 2.0); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& object : objects) EXPECT_EQ(object, first);
}

TEST(Jit, an_unknown_symbol_is_named) {
  auto module = makeModule("m", hostTarget());
  ASSERT_TRUE(module.ok());
  addScaledCall(*module->module, "f", "no_such_function", 1.0);
  auto object = compileToObject(*module->module, hostTarget());
  ASSERT_TRUE(object.ok());
  auto code = LoadedCode::load({&*object, 1});
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.status().code(), StatusCode::kNotFound);
  EXPECT_NE(code.status().message().find("no_such_function"), std::string_view::npos);
}

TEST(Jit, truncated_objects_are_refused) {
  auto module = makeModule("m", hostTarget());
  ASSERT_TRUE(module.ok());
  addScaledCall(*module->module, "f", "sin", 1.0);
  auto object = compileToObject(*module->module, hostTarget());
  ASSERT_TRUE(object.ok());
  for (size_t length = 0; length < object->size(); length += 7) {
    std::string part = object->substr(0, length);
    EXPECT_FALSE(LoadedCode::load({&part, 1}).ok()) << length;
  }
}

// What a stranger writes: every field of headers, symbols and relocations takes values at which
// arithmetic breaks. Nothing is run; whatever is loaded lies in its own pages.
TEST(Jit, hostile_objects_are_refused_or_loaded) {
  auto module = makeModule("m", hostTarget());
  ASSERT_TRUE(module.ok());
  addScaledCall(*module->module, "f", "sin", 3.0);
  addScaledCall(*module->module, "g", "f", 5.0);
  auto object = compileToObject(*module->module, hostTarget());
  ASSERT_TRUE(object.ok()) << object.status().message();
  std::mt19937_64 random(1);
  const uint64_t values[] = {0,      1,          3,          0x7f,       0xff,       0xfff1,
                             0xffff, 0x7fffffff, 0xffffffff, 1ull << 32, 1ull << 63, ~0ull};
  auto resolver = [](const std::string&) { return reinterpret_cast<void*>(&std::memcpy); };
  int refused = 0;
  for (int run = 0; run < 20'000; ++run) {
    std::string hostile = *object;
    for (int changes = 1 + static_cast<int>(random() % 3); changes-- > 0;) {
      const size_t width = size_t{1} << random() % 4;
      const size_t at = random() % (hostile.size() / width) * width;
      const uint64_t value = random() % 4 == 0 ? random() : values[random() % std::size(values)];
      std::memcpy(hostile.data() + at, &value, std::min(width, hostile.size() - at));
    }
    refused += !LoadedCode::load({&hostile, 1}, resolver).ok();
  }
  EXPECT_GT(refused, 1000);
}

// The kernel lets a process have 65,530 mappings.
TEST(Jit, many_loaded_objects_are_few_mappings) {
  auto module = makeModule("m", hostTarget());
  ASSERT_TRUE(module.ok());
  addScaledCall(*module->module, "f", "sin", 3.0);
  auto object = compileToObject(*module->module, hostTarget());
  ASSERT_TRUE(object.ok());
  auto countMappings = [] {
    std::ifstream maps("/proc/self/maps");
    return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
  };
  std::vector<std::unique_ptr<LoadedCode>> loaded;
  auto load = [&] {
    auto code = LoadedCode::load({&*object, 1});
    ASSERT_TRUE(code.ok()) << code.status().message();
    loaded.push_back(std::move(*code));
  };
  load();
  const auto before = countMappings();
  for (int i = 0; i < 2000; ++i) load();
  // Freed in no order, and their pages used again.
  for (size_t i = 1; i < loaded.size(); i += 2) loaded[i].reset();
  for (int i = 0; i < 1000; ++i) load();
  EXPECT_LT(countMappings(), before + 20);
  auto* f = reinterpret_cast<double (*)(double)>(loaded.back()->lookup("f"));
  EXPECT_EQ(f(0.5), std::sin(0.5) * 3.0);
}

TEST(Jit, assembly_and_ir_can_be_had) {
  auto module = makeModule("m", hostTarget());
  ASSERT_TRUE(module.ok());
  addScaledCall(*module->module, "f", "sin", 1.0);
  std::string assembly, ir;
  CodegenOptions options;
  options.assembly = &assembly;
  options.llvmIr = &ir;
  ASSERT_TRUE(compileToObject(*module->module, hostTarget(), options).ok());
  EXPECT_NE(ir.find("define double @f"), std::string::npos);
  EXPECT_NE(assembly.find("f:"), std::string::npos);
}

}  // namespace
}  // namespace isthmus::cpu

// Modules become objects, and objects become functions that run.
#include "backends/cpu/jit.h"

#include <cmath>

#include <gtest/gtest.h>

#include "backends/cpu/object_loader.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

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

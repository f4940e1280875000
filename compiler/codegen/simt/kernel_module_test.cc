// Which kernels share a function.
#include "compiler/codegen/simt/kernel_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace isthmus::codegen {
namespace {

using testing::ElementsAre;

// to[0] = from[0] + `addend`; `node` is metadata of the load.
std::string kernelText(const std::string& name, const std::string& addend,
                       const std::string& node = "") {
  return "define spir_kernel void @" + name +
         "(ptr addrspace(1) %from, ptr addrspace(1) %to) {\n"
         "%" +
         name + "_x = load float, ptr addrspace(1) %from" + node +
         "\n"
         "%y = fadd float %" +
         name + "_x, " + addend +
         "\n"
         "store float %y, ptr addrspace(1) %to\nret void\n}\n";
}

class ShareFunctions : public testing::Test {
 protected:
  void parse(const std::string& text) {
    llvm::SMDiagnostic problem;
    module_ = llvm::parseAssemblyString(text, problem, llvmContext_);
    ASSERT_TRUE(module_) << problem.getMessage().str();
    kernels_.emplace(*module_, form_);
  }
  void add(const OpKernel& kernel) {
    mlir::OwningOpRef<mlir::ModuleOp> op =
        mlir::ModuleOp::create(mlir::UnknownLoc::get(&context_), "any");
    OpKernels all;
    all.stages.push_back(kernel);
    kernels_->add(op->getOperation(), all);
  }
  // The names of the kernels' functions, of which the module has each and no other.
  std::vector<std::string> share() {
    kernels_->shareFunctions();
    EXPECT_FALSE(llvm::verifyModule(*module_));
    std::vector<std::string> names;
    for (const KernelInfo& kernel : kernels_->kernels()) names.push_back(kernel.name);
    for (const llvm::Function& function : *module_) {
      EXPECT_THAT(names, testing::Contains(function.getName().str()));
    }
    for (const std::string& name : names) EXPECT_TRUE(module_->getFunction(name)) << name;
    return names;
  }

  llvm::LLVMContext llvmContext_;
  mlir::MLIRContext context_{mlir::MLIRContext::Threading::DISABLED};
  WorkItemForm form_;
  std::unique_ptr<llvm::Module> module_;
  std::optional<KernelModule> kernels_;
};

TEST_F(ShareFunctions, of_the_same_code) {
  parse(kernelText("kernel0", "1.0") + kernelText("kernel1", "2.0") + kernelText("kernel2", "1.0") +
        kernelText("kernel3", "2.0") + kernelText("kernel4", "1.0"));
  for (int i = 0; i < 5; ++i) add({.name = "kernel" + std::to_string(i), .items = {8, 1, 1}});
  std::vector<std::string> expected = {"kernel0", "kernel1", "kernel0", "kernel1", "kernel0"};
  EXPECT_EQ(share(), expected);
  EXPECT_EQ(share(), expected);
}

TEST_F(ShareFunctions, only_if_they_are_launched_alike) {
  parse(kernelText("kernel0", "1.0") + kernelText("kernel1", "1.0") + kernelText("kernel2", "1.0") +
        kernelText("kernel3", "1.0"));
  add({.name = "kernel0", .items = {8, 1, 1}});
  add({.name = "kernel1", .items = {9, 1, 1}});
  add({.name = "kernel2", .items = {8, 1, 1}, .groupThreads = 64});
  add({.name = "kernel3", .items = {8, 1, 1}, .isVector = true});
  EXPECT_THAT(share(), ElementsAre("kernel0", "kernel1", "kernel2", "kernel3"));
}

// They would be the same to LLVM's comparison, which sees lists of one node each.
TEST_F(ShareFunctions, only_with_the_same_metadata) {
  parse(kernelText("kernel0", "1.0", ", !noalias !2") +
        kernelText("kernel1", "1.0", ", !noalias !4") +
        kernelText("kernel2", "1.0", ", !noalias !2") +
        "!0 = distinct !{!0}\n!1 = distinct !{!1, !0}\n!2 = !{!1}\n"
        "!3 = distinct !{!3, !0}\n!4 = !{!3}\n");
  for (int i = 0; i < 3; ++i) add({.name = "kernel" + std::to_string(i), .items = {8, 1, 1}});
  EXPECT_THAT(share(), ElementsAre("kernel0", "kernel1", "kernel0"));
}

}  // namespace
}  // namespace isthmus::codegen

// Kernels over tiles become kernels of work-items: the form, and what cannot be one.
#include "compiler/codegen/simt/work_item_kernel.h"

#include <gtest/gtest.h>

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace isthmus::codegen {
namespace {

// result[i] = -operand[i] for the tiles from begin to end.
constexpr const char* kNegate = R"(
  define void @negate(ptr noalias %buffers, i64 %begin, i64 %end) {
  entry:
    %operand = load ptr, ptr %buffers
    %slot = getelementptr ptr, ptr %buffers, i64 1
    %result = load ptr, ptr %slot
    br label %loop
  loop:
    %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
    %from = getelementptr float, ptr %operand, i64 %i
    %x = load float, ptr %from
    %y = fneg float %x
    %to = getelementptr float, ptr %result, i64 %i
    store float %y, ptr %to
    %next = add nuw nsw i64 %i, 1
    %more = icmp slt i64 %next, %end
    br i1 %more, label %loop, label %done
  done:
    ret void
  }
)";

WorkItemForm testForm() {
  WorkItemForm form;
  form.globalIndex = [](llvm::IRBuilder<>& b) -> llvm::Value* {
    llvm::Module& module = *b.GetInsertBlock()->getModule();
    return b.CreateCall(module.getOrInsertFunction("index", b.getInt64Ty()), {});
  };
  return form;
}

std::unique_ptr<llvm::Module> parse(const char* text, llvm::LLVMContext& context) {
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, problem, context);
  EXPECT_TRUE(module) << problem.getMessage().str();
  return module;
}

TEST(WorkItemKernel, parameters_are_global_and_the_loop_over_one_tile_goes) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = parse(kNegate, context);
  Status status = makeWorkItemKernel(*module, "negate", 2, 100, testForm());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  llvm::Function* kernel = module->getFunction("negate");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->getCallingConv(), llvm::CallingConv::SPIR_KERNEL);
  ASSERT_EQ(kernel->arg_size(), 2u);
  EXPECT_EQ(kernel->getArg(1)->getType()->getPointerAddressSpace(), 1u);
  int stores = 0;
  for (llvm::BasicBlock& block : *kernel) {
    for (llvm::Instruction& instruction : block) {
      EXPECT_FALSE(llvm::isa<llvm::PHINode>(instruction));
      EXPECT_FALSE(llvm::isa<llvm::AllocaInst>(instruction));
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
        EXPECT_EQ(store->getPointerAddressSpace(), 1u);
        ++stores;
      }
    }
  }
  EXPECT_EQ(stores, 1);
}

TEST(WorkItemKernel, work_items_beyond_the_tiles_do_nothing) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = parse(kNegate, context);
  ASSERT_TRUE(makeWorkItemKernel(*module, "negate", 2, 100, testForm()).ok());
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  EXPECT_NE(text.find("icmp ult i64 %2, 100"), std::string::npos) << text;
}

TEST(WorkItemKernel, missing_function_is_an_error) {
  llvm::LLVMContext context;
  llvm::Module module("empty", context);
  Status status = makeWorkItemKernel(module, "absent", 1, 1, testForm());
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_NE(status.message().find("absent"), std::string_view::npos);
}

}  // namespace
}  // namespace isthmus::codegen

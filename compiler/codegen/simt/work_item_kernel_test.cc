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
  form.indices = [](llvm::IRBuilder<>& b, const Items&) -> std::array<llvm::Value*, 3> {
    llvm::Module& module = *b.GetInsertBlock()->getModule();
    return {b.CreateCall(module.getOrInsertFunction("index", b.getInt64Ty()), {}), b.getInt64(0),
            b.getInt64(0)};
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

TEST(WorkItemKernel, work_items_take_several_tiles) {
  for (int64_t tiles : {98, 100}) {
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module = parse(kNegate, context);
    ASSERT_TRUE(makeWorkItemKernel(*module, "negate", 2, tiles, testForm(), /*groupThreads=*/1,
                                   /*share=*/7)
                    .ok());
    EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    const std::string items = std::to_string((tiles + 6) / 7);
    EXPECT_NE(text.find("icmp ult i64 %2, " + items), std::string::npos) << text;
    EXPECT_NE(text.find("mul nuw nsw i64 %2, 7"), std::string::npos) << text;
    EXPECT_EQ(text.find("call i64 @llvm.smin.i64") != std::string::npos, tiles == 100) << text;
  }
}

// Each thread of a group waits for the others once.
constexpr const char* kMeet = R"(
  declare i64 @isthmus_thread_in_group()
  declare void @isthmus_group_barrier()
  define void @meet(ptr noalias %buffers, i64 %begin, i64 %end) {
    %thread = call i64 @isthmus_thread_in_group()
    call void @isthmus_group_barrier()
    %result = load ptr, ptr %buffers
    %to = getelementptr i64, ptr %result, i64 %begin
    store i64 %thread, ptr %to
    ret void
  }
)";

TEST(WorkItemKernel, a_group_asks_its_device) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = parse(kMeet, context);
  WorkItemForm form = testForm();
  EXPECT_EQ(makeWorkItemKernel(*module, "meet", 1, 9, form, 64).code(), StatusCode::kUnimplemented);
  auto calls = [](const char* name) {
    return [name](llvm::IRBuilder<>& b) -> llvm::Value* {
      llvm::Module& module = *b.GetInsertBlock()->getModule();
      return b.CreateCall(module.getOrInsertFunction(name, b.getInt64Ty()), {});
    };
  };
  form.groupIndex = calls("group");
  form.threadInGroup = calls("thread");
  form.barrier = calls("wait");
  ASSERT_TRUE(makeWorkItemKernel(*module, "meet", 1, 9, form, 64).ok());
  EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
  for (const char* name : {"group", "thread", "wait"}) {
    ASSERT_TRUE(module->getFunction(name)) << name;
    EXPECT_EQ(module->getFunction(name)->getNumUses(), 1u) << name;
  }
  EXPECT_EQ(module->getFunction("isthmus_thread_in_group")->getNumUses(), 0u);
  // No condition stands above the barrier.
  EXPECT_EQ(module->getFunction("meet")->size(), 1u);
}

// Reads one element of an operand before and behind a barrier.
constexpr const char* kReadTwice = R"(
  declare i64 @isthmus_thread_in_group()
  declare void @isthmus_group_barrier()
  define void @twice(ptr noalias %buffers, i64 %begin, i64 %end) {
    %operand = load ptr, ptr %buffers
    %from = getelementptr i64, ptr %operand, i64 %begin
    %first = load i64, ptr %from, !invariant.load !0
    call void @isthmus_group_barrier()
    %second = load i64, ptr %from, !invariant.load !0
    %slot = getelementptr ptr, ptr %buffers, i64 1
    %result = load ptr, ptr %slot
    %sum = add i64 %first, %second
    %to = getelementptr i64, ptr %result, i64 %begin
    store i64 %sum, ptr %to
    ret void
  }
  !0 = !{}
)";

TEST(WorkItemKernel, an_operand_is_read_once_and_no_later_pass_may_read_it_elsewhere) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = parse(kReadTwice, context);
  WorkItemForm form = testForm();
  form.groupIndex = [](llvm::IRBuilder<>& b) -> llvm::Value* {
    llvm::Module& module = *b.GetInsertBlock()->getModule();
    return b.CreateCall(module.getOrInsertFunction("group", b.getInt64Ty()), {});
  };
  form.threadInGroup = form.groupIndex;
  form.barrier = form.groupIndex;
  ASSERT_TRUE(makeWorkItemKernel(*module, "twice", 2, 9, form, 64).ok());
  int loads = 0;
  for (llvm::BasicBlock& block : *module->getFunction("twice")) {
    for (llvm::Instruction& instruction : block) {
      loads += llvm::isa<llvm::LoadInst>(instruction);
      EXPECT_FALSE(instruction.hasMetadata(llvm::LLVMContext::MD_invariant_load));
    }
  }
  EXPECT_EQ(loads, 1);
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

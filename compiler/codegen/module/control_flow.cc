#include "compiler/codegen/module/control_flow.h"

#include "llvm/ADT/SmallVector.h"

namespace isthmus::codegen {
namespace {

llvm::BasicBlock* blockAtEnd(llvm::IRBuilder<>& b, llvm::StringRef name) {
  return llvm::BasicBlock::Create(b.getContext(), name, b.GetInsertBlock()->getParent());
}

}  // namespace

Status emitLoop(llvm::IRBuilder<>& b, llvm::function_ref<StatusOr<llvm::Value*>()> emitCondition,
                llvm::function_ref<Status()> emitBody) {
  llvm::BasicBlock* test = blockAtEnd(b, "while.test");
  llvm::BasicBlock* body = blockAtEnd(b, "while.body");
  llvm::BasicBlock* exit = blockAtEnd(b, "while.exit");
  b.CreateBr(test);
  b.SetInsertPoint(test);
  ISTHMUS_ASSIGN_OR_RETURN(llvm::Value * goesOn, emitCondition());
  b.CreateCondBr(goesOn, body, exit);
  b.SetInsertPoint(body);
  ISTHMUS_RETURN_IF_ERROR(emitBody());
  b.CreateBr(test);
  b.SetInsertPoint(exit);
  return {};
}

Status emitBranches(llvm::IRBuilder<>& b, llvm::Value* index, bool isIf, size_t count,
                    llvm::function_ref<Status(size_t)> emitBranch) {
  llvm::BasicBlock* exit = blockAtEnd(b, "branch.exit");
  llvm::SmallVector<llvm::BasicBlock*, 4> blocks;
  for (size_t i = 0; i < count; ++i) blocks.push_back(blockAtEnd(b, "branch"));
  if (isIf) {
    b.CreateCondBr(b.CreateICmpNE(index, b.getInt8(0)), blocks.front(), blocks.back());
  } else {
    // An index outside of the branches means the last one.
    llvm::SwitchInst* choice = b.CreateSwitch(index, blocks.back(), blocks.size());
    for (unsigned i = 0; i + 1 < blocks.size(); ++i) choice->addCase(b.getInt32(i), blocks[i]);
  }
  for (size_t i = 0; i < count; ++i) {
    b.SetInsertPoint(blocks[i]);
    ISTHMUS_RETURN_IF_ERROR(emitBranch(i));
    b.CreateBr(exit);
  }
  b.SetInsertPoint(exit);
  return {};
}

}  // namespace isthmus::codegen

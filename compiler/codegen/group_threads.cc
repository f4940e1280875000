// What a kernel whose tiles are shared by a group of threads asks of its device.
#include "compiler/codegen/group_threads.h"

#include "llvm/IR/Module.h"

namespace isthmus::codegen {
namespace {

llvm::FunctionCallee declare(LoopBuilder& loops, const char* name, llvm::Type* result) {
  llvm::FunctionCallee callee = loops.function()->getParent()->getOrInsertFunction(
      name, llvm::FunctionType::get(result, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  // Neither may be moved to where only some threads come by.
  function->addFnAttr(llvm::Attribute::Convergent);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  return callee;
}

}  // namespace

llvm::Value* threadInGroup(LoopBuilder& loops) {
  llvm::Value*& thread = loops.entry()->scalars[kThreadInGroupSymbol];
  if (!thread) {
    llvm::IRBuilder<>& b = loops.at(loops.entry());
    thread = b.CreateCall(declare(loops, kThreadInGroupSymbol, b.getInt64Ty()), {}, "thread");
  }
  return thread;
}

void groupBarrier(LoopBuilder& loops) {
  llvm::IRBuilder<>& b = loops.here();
  b.CreateCall(declare(loops, kGroupBarrierSymbol, b.getVoidTy()));
}

GroupMemory::GroupMemory(LoopBuilder& loops, llvm::Type* element, uint64_t count)
    : loops_(loops), value_(element), element_(element) {
  // Bools have no bits of their own in memory.
  if (element->isIntegerTy(1)) element_ = llvm::Type::getInt8Ty(loops.context());
  auto* type = llvm::ArrayType::get(element_, count);
  memory_ = new llvm::GlobalVariable(*loops.function()->getParent(), type, false,
                                     llvm::GlobalValue::InternalLinkage,
                                     llvm::UndefValue::get(type), "group", nullptr,
                                     llvm::GlobalValue::NotThreadLocal, kGroupMemorySpace);
}

llvm::Value* GroupMemory::address(llvm::Value* index) const {
  return loops_.here().CreateInBoundsGEP(element_, memory_, index);
}

llvm::Value* GroupMemory::load(llvm::Value* index) const {
  llvm::Value* loaded = loops_.here().CreateLoad(element_, address(index));
  return value_ == element_ ? loaded : loops_.here().CreateTrunc(loaded, value_);
}

void GroupMemory::store(llvm::Value* index, llvm::Value* value) const {
  llvm::Value* stored =
      value->getType() == element_ ? value : loops_.here().CreateZExt(value, element_);
  loops_.here().CreateStore(stored, address(index));
}

}  // namespace isthmus::codegen

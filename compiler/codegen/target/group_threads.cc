// What a kernel whose tiles are shared by a group of threads asks of its device.
#include "compiler/codegen/target/group_threads.h"

#include "llvm/IR/Module.h"

namespace isthmus::codegen {
namespace {

llvm::FunctionCallee declare(LoopBuilder& loops, const char* name, llvm::Type* result,
                             llvm::ArrayRef<llvm::Type*> parameters = {}) {
  llvm::FunctionCallee callee = loops.function()->getParent()->getOrInsertFunction(
      name, llvm::FunctionType::get(result, parameters, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  // None may be moved to where only some threads come by.
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

llvm::Value* subgroupShuffle(LoopBuilder& loops, llvm::Value* value, unsigned distance) {
  llvm::IRBuilder<>& b = loops.here();
  llvm::Type* word = b.getInt32Ty();
  llvm::FunctionCallee function = declare(loops, kSubgroupShuffleSymbol, word, {word, word});
  auto shuffled = [&](llvm::Value* bits) {
    return b.CreateCall(function, {bits, b.getInt32(distance)});
  };
  llvm::Type* type = value->getType();
  llvm::Value* bits = b.CreateBitCast(value, b.getIntNTy(type->getScalarSizeInBits()));
  if (type->getScalarSizeInBits() <= 32) {
    llvm::Value* other = shuffled(b.CreateZExtOrTrunc(bits, word));
    return b.CreateBitCast(b.CreateZExtOrTrunc(other, bits->getType()), type);
  }
  llvm::Value* low = shuffled(b.CreateTrunc(bits, word));
  llvm::Value* high = shuffled(b.CreateTrunc(b.CreateLShr(bits, 32), word));
  llvm::Type* wide = b.getInt64Ty();
  llvm::Value* both =
      b.CreateOr(b.CreateZExt(low, wide), b.CreateShl(b.CreateZExt(high, wide), 32));
  return b.CreateBitCast(both, type);
}

llvm::GlobalVariable* makeGroupMemory(llvm::Module& module, llvm::Type* element, int64_t count,
                                      const llvm::Twine& name, uint64_t alignment) {
  auto* type = llvm::ArrayType::get(element, static_cast<uint64_t>(count));
  auto* memory = new llvm::GlobalVariable(
      module, type, /*isConstant=*/false, llvm::GlobalValue::InternalLinkage,
      llvm::UndefValue::get(type), name, /*InsertBefore=*/nullptr,
      llvm::GlobalValue::NotThreadLocal, kGroupMemorySpace);
  memory->setAlignment(llvm::Align(alignment));
  return memory;
}

GroupMemory::GroupMemory(LoopBuilder& loops, llvm::Type* element, uint64_t count)
    : loops_(loops), value_(element), element_(element) {
  // Bools have no bits of their own in memory.
  if (element->isIntegerTy(1)) element_ = llvm::Type::getInt8Ty(loops.context());
  memory_ = makeGroupMemory(*loops.function()->getParent(), element_, static_cast<int64_t>(count),
                            "group");
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

#include "backends/cpu/emit/step_calls.h"

#include <algorithm>

#include "backends/cpu/abi.h"
#include "backends/cpu/load/copy_functions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Module.h"

namespace isthmus::cpu {
namespace {

// In functions that are not optimised, so many addresses go to a block: the register allocator
// takes the square of a block's length.
constexpr size_t kMaxAddressesOfBlock = 256;

}  // namespace

llvm::GlobalVariable* StepCalls::data(llvm::StringRef bytes, llvm::StringRef name) {
  llvm::GlobalVariable*& global = globals_[bytes];
  if (global) return global;
  llvm::Constant* data =
      llvm::ConstantDataArray::getString(module_.getContext(), bytes, /*AddNull=*/false);
  global = new llvm::GlobalVariable(module_, data->getType(), /*isConstant=*/true,
                                    llvm::GlobalValue::PrivateLinkage, data, name);
  global->setAlignment(llvm::Align(kBufferAlignment));
  return global;
}

void StepCalls::shareTable() {
  auto* type = llvm::ArrayType::get(builder_.getPtrTy(), 1);
  frame_.sharedTable = entry_.CreateAlloca(type, nullptr, "buffers");
}

void StepCalls::beginBlock() {
  llvm::BasicBlock* next = llvm::BasicBlock::Create(builder_.getContext(), "next",
                                                    builder_.GetInsertBlock()->getParent());
  builder_.CreateBr(next);
  builder_.SetInsertPoint(next);
}

llvm::Value* StepCalls::makeBuffers(llvm::ArrayRef<llvm::Value*> addresses) {
  return makeBuffers(addresses.size(), [&](size_t i) { return addresses[i]; });
}

llvm::Value* StepCalls::makeBuffers(size_t count,
                                    llvm::function_ref<llvm::Value*(size_t)> addressAt) {
  llvm::Type* pointer = builder_.getPtrTy();
  auto* type = llvm::ArrayType::get(pointer, std::max<size_t>(count, 1));
  llvm::AllocaInst* table = frame_.sharedTable;
  if (!table) {
    table = entry_.CreateAlloca(type, nullptr, "buffers");
  } else if (table->getAllocatedType()->getArrayNumElements() < type->getNumElements()) {
    table->setAllocatedType(type);
  }
  for (size_t i = 0; i < count; ++i) {
    if (frame_.sharedTable && i > 0 && i % kMaxAddressesOfBlock == 0) beginBlock();
    builder_.CreateStore(addressAt(i), builder_.CreateConstInBoundsGEP1_64(pointer, table, i));
  }
  return table;
}

void StepCalls::callKernel(const KernelStage& stage, llvm::Value* buffers) {
  llvm::Type* pointer = builder_.getPtrTy();
  llvm::Type* int64 = builder_.getInt64Ty();
  auto* type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer, int64, int64}, false);
  llvm::FunctionCallee kernel = module_.getOrInsertFunction(stage.symbol, type);
  llvm::Value* tiles = builder_.getInt64(static_cast<uint64_t>(stage.tiles));
  // Sharing out costs more than the rest of such a kernel: one call does all tiles.
  if (stage.tiles < 2 || stage.share == 0) {
    builder_.CreateCall(kernel, {buffers, builder_.getInt64(0), tiles});
    return;
  }
  llvm::Value* run = run_();
  // The first field of IsthmusRun.
  llvm::Value* parallelFor = builder_.CreateLoad(pointer, run);
  auto* parallelType = llvm::FunctionType::get(builder_.getVoidTy(),
                                               {pointer, pointer, pointer, int64, int64}, false);
  builder_.CreateCall(parallelType, parallelFor,
                      {run, kernel.getCallee(), buffers, tiles,
                       builder_.getInt64(static_cast<uint64_t>(stage.share))});
}

void StepCalls::callLibrary(llvm::StringRef name, llvm::StringRef descriptor,
                            llvm::Value* buffers) {
  llvm::PointerType* pointer = builder_.getPtrTy();
  auto* type = llvm::FunctionType::get(builder_.getInt32Ty(), {pointer, pointer, pointer}, false);
  llvm::FunctionCallee callee = module_.getOrInsertFunction(name, type);
  llvm::Value* bytes = llvm::ConstantPointerNull::get(pointer);
  if (!descriptor.empty()) bytes = data(descriptor, "descriptor");
  check(builder_.CreateCall(callee, {run_(), bytes, buffers}));
}

void StepCalls::check(llvm::Value* result) {
  llvm::BasicBlock* next = llvm::BasicBlock::Create(builder_.getContext(), "next",
                                                    builder_.GetInsertBlock()->getParent());
  builder_.CreateCondBr(builder_.CreateICmpEQ(result, builder_.getInt32(0)), next, frame_.failed);
  builder_.SetInsertPoint(next);
}

void StepCalls::move(const Move& move, llvm::Value* to, llvm::Value* from) {
  constexpr int64_t kMaxRegisterBytes = 32;
  const int64_t bytes = move.to.bytes;
  if (bytes <= kMaxRegisterBytes) {
    llvm::Type* type = builder_.getIntNTy(static_cast<unsigned>(bytes * 8));
    // All is read before anything is written: a swap has no room of its own.
    llvm::Value* first = builder_.CreateAlignedLoad(type, from, llvm::Align(1));
    llvm::Value* second =
        move.isSwap ? builder_.CreateAlignedLoad(type, to, llvm::Align(1)) : nullptr;
    builder_.CreateAlignedStore(first, to, llvm::Align(1));
    if (second) builder_.CreateAlignedStore(second, from, llvm::Align(1));
    return;
  }
  if (!move.isSwap && bytes < target_.minParallelBytes) {
    builder_.CreateMemCpy(to, llvm::MaybeAlign(1), from, llvm::MaybeAlign(1),
                          static_cast<uint64_t>(bytes));
    return;
  }
  // Two threads share the shortest that is worth it.
  const MoveDescriptor descriptor{bytes, target_.minParallelBytes / 2};
  callLibrary(move.isSwap ? "isthmus_rt_swap" : "isthmus_rt_copy",
              llvm::StringRef(reinterpret_cast<const char*>(&descriptor), sizeof(descriptor)),
              makeBuffers({from, to}));
}

}  // namespace isthmus::cpu

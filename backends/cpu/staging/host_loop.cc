#include "backends/cpu/staging/host_loop.h"

#include <algorithm>
#include <variant>

#include "backends/cpu/load/copy_functions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace isthmus::cpu {
namespace {

class LoopEmitter {
 public:
  LoopEmitter(const Loop& loop, std::span<const TableFunction> functions, llvm::Function* function)
      : loop_(loop),
        functions_(functions),
        function_(function),
        module_(*function->getParent()),
        context_(module_.getContext()),
        builder_(context_),
        entry_(context_),
        pointer_(builder_.getPtrTy()) {}
  StatusOr<int64_t> emit();

 private:
  Status emitSteps(const std::vector<Step>& steps);
  Status emitStep(const HostCall& call);
  Status emitStep(const Move& move);
  Status emitStep(const Loop& loop);
  Status emitStep(const Branch& branch);
  Status emitStep(const KernelLaunch&) { return internalError("a launch in a loop of the host"); }
  Status emitStep(const LibraryCall&) { return internalError("a call in a loop of the host"); }

  StatusOr<llvm::Value*> isGoingOn(const Loop& loop, llvm::Value* round);
  void swapAddresses(const std::vector<Move>& places);
  void emitKernel(const KernelStage& stage, llvm::Value* buffers);
  void emitLibraryCall(llvm::StringRef name, llvm::StringRef descriptor, llvm::Value* buffers);

  // Where the address of a place is.
  StatusOr<llvm::Value*> slotOf(const Location& place);
  StatusOr<llvm::Value*> addressOf(const Location& place);
  llvm::Value* makeBuffers(llvm::ArrayRef<llvm::Value*> addresses);
  llvm::BasicBlock* newBlock() { return llvm::BasicBlock::Create(context_, "", function_); }
  llvm::Value* argument(unsigned index) { return function_->getArg(index); }

  const Loop& loop_;
  std::span<const TableFunction> functions_;
  llvm::Function* function_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  llvm::IRBuilder<> entry_;  // at the end of the entry block
  llvm::PointerType* pointer_;
  llvm::BasicBlock* failed_ = nullptr;
  std::vector<llvm::Value*> slots_;  // of loop_.onHost.inputs
  llvm::Value* scratch_ = nullptr;
  int64_t scratchBytes_ = 0;
};

StatusOr<int64_t> LoopEmitter::emit() {
  llvm::BasicBlock* entry = newBlock();
  llvm::BasicBlock* start = newBlock();
  failed_ = newBlock();
  entry_.SetInsertPoint(entry);
  entry_.SetInsertPoint(entry_.CreateBr(start));
  builder_.SetInsertPoint(start);
  // Scratch memory is behind the places, if there is any, and otherwise something else.
  auto given = [&](size_t i) {
    return entry_.CreateLoad(pointer_, entry_.CreateConstInBoundsGEP1_64(pointer_, argument(2), i));
  };
  for (size_t i = 0; i < loop_.onHost.inputs.size(); ++i) {
    slots_.push_back(entry_.CreateAlloca(pointer_));
    entry_.CreateStore(given(i), slots_.back());
  }
  scratch_ = given(loop_.onHost.inputs.size());
  ISTHMUS_RETURN_IF_ERROR(emitStep(loop_));
  builder_.CreateRet(builder_.getInt32(0));
  builder_.SetInsertPoint(failed_);
  builder_.CreateRet(builder_.getInt32(1));
  return scratchBytes_;
}

Status LoopEmitter::emitSteps(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    ISTHMUS_RETURN_IF_ERROR(
        std::visit([this](const auto& what) { return emitStep(what); }, step.what));
  }
  return {};
}

StatusOr<llvm::Value*> LoopEmitter::slotOf(const Location& place) {
  auto same = llvm::find_if(loop_.onHost.inputs,
                            [&](const Location& other) { return other.isSamePlace(place); });
  if (same == loop_.onHost.inputs.end()) {
    return internalError("a loop of the host has no ", place.toString());
  }
  return slots_[static_cast<size_t>(same - loop_.onHost.inputs.begin())];
}

StatusOr<llvm::Value*> LoopEmitter::addressOf(const Location& place) {
  if (place.space == Location::Space::kNone) return llvm::ConstantPointerNull::get(pointer_);
  ISTHMUS_ASSIGN_OR_RETURN(llvm::Value * slot, slotOf(place));
  return builder_.CreateLoad(pointer_, slot);
}

llvm::Value* LoopEmitter::makeBuffers(llvm::ArrayRef<llvm::Value*> addresses) {
  auto* type = llvm::ArrayType::get(pointer_, std::max<size_t>(addresses.size(), 1));
  llvm::Value* table = entry_.CreateAlloca(type);
  for (auto [i, address] : llvm::enumerate(addresses)) {
    builder_.CreateStore(address, builder_.CreateConstInBoundsGEP1_64(pointer_, table, i));
  }
  return table;
}

Status LoopEmitter::emitStep(const HostCall& call) {
  const TableFunction& of = functions_[static_cast<size_t>(call.function)];
  llvm::SmallVector<llvm::Value*, 8> addresses;
  for (const auto* places : {&call.inputs, &call.outputs}) {
    for (const Location& place : *places) {
      ISTHMUS_ASSIGN_OR_RETURN(llvm::Value * address, addressOf(place));
      addresses.push_back(address);
    }
  }
  if (of.function.scratchBytes > 0) addresses.push_back(scratch_);
  scratchBytes_ = std::max(scratchBytes_, of.function.scratchBytes);
  if (!of.stages.empty()) {
    llvm::Value* buffers = makeBuffers(addresses);
    for (const KernelStage& stage : of.stages) {
      if (stage.copiesFrom < 0) {
        emitKernel(stage, buffers);
        continue;
      }
      llvm::BasicBlock* copies = newBlock();
      llvm::BasicBlock* next = newBlock();
      llvm::Value* isThere =
          builder_.CreateICmpEQ(addresses[stage.copiesFrom], addresses[stage.copiesTo]);
      builder_.CreateCondBr(isThere, next, copies);
      builder_.SetInsertPoint(copies);
      emitKernel(stage, buffers);
      builder_.CreateBr(next);
      builder_.SetInsertPoint(next);
    }
    return {};
  }
  for (const std::string& name : of.function.callbacks) {
    llvm::Function* callback = module_.getFunction(name);
    if (!callback) return internalError("generated function ", name, " is missing");
    addresses.push_back(callback);
  }
  emitLibraryCall(of.function.function, of.function.descriptor, makeBuffers(addresses));
  return {};
}

void LoopEmitter::emitKernel(const KernelStage& stage, llvm::Value* buffers) {
  llvm::Type* int64 = builder_.getInt64Ty();
  auto* type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer_, int64, int64}, false);
  llvm::FunctionCallee kernel = module_.getOrInsertFunction(stage.symbol, type);
  llvm::Value* tiles = builder_.getInt64(stage.tiles);
  if (stage.tiles < 2 || stage.share == 0) {
    builder_.CreateCall(kernel, {buffers, builder_.getInt64(0), tiles});
    return;
  }
  // The first field of IsthmusRun.
  llvm::Value* parallelFor = builder_.CreateLoad(pointer_, argument(0));
  auto* parallelType = llvm::FunctionType::get(builder_.getVoidTy(),
                                               {pointer_, pointer_, pointer_, int64, int64}, false);
  builder_.CreateCall(
      parallelType, parallelFor,
      {argument(0), kernel.getCallee(), buffers, tiles, builder_.getInt64(stage.share)});
}

void LoopEmitter::emitLibraryCall(llvm::StringRef name, llvm::StringRef descriptor,
                                  llvm::Value* buffers) {
  auto* type =
      llvm::FunctionType::get(builder_.getInt32Ty(), {pointer_, pointer_, pointer_}, false);
  llvm::FunctionCallee callee = module_.getOrInsertFunction(name, type);
  llvm::Value* data = llvm::ConstantPointerNull::get(pointer_);
  if (!descriptor.empty()) {
    llvm::Constant* bytes = llvm::ConstantDataArray::getString(context_, descriptor, false);
    auto* global = new llvm::GlobalVariable(module_, bytes->getType(), true,
                                            llvm::GlobalValue::PrivateLinkage, bytes, "descriptor");
    global->setAlignment(llvm::Align(kBufferAlignment));
    data = global;
  }
  llvm::Value* code = builder_.CreateCall(callee, {argument(0), data, buffers});
  llvm::BasicBlock* next = newBlock();
  builder_.CreateCondBr(builder_.CreateICmpEQ(code, builder_.getInt32(0)), next, failed_);
  builder_.SetInsertPoint(next);
}

Status LoopEmitter::emitStep(const Move& move) {
  constexpr int64_t kMostRegisterBytes = 32;
  const int64_t bytes = move.to.bytes;
  if (bytes == 0) return {};
  ISTHMUS_ASSIGN_OR_RETURN(llvm::Value * to, addressOf(move.to));
  ISTHMUS_ASSIGN_OR_RETURN(llvm::Value * from, addressOf(move.from));
  if (bytes <= kMostRegisterBytes) {
    llvm::Type* type = builder_.getIntNTy(static_cast<unsigned>(bytes * 8));
    llvm::Value* first = builder_.CreateAlignedLoad(type, from, llvm::Align(1));
    llvm::Value* second =
        move.isSwap ? builder_.CreateAlignedLoad(type, to, llvm::Align(1)) : nullptr;
    builder_.CreateAlignedStore(first, to, llvm::Align(1));
    if (second) builder_.CreateAlignedStore(second, from, llvm::Align(1));
    return {};
  }
  const MoveDescriptor descriptor{bytes};
  emitLibraryCall(move.isSwap ? "isthmus_rt_swap" : "isthmus_rt_copy",
                  {reinterpret_cast<const char*>(&descriptor), sizeof(descriptor)},
                  makeBuffers({from, to}));
  return {};
}

// Whether another round begins.
StatusOr<llvm::Value*> LoopEmitter::isGoingOn(const Loop& loop, llvm::Value* round) {
  if (loop.rounds >= 0) {
    llvm::Value* now = builder_.CreateLoad(builder_.getInt64Ty(), round);
    return builder_.CreateICmpULT(now, builder_.getInt64(static_cast<uint64_t>(loop.rounds)));
  }
  ISTHMUS_RETURN_IF_ERROR(emitSteps(loop.condition));
  ISTHMUS_ASSIGN_OR_RETURN(llvm::Value * predicate, addressOf(loop.predicate));
  return builder_.CreateICmpNE(builder_.CreateLoad(builder_.getInt8Ty(), predicate),
                               builder_.getInt8(0));
}

// The checks of places are those of StepRunner: all are there, or the loop is malformed.
void LoopEmitter::swapAddresses(const std::vector<Move>& places) {
  for (const Move& move : places) {
    StatusOr<llvm::Value*> a = slotOf(move.to), b = slotOf(move.from);
    if (!a.ok() || !b.ok()) continue;
    llvm::Value* ofA = builder_.CreateLoad(pointer_, *a);
    llvm::Value* ofB = builder_.CreateLoad(pointer_, *b);
    builder_.CreateStore(ofB, *a);
    builder_.CreateStore(ofA, *b);
  }
}

// As StepRunner runs it: `round` counts, and its last bit says whether places are exchanged.
Status LoopEmitter::emitStep(const Loop& loop) {
  llvm::BasicBlock* test = newBlock();
  llvm::BasicBlock* body = newBlock();
  llvm::BasicBlock* end = newBlock();
  llvm::Value* round = entry_.CreateAlloca(builder_.getInt64Ty());
  builder_.CreateStore(builder_.getInt64(0), round);
  builder_.CreateBr(test);
  builder_.SetInsertPoint(test);
  ISTHMUS_ASSIGN_OR_RETURN(llvm::Value * goesOn, isGoingOn(loop, round));
  builder_.CreateCondBr(goesOn, body, end);
  builder_.SetInsertPoint(body);
  ISTHMUS_RETURN_IF_ERROR(emitSteps(loop.body));
  swapAddresses(loop.addressSwaps);
  llvm::Value* now = builder_.CreateLoad(builder_.getInt64Ty(), round);
  builder_.CreateStore(builder_.CreateAdd(now, builder_.getInt64(1)), round);
  builder_.CreateBr(test);
  builder_.SetInsertPoint(end);
  if (loop.addressSwaps.empty()) return {};
  llvm::BasicBlock* moves = newBlock();
  llvm::BasicBlock* next = newBlock();
  llvm::Value* rounds = builder_.CreateLoad(builder_.getInt64Ty(), round);
  llvm::Value* isSwapped = builder_.CreateTrunc(rounds, builder_.getInt1Ty());
  builder_.CreateCondBr(isSwapped, moves, next);
  builder_.SetInsertPoint(moves);
  swapAddresses(loop.addressSwaps);
  for (const Move& move : loop.addressSwaps) ISTHMUS_RETURN_IF_ERROR(emitStep(move));
  builder_.CreateBr(next);
  builder_.SetInsertPoint(next);
  return {};
}

// An index outside of the branches takes the last one; true the first of two.
Status LoopEmitter::emitStep(const Branch& branch) {
  ISTHMUS_ASSIGN_OR_RETURN(llvm::Value * place, addressOf(branch.index));
  llvm::Value* index =
      branch.isIf ? builder_.CreateZExt(
                        builder_.CreateICmpEQ(builder_.CreateLoad(builder_.getInt8Ty(), place),
                                              builder_.getInt8(0)),
                        builder_.getInt32Ty())
                  : static_cast<llvm::Value*>(builder_.CreateLoad(builder_.getInt32Ty(), place));
  llvm::BasicBlock* end = newBlock();
  std::vector<llvm::BasicBlock*> blocks;
  for (size_t i = 0; i < branch.branches.size(); ++i) blocks.push_back(newBlock());
  llvm::SwitchInst* choice = builder_.CreateSwitch(index, blocks.back());
  for (unsigned i = 0; i + 1 < blocks.size(); ++i) choice->addCase(builder_.getInt32(i), blocks[i]);
  for (auto [block, steps] : llvm::zip(blocks, branch.branches)) {
    builder_.SetInsertPoint(block);
    ISTHMUS_RETURN_IF_ERROR(emitSteps(steps));
    builder_.CreateBr(end);
  }
  builder_.SetInsertPoint(end);
  return {};
}

}  // namespace

StatusOr<int64_t> emitHostLoop(const Loop& loop, std::span<const TableFunction> functions,
                               const TargetModel& target, const std::string& symbol,
                               llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  auto* type =
      llvm::FunctionType::get(llvm::Type::getInt32Ty(context), {pointer, pointer, pointer}, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module);
  function->addFnAttr("target-cpu", target.cpu);
  function->addFnAttr("target-features", target.features);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  return LoopEmitter(loop, functions, function).emit();
}

}  // namespace isthmus::cpu

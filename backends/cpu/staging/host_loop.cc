#include "backends/cpu/staging/host_loop.h"

#include <algorithm>
#include <variant>

#include "backends/cpu/emit/step_calls.h"
#include "compiler/codegen/module/control_flow.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace isthmus::cpu {
namespace {

class LoopEmitter {
 public:
  LoopEmitter(const Loop& loop, std::span<const TableFunction> functions, const TargetModel& target,
              llvm::Function* function)
      : loop_(loop),
        functions_(functions),
        function_(function),
        module_(*function->getParent()),
        context_(module_.getContext()),
        builder_(context_),
        entry_(context_),
        pointer_(builder_.getPtrTy()),
        calls_(module_, builder_, entry_, target, [this] { return argument(0); }) {}
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

  // Where the address of a place is.
  StatusOr<llvm::Value*> slotOf(const Location& place);
  StatusOr<llvm::Value*> addressOf(const Location& place);
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
  StepCalls calls_;
  llvm::BasicBlock* failed_ = nullptr;
  std::vector<llvm::Value*> slots_;  // of loop_.onHost.inputs
  llvm::Value* scratch_ = nullptr;
  int64_t scratchBytes_ = 0;
};

StatusOr<int64_t> LoopEmitter::emit() {
  llvm::BasicBlock* entry = newBlock();
  llvm::BasicBlock* start = newBlock();
  failed_ = newBlock();
  calls_.setFailed(failed_);
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
    llvm::Value* buffers = calls_.makeBuffers(addresses);
    for (const KernelStage& stage : of.stages) {
      if (stage.copiesFrom < 0) {
        calls_.callKernel(stage, buffers);
        continue;
      }
      llvm::BasicBlock* copies = newBlock();
      llvm::BasicBlock* next = newBlock();
      llvm::Value* isThere =
          builder_.CreateICmpEQ(addresses[stage.copiesFrom], addresses[stage.copiesTo]);
      builder_.CreateCondBr(isThere, next, copies);
      builder_.SetInsertPoint(copies);
      calls_.callKernel(stage, buffers);
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
  calls_.callLibrary(of.function.function, of.function.descriptor, calls_.makeBuffers(addresses));
  return {};
}

Status LoopEmitter::emitStep(const Move& move) {
  if (move.to.bytes == 0) return {};
  ISTHMUS_ASSIGN_OR_RETURN(llvm::Value * to, addressOf(move.to));
  ISTHMUS_ASSIGN_OR_RETURN(llvm::Value * from, addressOf(move.from));
  calls_.move(move, to, from);
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
  llvm::Value* round = entry_.CreateAlloca(builder_.getInt64Ty());
  builder_.CreateStore(builder_.getInt64(0), round);
  auto emitBody = [&]() -> Status {
    ISTHMUS_RETURN_IF_ERROR(emitSteps(loop.body));
    swapAddresses(loop.addressSwaps);
    llvm::Value* now = builder_.CreateLoad(builder_.getInt64Ty(), round);
    builder_.CreateStore(builder_.CreateAdd(now, builder_.getInt64(1)), round);
    return {};
  };
  ISTHMUS_RETURN_IF_ERROR(
      codegen::emitLoop(builder_, [&] { return isGoingOn(loop, round); }, emitBody));
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

Status LoopEmitter::emitStep(const Branch& branch) {
  ISTHMUS_ASSIGN_OR_RETURN(llvm::Value * place, addressOf(branch.index));
  llvm::Type* type = branch.isIf ? builder_.getInt8Ty() : builder_.getInt32Ty();
  return codegen::emitBranches(builder_, builder_.CreateLoad(type, place), branch.isIf,
                               branch.branches.size(),
                               [&](size_t i) { return emitSteps(branch.branches[i]); });
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
  return LoopEmitter(loop, functions, target, function).emit();
}

}  // namespace isthmus::cpu

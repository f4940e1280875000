// Emits isthmus_main: calls over fixed addresses, loops and branches as native control flow.
#include "backends/cpu/emit/program_emitter.h"

#include "backends/cpu/emit/step_calls.h"
#include "backends/cpu/load/program_symbols.h"
#include "compiler/codegen/module/control_flow.h"
#include "compiler/plan/op_error.h"
#include "compiler/program/constant_bytes.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

namespace isthmus::cpu {
namespace {

// Of a loop, whose length the plan does not know: enough for its program not to be cheap, and a
// guess of how often it runs.
constexpr double kLoopNs = 1e6;
constexpr double kGuessedTrips = 100;
// Constants up to this size are part of the code, where the optimizer sees them.
constexpr int64_t kMaxCodeConstantBytes = 256;

class ProgramEmitter {
 public:
  ProgramEmitter(mlir::func::FuncOp main, const MemoryPlan& plan, const ProgramCode& code,
                 const TargetModel& target, llvm::Module& module, ConstantPool& constants,
                 StepTable& steps)
      : main_(main),
        plan_(plan),
        code_(code),
        target_(target),
        module_(module),
        constants_(constants),
        steps_(steps),
        context_(module.getContext()),
        builder_(context_),
        entry_(context_),
        pointer_(llvm::PointerType::getUnqual(context_)),
        int32_(builder_.getInt32Ty()),
        int64_(builder_.getInt64Ty()),
        calls_(module, builder_, entry_, target_, [this] { return argument(0); }) {}

  StatusOr<ProgramEstimate> emit();

 private:
  Status emitBlock(mlir::Block& block);
  Status emitOperation(mlir::Operation* op);
  Status emitWhile(mlir::Operation* op);
  Status emitBranch(mlir::Operation* op);
  Status emitRegion(mlir::Region& region);
  void emitStep(mlir::Operation* op);
  bool isAllInlined(mlir::Operation* loop) const;
  void emitMoves(const std::vector<Move>& moves);
  void emitMove(const Move& move);
  StatusOr<llvm::Value*> loadPredicate(mlir::Value value, llvm::Type* type);

  llvm::Value* addressOf(const Location& location);
  llvm::Value* loadPointer(llvm::Value* table, int index, llvm::StringRef name);
  llvm::Value* argument(unsigned index);
  llvm::Value* entryOf(unsigned table, llvm::DenseMap<int, llvm::Value*>& known, int index,
                       llvm::StringRef name);
  Status prepareConstants();
  llvm::BasicBlock* newBlock(llvm::StringRef name) {
    return llvm::BasicBlock::Create(context_, name, function_);
  }
  void account(double ns) { estimate_.ns += ns * trips_; }

  mlir::func::FuncOp main_;
  const MemoryPlan& plan_;
  const ProgramCode& code_;
  const TargetModel& target_;
  llvm::Module& module_;
  ConstantPool& constants_;
  StepTable& steps_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  llvm::IRBuilder<> entry_;  // at the end of the entry block: allocas and invariant loads
  llvm::PointerType* pointer_;
  llvm::IntegerType* int32_;
  llvm::IntegerType* int64_;
  StepCalls calls_;

  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* failed_ = nullptr;
  llvm::Value* beginStep_ = nullptr;  // of the run
  llvm::Value* isTraced_ = nullptr;
  bool isStraight_ = false;                       // no loops: each step runs once
  llvm::SmallVector<llvm::Value*, 4> arguments_;  // where they are kept, if it is
  bool isInStep_ = false;  // what is emitted is part of a step that has begun
  llvm::DenseMap<int, llvm::Value*> parameters_;
  llvm::DenseMap<int, llvm::Value*> results_;
  std::vector<llvm::Value*> constantAddresses_;
  std::vector<llvm::Value*> stackSlots_;
  double trips_ = 1;
  ProgramEstimate estimate_;
};

StatusOr<ProgramEstimate> ProgramEmitter::emit() {
  auto* type =
      llvm::FunctionType::get(int32_, {pointer_, pointer_, pointer_, pointer_}, /*vararg=*/false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kMainSymbol, module_);
  function_->addFnAttr("target-cpu", target_.cpu);
  function_->addFnAttr("target-features", target_.features);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  // Nothing else has the addresses of the tables, and the arena overlaps neither of them.
  for (unsigned i = 1; i < 4; ++i) function_->addParamAttr(i, llvm::Attribute::NoAlias);
  function_->addParamAttr(
      3, llvm::Attribute::getWithAlignment(context_, llvm::Align(kBufferAlignment)));

  llvm::BasicBlock* entry = newBlock("entry");
  llvm::BasicBlock* start = newBlock("start");
  failed_ = newBlock("failed");
  calls_.setFailed(failed_);
  entry_.SetInsertPoint(entry);
  entry_.SetInsertPoint(entry_.CreateBr(start));
  builder_.SetInsertPoint(start);

  for (int64_t bytes : plan_.stackSlots()) {
    auto* slot = entry_.CreateAlloca(llvm::ArrayType::get(builder_.getInt8Ty(), bytes));
    slot->setAlignment(llvm::Align(kBufferAlignment));
    stackSlots_.push_back(slot);
  }
  isStraight_ = !main_
                     .walk([](mlir::Operation* op) {
                       return roleOf(op) == OpRole::kWhile ? mlir::WalkResult::interrupt()
                                                           : mlir::WalkResult::advance();
                     })
                     .wasInterrupted();
  for (unsigned i = 0; isStraight_ && i < 4; ++i) {
    arguments_.push_back(entry_.CreateAlloca(pointer_));
    entry_.CreateStore(function_->getArg(i), arguments_.back());
  }
  if (!isStraight_) {
    beginStep_ = loadPointer(function_->getArg(0), 1, "begin_step");
    isTraced_ = entry_.CreateIsNotNull(beginStep_, "is_traced");
  }
  ISTHMUS_RETURN_IF_ERROR(prepareConstants());
  mlir::Block& body = main_.getBody().front();
  ISTHMUS_RETURN_IF_ERROR(emitBlock(body));
  emitMoves(plan_.movesAt(body.getTerminator()));
  builder_.CreateRet(builder_.getInt32(0));

  builder_.SetInsertPoint(failed_);
  builder_.CreateRet(builder_.getInt32(1));
  return estimate_;
}

Status ProgramEmitter::prepareConstants() {
  llvm::Value* pool = nullptr;
  for (mlir::Operation* op : plan_.constants()) {
    StatusOr<std::string> bytes = constantBytes(op->getAttr("value"));
    if (!bytes.ok()) return atOp(op, bytes.status());
    if (static_cast<int64_t>(bytes->size()) <= kMaxCodeConstantBytes) {
      constantAddresses_.push_back(calls_.data(*bytes, "constant"));
      continue;
    }
    if (!pool) {
      pool = loadPointer(function_->getArg(1), static_cast<int>(main_.getNumArguments()), "pool");
    }
    constantAddresses_.push_back(
        entry_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), pool, constants_.add(*bytes)));
  }
  return {};
}

llvm::Value* ProgramEmitter::loadPointer(llvm::Value* table, int index, llvm::StringRef name) {
  llvm::Value* place = entry_.CreateConstInBoundsGEP1_64(pointer_, table, index);
  llvm::LoadInst* load = entry_.CreateLoad(pointer_, place, name);
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return load;
}

// In a long function of steps that run once, values with thousands of uses cost the register
// allocator more than linear time: there, each step loads what it needs from the stack.
llvm::Value* ProgramEmitter::argument(unsigned index) {
  if (!isStraight_) return function_->getArg(index);
  return builder_.CreateLoad(pointer_, arguments_[index]);
}

llvm::Value* ProgramEmitter::entryOf(unsigned table, llvm::DenseMap<int, llvm::Value*>& known,
                                     int index, llvm::StringRef name) {
  if (isStraight_) {
    return builder_.CreateLoad(
        pointer_, builder_.CreateConstInBoundsGEP1_64(pointer_, argument(table), index), name);
  }
  llvm::Value*& address = known[index];
  if (!address) address = loadPointer(function_->getArg(table), index, name);
  return address;
}

llvm::Value* ProgramEmitter::addressOf(const Location& location) {
  switch (location.space) {
    case Location::Space::kNone:
      return llvm::ConstantPointerNull::get(pointer_);
    case Location::Space::kParameter:
      return entryOf(1, parameters_, location.index, "parameter");
    case Location::Space::kResult:
      return entryOf(2, results_, location.index, "result");
    case Location::Space::kConstant:
      return constantAddresses_[location.index];
    case Location::Space::kStack:
      return stackSlots_[location.index];
    case Location::Space::kArena:
      return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), argument(3),
                                                 location.offset);
  }
  return nullptr;
}

Status ProgramEmitter::emitBlock(mlir::Block& block) {
  for (mlir::Operation& op : block) {
    switch (roleOf(&op)) {
      case OpRole::kConstant:
      case OpRole::kView:
      case OpRole::kNothing:
      case OpRole::kTerminator:
        break;
      case OpRole::kWhile:
        ISTHMUS_RETURN_IF_ERROR(emitWhile(&op));
        break;
      case OpRole::kBranch:
        ISTHMUS_RETURN_IF_ERROR(emitBranch(&op));
        break;
      case OpRole::kCompute:
        ISTHMUS_RETURN_IF_ERROR(emitOperation(&op));
        break;
    }
  }
  return {};
}

Status ProgramEmitter::emitOperation(mlir::Operation* op) {
  auto it = code_.find(op);
  if (it == code_.end()) return unsupportedOp(op, "the CPU backend has no code for it");
  const OperationCode& code = it->second;
  llvm::SmallVector<llvm::Value*, 8> addresses;
  llvm::SmallVector<Location, 8> places;
  auto add = [&](mlir::Value value) {
    if (llvm::isa<mlir::RankedTensorType>(value.getType())) {
      places.push_back(plan_.locate(value));
      addresses.push_back(addressOf(places.back()));
    }
  };
  for (mlir::Value operand : op->getOperands()) add(operand);
  for (mlir::Value result : op->getResults()) add(result);
  if (code.scratchBytes > 0) addresses.push_back(addressOf(plan_.scratchOf(op)));
  for (const std::string& callback : code.callbacks) {
    llvm::Function* function = module_.getFunction(callback);
    if (!function) return internalError("generated function ", callback, " is missing");
    addresses.push_back(function);
  }
  llvm::Value* buffers = calls_.makeBuffers(addresses);
  emitStep(op);

  if (!code.libraryFunction.empty()) {
    calls_.callLibrary(code.libraryFunction, code.descriptor, buffers);
    account(code.estimatedNs);
    return {};
  }
  for (const KernelStage& stage : code.stages) {
    const bool isInPlace =
        stage.copiesFrom >= 0 && places[stage.copiesFrom].isSamePlace(places[stage.copiesTo]);
    if (isInPlace) continue;
    account(stage.nsPerTile * static_cast<double>(stage.tiles));
    calls_.callKernel(stage, buffers);
  }
  return {};
}

// Says that a step begins, if somebody listens: a branch that is never taken otherwise.
void ProgramEmitter::emitStep(mlir::Operation* op) {
  if (isInStep_) return;
  llvm::Value* beginStep = beginStep_;
  llvm::Value* isTraced = isTraced_;
  if (isStraight_) {
    // The second field of IsthmusRun.
    beginStep = builder_.CreateLoad(pointer_,
                                    builder_.CreateConstInBoundsGEP1_64(pointer_, argument(0), 1));
    isTraced = builder_.CreateIsNotNull(beginStep);
  }
  llvm::BasicBlock* tell = newBlock("tell");
  llvm::BasicBlock* next = newBlock("step");
  llvm::BranchInst* branch = builder_.CreateCondBr(isTraced, tell, next);
  branch->setMetadata(llvm::LLVMContext::MD_prof,
                      llvm::MDBuilder(context_).createUnlikelyBranchWeights());
  builder_.SetInsertPoint(tell);
  auto* type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer_, int64_}, false);
  builder_.CreateCall(type, beginStep, {argument(0), builder_.getInt64(steps_.add(op))});
  builder_.CreateBr(next);
  builder_.SetInsertPoint(next);
}

// Whether a loop calls nothing, so that telling what it does would cost it more than that does.
bool ProgramEmitter::isAllInlined(mlir::Operation* loop) const {
  bool isAll = true;
  for (mlir::Region& region : loop->getRegions()) {
    for (mlir::Operation& op : region.front()) {
      OpRole role = roleOf(&op);
      if (role == OpRole::kCompute) {
        auto it = code_.find(&op);
        isAll = it != code_.end() && it->second.isInlined;
      } else if (role == OpRole::kWhile || role == OpRole::kBranch) {
        isAll = isAllInlined(&op);
      }
      if (!isAll) return false;
    }
  }
  return true;
}

void ProgramEmitter::emitMoves(const std::vector<Move>& moves) {
  for (const Move& move : moves) emitMove(move);
}

void ProgramEmitter::emitMove(const Move& move) {
  int64_t bytes = move.to.bytes;
  if (bytes == 0) return;
  account(static_cast<double>(bytes) / target_.memoryBytesPerNs);
  llvm::Value* to = addressOf(move.to);
  llvm::Value* from = addressOf(move.from);
  calls_.move(move, to, from);
}

StatusOr<llvm::Value*> ProgramEmitter::loadPredicate(mlir::Value value, llvm::Type* type) {
  Location place = plan_.locate(value);
  if (place.bytes * 8 != static_cast<int64_t>(type->getScalarSizeInBits())) {
    return internalError("a predicate of ", place.bytes, " bytes");
  }
  return builder_.CreateLoad(type, addressOf(place));
}

Status ProgramEmitter::emitWhile(mlir::Operation* op) {
  estimate_.hasLoops = true;
  // It may take for ever, whatever the guess: no caller of Execute must wait for it.
  account(kLoopNs);
  bool isStep = !isInStep_ && isAllInlined(op);
  if (isStep) emitStep(op);
  isInStep_ |= isStep;
  emitMoves(plan_.movesInto(op));
  double outerTrips = trips_;
  trips_ *= kGuessedTrips;
  auto emitCondition = [&]() -> StatusOr<llvm::Value*> {
    mlir::Block& condition = op->getRegion(0).front();
    ISTHMUS_RETURN_IF_ERROR(emitBlock(condition));
    ISTHMUS_ASSIGN_OR_RETURN(
        llvm::Value * predicate,
        loadPredicate(condition.getTerminator()->getOperand(0), builder_.getInt8Ty()));
    return builder_.CreateICmpNE(predicate, builder_.getInt8(0));
  };
  ISTHMUS_RETURN_IF_ERROR(
      codegen::emitLoop(builder_, emitCondition, [&] { return emitRegion(op->getRegion(1)); }));
  trips_ = outerTrips;
  if (isStep) isInStep_ = false;
  return {};
}

// The body of a loop or a branch, and what it hands on.
Status ProgramEmitter::emitRegion(mlir::Region& region) {
  mlir::Block& block = region.front();
  ISTHMUS_RETURN_IF_ERROR(emitBlock(block));
  emitMoves(plan_.movesAt(&block.back()));
  return {};
}

Status ProgramEmitter::emitBranch(mlir::Operation* op) {
  bool isIf = op->getName().getStringRef() == "stablehlo.if";
  ISTHMUS_ASSIGN_OR_RETURN(
      llvm::Value * index,
      loadPredicate(op->getOperand(0), isIf ? builder_.getInt8Ty() : builder_.getInt32Ty()));
  return codegen::emitBranches(builder_, index, isIf, op->getNumRegions(),
                               [&](size_t i) { return emitRegion(op->getRegion(i)); });
}

}  // namespace

StatusOr<ProgramEstimate> emitProgram(mlir::func::FuncOp main, const MemoryPlan& plan,
                                      const ProgramCode& code, const TargetModel& target,
                                      llvm::Module& module, ConstantPool& constants,
                                      StepTable& steps) {
  return ProgramEmitter(main, plan, code, target, module, constants, steps).emit();
}

}  // namespace isthmus::cpu

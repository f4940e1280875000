// Emits isthmus_main: calls over fixed addresses, loops and branches as native control flow.
#include "backends/cpu/emit/program_emitter.h"

#include <tuple>

#include "backends/cpu/emit/step_calls.h"
#include "backends/cpu/load/program_symbols.h"
#include "base/integer_math.h"
#include "compiler/codegen/module/control_flow.h"
#include "compiler/codegen/module/unoptimized.h"
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
// Passes over a function take more than linear time, and so does the register allocator where
// thousands of addresses are kept: a loop that carries 4,000 arrays took a minute. A program with
// loops that has more operands and results, which no registers hold, is written as one without
// loops is. An array counts as several: it has loops and copies where a scalar has an instruction.
constexpr int64_t kMaxOptimizedValues = 8000;
constexpr int64_t kValuesOfArray = 8;
// Where nothing is optimised, about as many go to a function of their own: instruction selection
// and the register allocator take more than linear time too.
constexpr int64_t kMaxValuesOfPart = 4000;
// Constants up to this size are part of the code, where the optimizer sees them.
constexpr int64_t kMaxCodeConstantBytes = 256;

int64_t valuesOf(mlir::Operation* op) {
  int64_t values = 0;
  for (auto types :
       {mlir::TypeRange(op->getOperandTypes()), mlir::TypeRange(op->getResultTypes())}) {
    for (mlir::Type type : types) {
      auto array = llvm::dyn_cast<mlir::RankedTensorType>(type);
      values += array && array.getNumElements() > 1 ? kValuesOfArray : 1;
    }
  }
  return values;
}

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
        pool_(constants),
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
  bool isWorthOptimizing();
  void enterFunction(const llvm::Twine& name, unsigned parameters);
  void leaveFunction();
  Status emitPart(llvm::function_ref<Status()> emitBody);
  Status emitParts(size_t count, llvm::function_ref<int64_t(size_t)> valuesAt,
                   llvm::function_ref<Status(size_t)> emitAt);
  Status emitBlock(mlir::Block& block);
  Status emitOperation(mlir::Operation* op);
  Status emitWhile(mlir::Operation* op);
  Status emitBranch(mlir::Operation* op);
  Status emitRegion(mlir::Region& region);
  void emitStep(mlir::Operation* op);
  bool isAllInlined(mlir::Operation* loop) const;
  Status emitMoves(const std::vector<Move>& moves);
  void emitMove(const Move& move);
  StatusOr<llvm::Value*> loadPredicate(mlir::Value value, llvm::Type* type);

  llvm::Value* addressOf(const Location& location);
  llvm::Value* loadPointer(llvm::Value* table, int index, llvm::StringRef name);
  llvm::Value* argument(unsigned index);
  llvm::Value* offsetOf(llvm::Value* base, int64_t bytes) {
    return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), base, bytes);
  }
  llvm::Value* entryOf(unsigned table, llvm::DenseMap<int, llvm::Value*>& known, int index,
                       llvm::StringRef name);
  void prepareStack();
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
  ConstantPool& pool_;
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
  // For the optimizer: addresses are loaded before the first loop. Otherwise each step loads what
  // it needs, and the function is left as it is.
  bool isOptimized_ = false;
  llvm::SmallVector<llvm::Value*, 4> arguments_;  // where they are kept, if it is not
  bool isInStep_ = false;  // what is emitted is part of a step that has begun
  llvm::DenseMap<int, llvm::Value*> parameters_;
  llvm::DenseMap<int, llvm::Value*> results_;
  struct ConstantPlace {
    llvm::Value* address = nullptr;  // if it is known at all places in the program
    int64_t offset = 0;              // otherwise in the pool
  };
  std::vector<ConstantPlace> constants_;
  std::vector<llvm::Value*> stackSlots_;  // if something is optimised
  std::vector<int64_t> stackOffsets_;
  double trips_ = 1;
  ProgramEstimate estimate_;
};

StatusOr<ProgramEstimate> ProgramEmitter::emit() {
  isOptimized_ = isWorthOptimizing();
  enterFunction(kMainSymbol, 4);
  function_->setLinkage(llvm::Function::ExternalLinkage);
  // Nothing else has the addresses of the tables, and the arena overlaps neither of them.
  for (unsigned i = 1; i < 4; ++i) function_->addParamAttr(i, llvm::Attribute::NoAlias);
  function_->addParamAttr(
      3, llvm::Attribute::getWithAlignment(context_, llvm::Align(kBufferAlignment)));
  prepareStack();
  if (isOptimized_) {
    beginStep_ = loadPointer(function_->getArg(0), 1, "begin_step");
    isTraced_ = entry_.CreateIsNotNull(beginStep_, "is_traced");
  }
  ISTHMUS_RETURN_IF_ERROR(prepareConstants());
  mlir::Block& body = main_.getBody().front();
  ISTHMUS_RETURN_IF_ERROR(emitBlock(body));
  ISTHMUS_RETURN_IF_ERROR(emitMoves(plan_.movesAt(body.getTerminator())));
  leaveFunction();
  return estimate_;
}

// Begins a function of so many pointers that returns whether it failed.
void ProgramEmitter::enterFunction(const llvm::Twine& name, unsigned parameters) {
  llvm::SmallVector<llvm::Type*, 5> types(parameters, pointer_);
  auto* type = llvm::FunctionType::get(int32_, types, /*vararg=*/false);
  function_ = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module_);
  function_->addFnAttr("target-cpu", target_.cpu);
  function_->addFnAttr("target-features", target_.features);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  llvm::BasicBlock* entry = newBlock("entry");
  llvm::BasicBlock* start = newBlock("start");
  failed_ = newBlock("failed");
  calls_.setFailed(failed_);
  entry_.SetInsertPoint(entry);
  entry_.SetInsertPoint(entry_.CreateBr(start));
  builder_.SetInsertPoint(start);
  if (isOptimized_) return;
  codegen::leaveUnoptimized(*function_);
  calls_.shareTable();
  arguments_.clear();
  for (llvm::Argument& argument : function_->args()) {
    arguments_.push_back(entry_.CreateAlloca(pointer_));
    entry_.CreateStore(&argument, arguments_.back());
  }
}

void ProgramEmitter::leaveFunction() {
  builder_.CreateRet(builder_.getInt32(0));
  builder_.SetInsertPoint(failed_);
  builder_.CreateRet(builder_.getInt32(1));
}

// A function with some of the steps of the one under construction, which calls it there.
Status ProgramEmitter::emitPart(llvm::function_ref<Status()> emitBody) {
  const auto frame = std::make_tuple(function_, failed_, arguments_, builder_.saveIP(),
                                     entry_.saveIP(), calls_.enter({}));
  enterFunction("part", 5);
  ISTHMUS_RETURN_IF_ERROR(emitBody());
  leaveFunction();
  llvm::Function* part = function_;
  llvm::IRBuilderBase::InsertPoint place, entryPlace;
  StepCalls::Frame calls;
  std::tie(function_, failed_, arguments_, place, entryPlace, calls) = frame;
  builder_.restoreIP(place);
  entry_.restoreIP(entryPlace);
  calls_.enter(calls);
  llvm::SmallVector<llvm::Value*, 5> arguments;
  for (unsigned i = 0; i < 5; ++i) arguments.push_back(argument(i));
  calls_.check(builder_.CreateCall(part, arguments));
  return {};
}

// `count` things in a row that use so many values each, in functions of their own if they are many
// and nothing is optimised.
Status ProgramEmitter::emitParts(size_t count, llvm::function_ref<int64_t(size_t)> valuesAt,
                                 llvm::function_ref<Status(size_t)> emitAt) {
  for (size_t begin = 0, end; begin < count; begin = end) {
    int64_t values = 0;
    for (end = begin; end < count && values < kMaxValuesOfPart; ++end) values += valuesAt(end);
    auto emit = [&]() -> Status {
      for (size_t i = begin; i < end; ++i) ISTHMUS_RETURN_IF_ERROR(emitAt(i));
      return {};
    };
    const bool isAll = begin == 0 && end == count;
    ISTHMUS_RETURN_IF_ERROR(isOptimized_ || isAll ? emit() : emitPart(emit));
  }
  return {};
}

// Whether the program has loops, and is short enough. Steps that run once are calls one after the
// other, which quick instruction selection writes as well as the slow one.
bool ProgramEmitter::isWorthOptimizing() {
  bool hasLoops = false;
  int64_t values = 0;
  main_.getBody().walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
    values += valuesOf(op);
    const OpRole role = roleOf(op);
    hasLoops |= role == OpRole::kWhile;
    return role == OpRole::kCompute ? mlir::WalkResult::skip() : mlir::WalkResult::advance();
  });
  return hasLoops && values <= kMaxOptimizedValues;
}

// Where nothing is optimised, all slots are one, whose address is another argument of parts.
void ProgramEmitter::prepareStack() {
  auto allocate = [&](int64_t bytes) {
    auto* slot = entry_.CreateAlloca(llvm::ArrayType::get(builder_.getInt8Ty(), bytes));
    slot->setAlignment(llvm::Align(kBufferAlignment));
    return slot;
  };
  int64_t total = 0;
  for (int64_t bytes : plan_.stackSlots()) {
    if (isOptimized_) stackSlots_.push_back(allocate(bytes));
    stackOffsets_.push_back(total);
    total += roundUp(bytes, kBufferAlignment);
  }
  if (isOptimized_) return;
  arguments_.push_back(entry_.CreateAlloca(pointer_));
  entry_.CreateStore(allocate(total), arguments_.back());
}

Status ProgramEmitter::prepareConstants() {
  llvm::Value* pool = nullptr;
  for (mlir::Operation* op : plan_.constants()) {
    StatusOr<std::string> bytes = constantBytes(op->getAttr("value"));
    if (!bytes.ok()) return atOp(op, bytes.status());
    if (static_cast<int64_t>(bytes->size()) <= kMaxCodeConstantBytes) {
      constants_.push_back({calls_.data(*bytes, "constant")});
      continue;
    }
    const int64_t offset = pool_.add(*bytes);
    if (!isOptimized_) {
      constants_.push_back({.offset = offset});
      continue;
    }
    if (!pool) {
      pool = loadPointer(function_->getArg(1), static_cast<int>(main_.getNumArguments()), "pool");
    }
    constants_.push_back({entry_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), pool, offset)});
  }
  return {};
}

llvm::Value* ProgramEmitter::loadPointer(llvm::Value* table, int index, llvm::StringRef name) {
  llvm::Value* place = entry_.CreateConstInBoundsGEP1_64(pointer_, table, index);
  llvm::LoadInst* load = entry_.CreateLoad(pointer_, place, name);
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return load;
}

// Values with thousands of uses cost the register allocator more than linear time: where it may be
// thousands, each step loads what it needs from the stack.
llvm::Value* ProgramEmitter::argument(unsigned index) {
  if (isOptimized_) return function_->getArg(index);
  return builder_.CreateLoad(pointer_, arguments_[index]);
}

llvm::Value* ProgramEmitter::entryOf(unsigned table, llvm::DenseMap<int, llvm::Value*>& known,
                                     int index, llvm::StringRef name) {
  if (!isOptimized_) {
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
    case Location::Space::kConstant: {
      const ConstantPlace& place = constants_[location.index];
      if (place.address) return place.address;
      const auto pool = static_cast<int>(main_.getNumArguments());
      return offsetOf(entryOf(1, parameters_, pool, "pool"), place.offset);
    }
    case Location::Space::kStack:
      if (isOptimized_) return stackSlots_[location.index];
      return offsetOf(argument(4), stackOffsets_[location.index]);
    case Location::Space::kArena:
      return offsetOf(argument(3), location.offset);
  }
  return nullptr;
}

Status ProgramEmitter::emitBlock(mlir::Block& block) {
  llvm::SmallVector<mlir::Operation*> steps;
  for (mlir::Operation& op : block) {
    const OpRole role = roleOf(&op);
    if (role == OpRole::kWhile || role == OpRole::kBranch || role == OpRole::kCompute) {
      steps.push_back(&op);
    }
  }
  return emitParts(
      steps.size(), [&](size_t i) { return valuesOf(steps[i]); },
      [&](size_t i) {
        const OpRole role = roleOf(steps[i]);
        return role == OpRole::kWhile    ? emitWhile(steps[i])
               : role == OpRole::kBranch ? emitBranch(steps[i])
                                         : emitOperation(steps[i]);
      });
}

Status ProgramEmitter::emitOperation(mlir::Operation* op) {
  auto it = code_.find(op);
  if (it == code_.end()) return unsupportedOp(op, "the CPU backend has no code for it");
  const OperationCode& code = it->second;
  llvm::SmallVector<Location, 8> places;
  auto add = [&](mlir::Value value) {
    if (llvm::isa<mlir::RankedTensorType>(value.getType())) places.push_back(plan_.locate(value));
  };
  for (mlir::Value operand : op->getOperands()) add(operand);
  for (mlir::Value result : op->getResults()) add(result);
  if (code.scratchBytes > 0) places.push_back(plan_.scratchOf(op));
  llvm::SmallVector<llvm::Function*, 2> callbacks;
  for (const std::string& callback : code.callbacks) {
    llvm::Function* function = module_.getFunction(callback);
    if (!function) return internalError("generated function ", callback, " is missing");
    callbacks.push_back(function);
  }
  llvm::Value* buffers =
      calls_.makeBuffers(places.size() + callbacks.size(), [&](size_t i) -> llvm::Value* {
        return i < places.size() ? addressOf(places[i]) : callbacks[i - places.size()];
      });
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
  if (!isOptimized_) {
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

Status ProgramEmitter::emitMoves(const std::vector<Move>& moves) {
  return emitParts(
      moves.size(), [](size_t) { return 2; },
      [&](size_t i) {
        emitMove(moves[i]);
        return Status();
      });
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
  ISTHMUS_RETURN_IF_ERROR(emitMoves(plan_.movesInto(op)));
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
  return emitMoves(plan_.movesAt(&block.back()));
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

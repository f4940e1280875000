#include "compiler/driver/step_fusion.h"

#include <algorithm>
#include <optional>

#include "compiler/codegen/kernel_emitter.h"
#include "compiler/codegen/module/control_flow.h"
#include "compiler/cost/time.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/facts/same_code.h"
#include "compiler/schedule/attention/attention.h"
#include "isthmus/log.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace isthmus {
namespace {

// Why a step does not join those before it.
constexpr const char* kTakesLong =
    "one thread would take longer for all of them than the launch that is saved";
constexpr const char* kHasManyParameters = "the kernel would have too many parameters";
constexpr const char* kHasManyStages = "the kernel would have too much code";
constexpr const char* kHasNoPart = "operations of this kind are no part of other kernels";
constexpr const char* kIsOnHost = "the host carries it out";
constexpr const char* kIsOfLibrary = "a library of the device carries it out";
constexpr const char* kLaunchesAreCheap = "only loops are fused where launches cost little";
// A work-item's numbers, which an operation's kernel asks for; no device has such functions.
constexpr const char* kItemSymbol = "isthmus.item";

// What a host would enqueue of steps, each round of a loop once.
int commandsOf(const std::vector<Step>& steps) {
  int count = 0;
  forEachStep(steps, [&](const Step& step) {
    count += std::holds_alternative<KernelLaunch>(step.what);
    count += std::holds_alternative<Move>(step.what);
    return true;
  });
  return count;
}

// With an epilogue or without.
bool isProduct(mlir::Operation* op) {
  if (isContraction(op)) return true;
  auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
  return fusion && isProductWithEpilogue(fusion);
}

// Of copying from one place to another, word by word.
double movedNs(const TargetModel& target, double bytes) {
  constexpr double kWordBytes = 8;
  return oneByOneNs(target, bytes / kWordBytes);
}

// Steps that follow each other, as one kernel.
class FusedSteps {
 public:
  FusedSteps(codegen::KernelModule& kernels, const KernelOrigins& origins)
      : kernels_(kernels), origins_(origins), module_(kernels.module()) {
    needs_.maxNs = target().fusedStepsNs;
  }

  // Adds the step, which outlives this object, if one work-item can run it after the others, and
  // should.
  StatusOr<bool> add(const Step& step) {
    Needs before = needs_;
    refusal_ = kTakesLong;
    ISTHMUS_ASSIGN_OR_RETURN(bool isAdmitted, admits(step));
    int64_t maxParameters = target().maxJoinedParameters;
    if (target().maxParameters > 0) maxParameters = std::min(maxParameters, target().maxParameters);
    if (isAdmitted && static_cast<int64_t>(needs_.parameters.size()) > maxParameters)
      isAdmitted = refuse(kHasManyParameters);
    if (isAdmitted) {
      steps_.push_back(&step);
      return true;
    }
    needs_ = std::move(before);
    return false;
  }
  // Why add() has not added the step that it was last called with.
  const char* refusal() const { return refusal_; }
  // Whether a kernel of its own saves anything.
  bool isWorthIt() const {
    return (needs_.hasControlFlow || needs_.commands > 1) && !operations().empty();
  }

  // To be called where isWorthIt().
  StatusOr<KernelLaunch> emit();

  // What the launch is of: loops and branches as a whole, the others in their order.
  std::vector<mlir::Operation*> operations() const {
    std::vector<mlir::Operation*> all;
    if (needs_.around) all.push_back(needs_.around);
    all.insert(all.end(), needs_.outside.begin(), needs_.outside.end());
    return all;
  }

  // Removes what add() has emitted.
  void discard() {
    for (auto& [op, parts] : emitted_) {
      for (const Part& part : parts) module_.getFunction(part.symbol)->eraseFromParent();
    }
    emitted_.clear();
    emittedFor_.clear();
  }

 private:
  using Builder = llvm::IRBuilder<>;

  // Of the kernel.
  struct Parameter {
    Location location;
    bool isWritten = false;
    llvm::Value* address = nullptr;
  };
  // A stage of an operation as a function: of a fusion over the table of its buffers and a range of
  // tiles, of another one over its buffers and the numbers of one work-item.
  struct Part {
    std::string symbol;
    bool isOfFusion = true;
    double ns = 0;  // of all tiles or items, on one thread
    int64_t tiles = 1;
    unsigned groupThreads = 1;
    codegen::Items items{1, 1, 1};
    // As KernelStage has it.
    int copiesFrom = -1;
    int copiesTo = -1;
  };
  using Parts = std::vector<Part>;

  const TargetModel& target() const { return kernels_.form().target; }
  bool isCpu() const { return target().device == DeviceKind::kCpu; }
  // Devices with groups of threads have launches that cost less, and a thread takes longer.
  bool mayFuseLaunches() const { return !target().hasGroups(); }
  // Each step outside of loops that joins others saves a launch.
  double mostNs() const {
    return depth_ > 0 ? needs_.maxNs : std::max(needs_.maxNs, target().joinedStepsNs);
  }
  // Of the steps that were added.
  struct Needs {
    std::vector<Parameter> parameters;
    double ns = 0;
    double maxNs = 0;
    int64_t instructions = 0;
    int commands = 0;  // that a host would enqueue, those of each loop's round once
    int launches = 0;
    bool hasControlFlow = false;
    mlir::Operation* around = nullptr;                  // what is inside of control flow
    llvm::SmallSetVector<mlir::Operation*, 8> outside;  // what is not
  };

  StatusOr<Parts> partsOf(ir::FusionOp fusion, const std::string& symbol);
  StatusOr<Parts> partsOfProduct(mlir::Operation* op, const std::string& symbol);
  void takeItemNumbers(const std::string& symbol);
  bool isLittle(const KernelLaunch& launch, const KernelOrigin& origin) const;
  StatusOr<bool> admits(const KernelLaunch& launch);
  StatusOr<bool> admits(const Move& move) {
    if (depth_ == 0 && !mayFuseLaunches()) return refuse(kLaunchesAreCheap);
    note(move.from, move.isSwap);
    note(move.to, true);
    ++needs_.commands;
    if (!isCpu()) return move.to.bytes <= target().maxFusedMoveBytes;
    double ns = movedNs(target(), static_cast<double>(move.to.bytes));
    needs_.ns += ns;
    return needs_.ns <= mostNs() && (depth_ > 0 || ns <= target().enqueueNs);
  }
  StatusOr<bool> admits(const Loop& loop) {
    note(loop.predicate, false);
    // A GPU's thread takes longer than the commands of any loop.
    if (depth_ == 0 && isCpu()) {
      needs_.maxNs = std::max(
          target().fusedStepsNs,
          needs_.ns + target().commandNs * (commandsOf(loop.condition) + commandsOf(loop.body)));
    }
    ISTHMUS_ASSIGN_OR_RETURN(bool isAdmitted, admitsInside(loop.condition));
    if (!isAdmitted) return false;
    return admitsInside(loop.body);
  }
  StatusOr<bool> admits(const Branch& branch) {
    if (depth_ == 0 && !mayFuseLaunches()) return refuse(kLaunchesAreCheap);
    note(branch.index, false);
    for (const std::vector<Step>& steps : branch.branches) {
      ISTHMUS_ASSIGN_OR_RETURN(bool isAdmitted, admitsInside(steps));
      if (!isAdmitted) return false;
    }
    return true;
  }
  StatusOr<bool> admits(const Step& step) {
    return std::visit([this](const auto& what) { return admits(what); }, step.what);
  }
  StatusOr<bool> admitsInside(const std::vector<Step>& steps) {
    needs_.hasControlFlow = true;
    ++depth_;
    for (const Step& step : steps) {
      StatusOr<bool> isAdmitted = admits(step);
      if (isAdmitted.ok() && *isAdmitted) continue;
      --depth_;
      return isAdmitted;
    }
    --depth_;
    return true;
  }
  StatusOr<bool> admits(const HostCall&) { return refuse(kIsOnHost); }
  StatusOr<bool> admits(const LibraryCall&) { return refuse(kIsOfLibrary); }
  bool refuse(const char* why) {
    refusal_ = why;
    return false;
  }

  void note(const Location& location, bool isWritten) {
    Parameter* known = find(location);
    if (!known) {
      needs_.parameters.push_back({location});
      known = &needs_.parameters.back();
    }
    known->location.bytes = std::max(known->location.bytes, location.bytes);
    known->isWritten |= isWritten;
  }
  Parameter* find(const Location& location) {
    std::vector<Parameter>& all = needs_.parameters;
    auto it = std::find_if(all.begin(), all.end(), [&](const Parameter& parameter) {
      return parameter.location.isSamePlace(location);
    });
    return it == all.end() ? nullptr : &*it;
  }
  llvm::Value* addressOf(const Location& location) { return find(location)->address; }

  const Part& partOf(const KernelLaunch& launch) const {
    KernelOrigin origin = origins_.at(launch.kernel);
    return emitted_.at(emittedFor_.at(origin.op))[origin.stage];
  }

  // The operation whose parts are this one's, emitted by the first that comes along.
  StatusOr<mlir::Operation*> emitParts(mlir::Operation* op);
  // Whether they do the same with the same memory. Of control flow nothing is compared.
  bool areSame(const Step& step, const Step& other) const;
  bool areSame(const KernelLaunch& launch, const KernelLaunch& other) const;

  Status emitSteps(Builder& b, const std::vector<Step>& steps) {
    for (const Step& step : steps) ISTHMUS_RETURN_IF_ERROR(emitStep(b, step));
    return {};
  }
  // Steps that come again and again: what a program's unrolled loop leaves, whose arrays take turns
  // in the same places.
  struct Rounds {
    size_t length = 1;  // steps of a round
    size_t count = 1;
  };
  static constexpr size_t kLongestRound = 16;
  Rounds roundsFrom(size_t begin) const;
  // Whether the launch is likely to be code of a round that is there already.
  bool isOfKnownRound(const KernelLaunch& launch) const;
  Status emitRounds(Builder& b, size_t begin, const Rounds& rounds);
  Status emitStep(Builder& b, const Step& step) {
    return std::visit([&](const auto& what) { return emitStep(b, what); }, step.what);
  }
  // for (i = 0; i < count; ++i), of at least one round.
  void emitCount(Builder& b, int64_t count, llvm::function_ref<void(llvm::Value*)> body);
  Status emitStep(Builder& b, const KernelLaunch& launch);
  Status emitStep(Builder& b, const Move& move);
  Status emitStep(Builder& b, const Loop& loop);
  Status emitStep(Builder& b, const Branch& branch);
  // admits() has refused these.
  Status emitStep(Builder&, const HostCall&) { return internalError("a call of the host"); }
  Status emitStep(Builder&, const LibraryCall&) { return internalError("a call of a library"); }

  // Each inlined call has scopes of its own, by which kernels would differ that are equal
  // otherwise; no OpenCL driver is told of them.
  void forgetAliasing() {
    for (llvm::Instruction& instruction :
         llvm::make_early_inc_range(llvm::instructions(function_))) {
      instruction.setMetadata(llvm::LLVMContext::MD_alias_scope, nullptr);
      instruction.setMetadata(llvm::LLVMContext::MD_noalias, nullptr);
      if (llvm::isa<llvm::NoAliasScopeDeclInst>(instruction)) instruction.eraseFromParent();
    }
  }

  llvm::BasicBlock* newBlock(const char* name) {
    return llvm::BasicBlock::Create(module_.getContext(), name, function_);
  }

  codegen::KernelModule& kernels_;
  const KernelOrigins& origins_;
  llvm::Module& module_;
  std::vector<const Step*> steps_;
  Needs needs_;
  const char* refusal_ = kTakesLong;
  llvm::DenseMap<mlir::Operation*, Parts> emitted_;
  // Of each operation, the one of the same code that is in emitted_.
  llvm::DenseMap<mlir::Operation*, mlir::Operation*> emittedFor_;
  int depth_ = 0;  // of loops and branches around the step that is looked at
  llvm::Function* function_ = nullptr;
  std::vector<llvm::CallInst*> calls_;
};

StatusOr<FusedSteps::Parts> FusedSteps::partsOf(ir::FusionOp fusion, const std::string& symbol) {
  ISTHMUS_ASSIGN_OR_RETURN(Kernel kernel,
                           emitKernel(fusion, kernels_.form().target, module_, symbol));
  Parts parts;
  for (const KernelStage& stage : kernel.stages) {
    // What was said to the compiler of functions.
    module_.getFunction(stage.symbol)->setAttributes(llvm::AttributeList());
    Part part{stage.symbol};
    part.tiles = stage.tiles;
    part.ns = stage.nsPerTile * static_cast<double>(stage.tiles);
    part.groupThreads = stage.groupThreads;
    part.copiesFrom = stage.copiesFrom;
    part.copiesTo = stage.copiesTo;
    parts.push_back(std::move(part));
  }
  return parts;
}

StatusOr<FusedSteps::Parts> FusedSteps::partsOfProduct(mlir::Operation* op,
                                                       const std::string& symbol) {
  codegen::WorkItemForm form;
  form.target = kernels_.form().target;
  form.globalSpace = 0;
  form.convention = llvm::CallingConv::C;
  form.indices = [](Builder& b, const codegen::Items& items) {
    auto* type = llvm::FunctionType::get(b.getInt64Ty(), {b.getInt32Ty()}, false);
    llvm::FunctionCallee item =
        b.GetInsertBlock()->getModule()->getOrInsertFunction(kItemSymbol, type);
    std::array<llvm::Value*, 3> indices{};
    for (unsigned d = 0; d < items.size(); ++d) {
      indices[d] = items[d] == 1 ? static_cast<llvm::Value*>(b.getInt64(0))
                                 : b.CreateCall(item, {b.getInt32(d)});
    }
    return indices;
  };
  auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
  ISTHMUS_ASSIGN_OR_RETURN(codegen::OpKernels kernels,
                           fusion ? emitProductWithEpilogue(fusion, module_, form, symbol)
                                  : emitProduct(op, module_, form, symbol));
  Parts parts;
  for (const codegen::OpKernel& stage : kernels.stages) {
    takeItemNumbers(stage.name);
    Part part{stage.name, false};
    part.items = stage.items;
    // The last one computes; those before copy operands.
    if (&stage == &kernels.stages.back()) {
      part.ns = repeatedProductNs(target(), workOf(op), stage.isVector);
    }
    parts.push_back(std::move(part));
  }
  if (llvm::Function* item = module_.getFunction(kItemSymbol)) item->eraseFromParent();
  return parts;
}

// Makes the work-item's numbers parameters of the function, behind its buffers.
void FusedSteps::takeItemNumbers(const std::string& symbol) {
  llvm::Function* old = module_.getFunction(symbol);
  llvm::SmallVector<llvm::Type*, 8> types(old->getFunctionType()->params());
  types.append(3, llvm::Type::getInt64Ty(module_.getContext()));
  auto* function =
      llvm::Function::Create(llvm::FunctionType::get(old->getReturnType(), types, false),
                             llvm::Function::ExternalLinkage, "", &module_);
  function->takeName(old);
  function->splice(function->begin(), old);
  for (llvm::Argument& argument : old->args()) {
    argument.replaceAllUsesWith(function->getArg(argument.getArgNo()));
  }
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (!call || !call->getCalledFunction()) continue;
    if (call->getCalledFunction()->getName() != kItemSymbol) continue;
    auto dimension = llvm::cast<llvm::ConstantInt>(call->getArgOperand(0))->getZExtValue();
    call->replaceAllUsesWith(function->getArg(static_cast<unsigned>(old->arg_size() + dimension)));
    call->eraseFromParent();
  }
  old->eraseFromParent();
}

// By what is known without its code.
bool FusedSteps::isLittle(const KernelLaunch& launch, const KernelOrigin& origin) const {
  if (!isCpu()) {
    const codegen::KernelInfo& info = kernels_.kernels()[static_cast<size_t>(launch.kernel)];
    return needs_.ns + origin.ns <= needs_.maxNs && info.items[0] <= target().maxFusedTiles &&
           info.groupThreads == 1;
  }
  double ns = origin.ns;
  if (isProduct(origin.op)) {
    ns = repeatedProductNs(target(), workOf(origin.op), true);
    if (depth_ == 0) ns += movedNs(target(), accessedBytes(origin.op));
  }
  return needs_.ns + ns <= mostNs() && (depth_ > 0 || ns <= target().enqueueNs);
}

StatusOr<mlir::Operation*> FusedSteps::emitParts(mlir::Operation* op) {
  if (auto known = emittedFor_.find(op); known != emittedFor_.end()) return known->second;
  for (const auto& [other, parts] : emitted_) {
    if (haveSameCode(op, other)) return emittedFor_[op] = other;
  }
  std::string symbol = kernels_.nextSymbol() + "_part" + std::to_string(emitted_.size());
  ISTHMUS_ASSIGN_OR_RETURN(Parts parts, isProduct(op)
                                            ? partsOfProduct(op, symbol)
                                            : partsOf(llvm::cast<ir::FusionOp>(op), symbol));
  emitted_[op] = std::move(parts);
  return emittedFor_[op] = op;
}

StatusOr<bool> FusedSteps::admits(const KernelLaunch& launch) {
  auto known = origins_.find(launch.kernel);
  if (known == origins_.end()) return refuse(kHasNoPart);
  if (++needs_.launches > target().maxJoinedStages) return refuse(kHasManyStages);
  const KernelOrigin& origin = known->second;
  mlir::Operation* op = origin.op;
  if (depth_ == 0 && !mayFuseLaunches()) return refuse(kLaunchesAreCheap);
  // Nothing is emitted in vain.
  if (!isLittle(launch, origin)) return false;
  ISTHMUS_ASSIGN_OR_RETURN(mlir::Operation * emitted, emitParts(op));
  if (depth_ > 0) {
    needs_.around = op->getParentOp();
  } else {
    needs_.outside.insert(op);
  }
  ++needs_.commands;
  const Part& part = emitted_.at(emitted)[origin.stage];
  needs_.ns += part.ns;
  if (depth_ == 0 && !isOfKnownRound(launch)) {
    needs_.instructions += module_.getFunction(part.symbol)->getInstructionCount();
    if (needs_.instructions > target().maxJoinedInstructions) return refuse(kHasManyStages);
  }
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    note(launch.buffers[i], i >= static_cast<size_t>(launch.inputs));
  }
  return needs_.ns <= mostNs();
}

void FusedSteps::emitCount(Builder& b, int64_t count, llvm::function_ref<void(llvm::Value*)> body) {
  if (count == 1) return body(b.getInt64(0));
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* loop = newBlock("count");
  llvm::BasicBlock* done = newBlock("counted");
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
  body(i);
  llvm::Value* next = b.CreateAdd(i, b.getInt64(1), "", true, true);
  i->addIncoming(b.getInt64(0), before);
  i->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpULT(next, b.getInt64(static_cast<uint64_t>(count))), loop, done);
  b.SetInsertPoint(done);
}

Status FusedSteps::emitStep(Builder& b, const KernelLaunch& launch) {
  const Part& part = partOf(launch);
  if (part.copiesFrom >= 0 && launch.buffers[static_cast<size_t>(part.copiesFrom)].isSamePlace(
                                  launch.buffers[static_cast<size_t>(part.copiesTo)])) {
    return {};
  }
  llvm::Function* function = module_.getFunction(part.symbol);
  if (!part.isOfFusion) {
    llvm::SmallVector<llvm::Value*, 8> arguments;
    for (const Location& buffer : launch.buffers) arguments.push_back(addressOf(buffer));
    emitCount(b, part.items[2], [&](llvm::Value* z) {
      emitCount(b, part.items[1], [&](llvm::Value* y) {
        emitCount(b, part.items[0], [&](llvm::Value* x) {
          llvm::SmallVector<llvm::Value*, 8> all(arguments);
          all.append({x, y, z});
          calls_.push_back(b.CreateCall(function, all));
        });
      });
    });
    return {};
  }
  // In the entry block, the memory is one of the kernel's.
  Builder entry(&*function_->getEntryBlock().getFirstInsertionPt());
  auto* type = llvm::ArrayType::get(b.getPtrTy(), launch.buffers.size());
  llvm::Value* table = entry.CreateAlloca(type);
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    b.CreateStore(addressOf(launch.buffers[i]),
                  b.CreateConstInBoundsGEP1_64(b.getPtrTy(), table, i));
  }
  llvm::Value* tiles = b.getInt64(static_cast<uint64_t>(part.tiles));
  calls_.push_back(b.CreateCall(function, {table, b.getInt64(0), tiles}));
  return {};
}

Status FusedSteps::emitStep(Builder& b, const Move& move) {
  if (move.to.bytes <= 0 || move.to.isSamePlace(move.from)) return {};
  // Arrays are aligned for any element.
  int64_t width = move.to.bytes % 8 == 0 ? 8 : move.to.bytes % 4 == 0 ? 4 : 1;
  llvm::Type* type = b.getIntNTy(static_cast<unsigned>(8 * width));
  emitCount(b, move.to.bytes / width, [&](llvm::Value* i) {
    llvm::Value* from = b.CreateInBoundsGEP(type, addressOf(move.from), i);
    llvm::Value* to = b.CreateInBoundsGEP(type, addressOf(move.to), i);
    llvm::Value* value = b.CreateLoad(type, from);
    if (move.isSwap) b.CreateStore(b.CreateLoad(type, to), from);
    b.CreateStore(value, to);
  });
  return {};
}

Status FusedSteps::emitStep(Builder& b, const Loop& loop) {
  auto emitCondition = [&]() -> StatusOr<llvm::Value*> {
    ISTHMUS_RETURN_IF_ERROR(emitSteps(b, loop.condition));
    llvm::Value* predicate = b.CreateLoad(b.getInt8Ty(), addressOf(loop.predicate));
    return b.CreateICmpNE(predicate, b.getInt8(0));
  };
  return codegen::emitLoop(b, emitCondition, [&] { return emitSteps(b, loop.body); });
}

Status FusedSteps::emitStep(Builder& b, const Branch& branch) {
  llvm::Type* type = branch.isIf ? b.getInt8Ty() : b.getInt32Ty();
  llvm::Value* index = b.CreateLoad(type, addressOf(branch.index));
  return codegen::emitBranches(b, index, branch.isIf, branch.branches.size(),
                               [&](size_t i) { return emitSteps(b, branch.branches[i]); });
}

bool FusedSteps::areSame(const KernelLaunch& launch, const KernelLaunch& other) const {
  auto isSamePlace = [](const Location& a, const Location& b) { return a.isSamePlace(b); };
  return &partOf(launch) == &partOf(other) &&
         std::ranges::equal(launch.buffers, other.buffers, isSamePlace);
}

bool FusedSteps::areSame(const Step& step, const Step& other) const {
  if (auto* launch = std::get_if<KernelLaunch>(&step.what)) {
    auto* again = std::get_if<KernelLaunch>(&other.what);
    return again && areSame(*launch, *again);
  }
  auto* move = std::get_if<Move>(&step.what);
  auto* again = std::get_if<Move>(&other.what);
  return move && again && move->to.isSamePlace(again->to) && move->from.isSamePlace(again->from) &&
         move->to.bytes == again->to.bytes && move->isSwap == again->isSwap;
}

bool FusedSteps::isOfKnownRound(const KernelLaunch& launch) const {
  const size_t begin = steps_.size() - std::min(steps_.size(), kLongestRound);
  return std::any_of(steps_.begin() + static_cast<std::ptrdiff_t>(begin), steps_.end(),
                     [&](const Step* step) {
                       auto* before = std::get_if<KernelLaunch>(&step->what);
                       return before && areSame(launch, *before);
                     });
}

FusedSteps::Rounds FusedSteps::roundsFrom(size_t begin) const {
  Rounds best;
  size_t saved = 0;
  for (size_t length = 1; length <= kLongestRound && begin + 2 * length <= steps_.size();
       ++length) {
    size_t end = begin + length;
    while (end < steps_.size() && areSame(*steps_[end], *steps_[end - length])) ++end;
    const size_t count = (end - begin) / length;
    if (length * (count - 1) <= saved) continue;
    saved = length * (count - 1);
    best = {length, count};
  }
  return best;
}

Status FusedSteps::emitRounds(Builder& b, size_t begin, const Rounds& rounds) {
  Status status;
  emitCount(b, static_cast<int64_t>(rounds.count), [&](llvm::Value*) {
    for (size_t i = begin; i < begin + rounds.length && status.ok(); ++i) {
      status = emitStep(b, *steps_[i]);
    }
  });
  return status;
}

StatusOr<KernelLaunch> FusedSteps::emit() {
  std::vector<Parameter>& parameters = needs_.parameters;
  // What is only read comes first.
  std::partition(parameters.begin(), parameters.end(),
                 [](const Parameter& parameter) { return !parameter.isWritten; });
  llvm::LLVMContext& context = module_.getContext();
  Builder b(context);
  std::string symbol = kernels_.nextSymbol();
  auto* type =
      llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty()}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, &module_);
  b.SetInsertPoint(newBlock("entry"));
  KernelLaunch launch;
  for (Parameter& parameter : parameters) {
    llvm::Value* slot =
        b.CreateConstInBoundsGEP1_64(b.getPtrTy(), function_->getArg(0), launch.buffers.size());
    parameter.address = b.CreateLoad(b.getPtrTy(), slot);
    launch.buffers.push_back(parameter.location);
    launch.inputs += parameter.isWritten ? 0 : 1;
  }
  for (size_t i = 0; i < steps_.size();) {
    const Rounds rounds = roundsFrom(i);
    ISTHMUS_RETURN_IF_ERROR(emitRounds(b, i, rounds));
    i += rounds.length * rounds.count;
  }
  b.CreateRetVoid();
  for (llvm::CallInst* call : calls_) {
    llvm::InlineFunctionInfo info;
    if (!llvm::InlineFunction(*call, info).isSuccess()) {
      return internalError("a part of kernel ", symbol, " cannot be inlined");
    }
  }
  discard();
  if (mayFuseLaunches()) forgetAliasing();
  const codegen::WorkItemForm& form = kernels_.form();
  ISTHMUS_RETURN_IF_ERROR(
      makeWorkItemKernel(module_, symbol, static_cast<unsigned>(launch.buffers.size()), 1, form));
  codegen::OpKernels kernel;
  kernel.stages.push_back({symbol, {1, 1, 1}, 1, form.target.device == DeviceKind::kCpu});
  std::vector<mlir::Operation*> all = operations();
  launch.kernel = kernels_.add(all.front(), kernel, all.size() - 1).stages[0].kernel;
  return launch;
}

// "fusion of add (tensor<8xf32>) … at f.py:12"; a loop or branch by the first kernel inside of it.
std::string describeStep(const Step& step, const codegen::KernelModule& kernels) {
  if (std::holds_alternative<HostCall>(step.what)) return "a call of the host";
  if (std::holds_alternative<LibraryCall>(step.what)) return "a call of a library";
  if (std::holds_alternative<Move>(step.what)) return "a copy";
  std::string first = "no kernel";
  auto isNoLaunch = [&](const Step& inner) {
    auto* launch = std::get_if<KernelLaunch>(&inner.what);
    if (launch) first = kernels.kernels()[static_cast<size_t>(launch->kernel)].description;
    return !launch;
  };
  if (!isNoLaunch(step)) return first;
  if (auto* loop = std::get_if<Loop>(&step.what)) {
    if (forEachStep(loop->condition, isNoLaunch)) forEachStep(loop->body, isNoLaunch);
    return "the loop around " + first;
  }
  for (const std::vector<Step>& steps : std::get<Branch>(step.what).branches) {
    if (!forEachStep(steps, isNoLaunch)) break;
  }
  return "the branch to " + first;
}

void logRefusal(const Step& step, const codegen::KernelModule& kernels, const char* why) {
  if (logsCompilation()) {
    logCompilation(describeStep(step, kernels) + " is not fused with other steps: " + why);
  }
}

}  // namespace

bool mayFuseStep(mlir::Operation* op, const TargetModel& target) {
  // A group's kernel cannot be a single thread's.
  if (isProduct(op)) return target.device == DeviceKind::kCpu;
  auto fusion = llvm::dyn_cast<ir::FusionOp>(op);
  return fusion && !attentionOf(fusion);
}

Status fuseSteps(codegen::KernelModule& kernels, const KernelOrigins& origins, StepTable& profile,
                 std::vector<Step>& steps) {
  std::vector<Step> made;
  std::optional<FusedSteps> kernel;
  size_t begin = 0;  // of the kernel's steps
  auto finish = [&](size_t end) -> Status {
    if (!kernel) return {};
    if (kernel->isWorthIt()) {
      ISTHMUS_ASSIGN_OR_RETURN(KernelLaunch launch, kernel->emit());
      launch.profileStep = static_cast<int32_t>(profile.add(kernel->operations()));
      made.push_back({std::move(launch)});
    } else {
      kernel->discard();
      for (size_t i = begin; i < end; ++i) made.push_back(std::move(steps[i]));
    }
    kernel.reset();
    return {};
  };
  for (size_t i = 0; i < steps.size(); ++i) {
    const char* why = nullptr;
    if (kernel) {
      ISTHMUS_ASSIGN_OR_RETURN(bool isAdded, kernel->add(steps[i]));
      if (isAdded) continue;
      why = kernel->refusal();
      ISTHMUS_RETURN_IF_ERROR(finish(i));
    }
    kernel.emplace(kernels, origins);
    begin = i;
    ISTHMUS_ASSIGN_OR_RETURN(bool isAdded, kernel->add(steps[i]));
    if (!isAdded) why = kernel->refusal();
    if (why) logRefusal(steps[i], kernels, why);
    if (isAdded) continue;
    kernel->discard();
    kernel.reset();
    if (auto* loop = std::get_if<Loop>(&steps[i].what)) {
      ISTHMUS_RETURN_IF_ERROR(fuseSteps(kernels, origins, profile, loop->condition));
      ISTHMUS_RETURN_IF_ERROR(fuseSteps(kernels, origins, profile, loop->body));
    } else if (auto* branch = std::get_if<Branch>(&steps[i].what)) {
      for (std::vector<Step>& inner : branch->branches) {
        ISTHMUS_RETURN_IF_ERROR(fuseSteps(kernels, origins, profile, inner));
      }
    }
    made.push_back(std::move(steps[i]));
  }
  ISTHMUS_RETURN_IF_ERROR(finish(steps.size()));
  steps = std::move(made);
  return {};
}

}  // namespace isthmus

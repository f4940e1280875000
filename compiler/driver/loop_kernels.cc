#include "compiler/driver/loop_kernels.h"

#include <algorithm>

#include "compiler/codegen/kernel_emitter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"

namespace isthmus {
namespace {

// Of one round, loops inside counted once, on one thread of a CPU: about what a host needs for it.
constexpr double kMostNs = 30'000;
// A GPU's thread is slow, and estimates are of all of them: so much of it, in so many tiles.
constexpr double kMostGpuNs = 100;
constexpr int64_t kMostGpuTiles = 64;
// Bounds on code size, and on what a kernel may have for parameters.
constexpr int kMostStages = 24;
constexpr size_t kMostPlaces = 60;
constexpr int64_t kMostMovedBytes = 4096;

class LoopKernel {
 public:
  LoopKernel(codegen::KernelModule& kernels, const FusedStages& stages)
      : kernels_(kernels), stages_(stages), module_(kernels.module()) {}

  // Whether one work-item can run them all, and should. Notes what they need.
  StatusOr<bool> admits(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      ISTHMUS_ASSIGN_OR_RETURN(
          bool isAdmitted,
          std::visit([this](const auto& what) { return admits(what); }, step.what));
      if (!isAdmitted) return false;
    }
    return places_.size() <= kMostPlaces;
  }

  StatusOr<KernelLaunch> emit(const Loop& loop);

  // That the launch is of.
  mlir::Operation* operation() const { return whole_; }

  // Removes what admits() has emitted.
  void discard() {
    for (auto& [fusion, kernel] : emitted_) {
      for (const KernelStage& stage : kernel.stages) {
        module_.getFunction(stage.symbol)->eraseFromParent();
      }
    }
    emitted_.clear();
  }

 private:
  using Builder = llvm::IRBuilder<>;

  struct Place {
    Location location;
    bool isWritten = false;
    llvm::Value* address = nullptr;
  };

  StatusOr<bool> admits(const KernelLaunch& launch);
  StatusOr<bool> admits(const Move& move) {
    note(move.from, move.isSwap);
    note(move.to, true);
    return move.to.bytes <= kMostMovedBytes;
  }
  StatusOr<bool> admits(const Loop& loop) {
    note(loop.predicate, false);
    ISTHMUS_ASSIGN_OR_RETURN(bool isAdmitted, admits(loop.condition));
    if (!isAdmitted) return false;
    return admits(loop.body);
  }
  StatusOr<bool> admits(const Branch& branch) {
    note(branch.index, false);
    for (const std::vector<Step>& steps : branch.branches) {
      ISTHMUS_ASSIGN_OR_RETURN(bool isAdmitted, admits(steps));
      if (!isAdmitted) return false;
    }
    return true;
  }
  StatusOr<bool> admits(const HostCall&) { return false; }
  StatusOr<bool> admits(const LibraryCall&) { return false; }

  void note(const Location& location, bool isWritten) {
    Place* known = find(location);
    if (!known) {
      places_.push_back({location});
      known = &places_.back();
    }
    known->location.bytes = std::max(known->location.bytes, location.bytes);
    known->isWritten |= isWritten;
  }
  Place* find(const Location& location) {
    auto it = std::find_if(places_.begin(), places_.end(), [&](const Place& place) {
      return place.location.isSamePlace(location);
    });
    return it == places_.end() ? nullptr : &*it;
  }
  llvm::Value* addressOf(const Location& location) { return find(location)->address; }

  const KernelStage& stageOf(const KernelLaunch& launch) {
    FusedStage stage = stages_.at(launch.kernel);
    return emitted_.at(stage.fusion.getOperation()).stages[stage.stage];
  }

  void emitSteps(Builder& b, const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      std::visit([&](const auto& what) { emitStep(b, what); }, step.what);
    }
  }
  void emitStep(Builder& b, const KernelLaunch& launch);
  void emitStep(Builder& b, const Move& move);
  void emitStep(Builder& b, const Loop& loop);
  void emitStep(Builder& b, const Branch& branch);
  // admits() has refused these.
  void emitStep(Builder&, const HostCall&) {}
  void emitStep(Builder&, const LibraryCall&) {}

  llvm::BasicBlock* newBlock(const char* name) {
    return llvm::BasicBlock::Create(module_.getContext(), name, function_);
  }

  codegen::KernelModule& kernels_;
  const FusedStages& stages_;
  llvm::Module& module_;
  std::vector<Place> places_;
  llvm::DenseMap<mlir::Operation*, Kernel> emitted_;
  mlir::Operation* whole_ = nullptr;  // that the fusions are in
  double ns_ = 0;
  int count_ = 0;
  llvm::Function* function_ = nullptr;
  std::vector<llvm::CallInst*> calls_;
};

StatusOr<bool> LoopKernel::admits(const KernelLaunch& launch) {
  auto known = stages_.find(launch.kernel);
  if (known == stages_.end() || ++count_ > kMostStages) return false;
  ir::FusionOp fusion = known->second.fusion;
  const TargetModel& target = kernels_.form().target;
  auto [kernel, isNew] = emitted_.try_emplace(fusion.getOperation());
  if (isNew) {
    std::string symbol = kernels_.nextSymbol() + "_part" + std::to_string(emitted_.size());
    StatusOr<Kernel> emitted = emitKernel(fusion, target, module_, symbol);
    if (!emitted.ok()) {
      emitted_.erase(kernel);
      return emitted.status();
    }
    kernel->second = *std::move(emitted);
    // What was said to the compiler of functions.
    for (const KernelStage& stage : kernel->second.stages) {
      module_.getFunction(stage.symbol)->setAttributes(llvm::AttributeList());
    }
  }
  whole_ = fusion->getParentOp();
  const KernelStage& stage = kernel->second.stages[known->second.stage];
  ns_ += stage.nsPerTile * static_cast<double>(stage.tiles);
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    note(launch.buffers[i], i >= static_cast<size_t>(launch.inputs));
  }
  if (target.device == DeviceKind::kCpu) return ns_ <= kMostNs;
  return ns_ <= kMostGpuNs && stage.tiles <= kMostGpuTiles && stage.groupThreads == 1;
}

void LoopKernel::emitStep(Builder& b, const KernelLaunch& launch) {
  const KernelStage& stage = stageOf(launch);
  if (stage.copiesFrom >= 0 && launch.buffers[static_cast<size_t>(stage.copiesFrom)].isSamePlace(
                                   launch.buffers[static_cast<size_t>(stage.copiesTo)])) {
    return;
  }
  // In the entry block, the memory is one of the kernel's.
  Builder entry(&*function_->getEntryBlock().getFirstInsertionPt());
  auto* type = llvm::ArrayType::get(b.getPtrTy(), launch.buffers.size());
  llvm::Value* table = entry.CreateAlloca(type);
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    b.CreateStore(addressOf(launch.buffers[i]),
                  b.CreateConstInBoundsGEP1_64(b.getPtrTy(), table, i));
  }
  llvm::Value* tiles = b.getInt64(static_cast<uint64_t>(stage.tiles));
  calls_.push_back(b.CreateCall(module_.getFunction(stage.symbol), {table, b.getInt64(0), tiles}));
}

void LoopKernel::emitStep(Builder& b, const Move& move) {
  if (move.to.bytes <= 0 || move.to.isSamePlace(move.from)) return;
  // Places are aligned for any element.
  int64_t width = move.to.bytes % 8 == 0 ? 8 : move.to.bytes % 4 == 0 ? 4 : 1;
  llvm::Type* type = b.getIntNTy(static_cast<unsigned>(8 * width));
  llvm::Value* count = b.getInt64(static_cast<uint64_t>(move.to.bytes / width));
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* loop = newBlock("move");
  llvm::BasicBlock* done = newBlock("moved");
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
  auto at = [&](const Location& location) {
    return b.CreateInBoundsGEP(type, addressOf(location), i);
  };
  llvm::Value* from = at(move.from);
  llvm::Value* to = at(move.to);
  llvm::Value* value = b.CreateLoad(type, from);
  if (move.isSwap) b.CreateStore(b.CreateLoad(type, to), from);
  b.CreateStore(value, to);
  llvm::Value* next = b.CreateAdd(i, b.getInt64(1), "", true, true);
  b.CreateCondBr(b.CreateICmpULT(next, count), loop, done);
  i->addIncoming(b.getInt64(0), before);
  i->addIncoming(next, loop);
  b.SetInsertPoint(done);
}

void LoopKernel::emitStep(Builder& b, const Loop& loop) {
  llvm::BasicBlock* condition = newBlock("condition");
  llvm::BasicBlock* body = newBlock("body");
  llvm::BasicBlock* done = newBlock("done");
  b.CreateBr(condition);
  b.SetInsertPoint(condition);
  emitSteps(b, loop.condition);
  llvm::Value* predicate = b.CreateLoad(b.getInt8Ty(), addressOf(loop.predicate));
  b.CreateCondBr(b.CreateICmpNE(predicate, b.getInt8(0)), body, done);
  b.SetInsertPoint(body);
  emitSteps(b, loop.body);
  b.CreateBr(condition);
  b.SetInsertPoint(done);
}

void LoopKernel::emitStep(Builder& b, const Branch& branch) {
  auto* type = llvm::cast<llvm::IntegerType>(branch.isIf ? b.getInt8Ty() : b.getInt32Ty());
  llvm::Value* index = b.CreateLoad(type, addressOf(branch.index));
  llvm::BasicBlock* done = newBlock("joined");
  std::vector<llvm::BasicBlock*> blocks;
  for (size_t i = 0; i < branch.branches.size(); ++i) blocks.push_back(newBlock("branch"));
  // As chosenBranch() has it.
  if (branch.isIf) {
    b.CreateCondBr(b.CreateICmpNE(index, b.getInt8(0)), blocks.front(), blocks.back());
  } else {
    llvm::SwitchInst* choice = b.CreateSwitch(index, blocks.back());
    for (size_t i = 0; i + 1 < blocks.size(); ++i) {
      choice->addCase(llvm::ConstantInt::get(type, i), blocks[i]);
    }
  }
  for (auto [block, steps] : llvm::zip(blocks, branch.branches)) {
    b.SetInsertPoint(block);
    emitSteps(b, steps);
    b.CreateBr(done);
  }
  b.SetInsertPoint(done);
}

StatusOr<KernelLaunch> LoopKernel::emit(const Loop& loop) {
  // What is only read comes first.
  std::partition(places_.begin(), places_.end(),
                 [](const Place& place) { return !place.isWritten; });
  llvm::LLVMContext& context = module_.getContext();
  Builder b(context);
  std::string symbol = kernels_.nextSymbol();
  auto* type =
      llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty()}, false);
  function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, &module_);
  b.SetInsertPoint(newBlock("entry"));
  KernelLaunch launch;
  for (Place& place : places_) {
    llvm::Value* slot =
        b.CreateConstInBoundsGEP1_64(b.getPtrTy(), function_->getArg(0), launch.buffers.size());
    place.address = b.CreateLoad(b.getPtrTy(), slot);
    launch.buffers.push_back(place.location);
    launch.inputs += place.isWritten ? 0 : 1;
  }
  emitStep(b, loop);
  b.CreateRetVoid();
  for (llvm::CallInst* call : calls_) {
    llvm::InlineFunctionInfo info;
    if (!llvm::InlineFunction(*call, info).isSuccess()) {
      return internalError("a part of kernel ", symbol, " cannot be inlined");
    }
  }
  discard();
  const codegen::WorkItemForm& form = kernels_.form();
  ISTHMUS_RETURN_IF_ERROR(
      makeWorkItemKernel(module_, symbol, static_cast<unsigned>(launch.buffers.size()), 1, form));
  codegen::OpKernels kernel;
  kernel.stages.push_back({symbol, {1, 1, 1}, 1, form.target.device == DeviceKind::kCpu});
  launch.kernel = kernels_.add(whole_, kernel).stages[0].kernel;
  return launch;
}

}  // namespace

Status makeLoopKernels(codegen::KernelModule& kernels, const FusedStages& stages,
                       StepTable& profile, std::vector<Step>& steps) {
  for (Step& step : steps) {
    if (auto* loop = std::get_if<Loop>(&step.what)) {
      LoopKernel kernel(kernels, stages);
      ISTHMUS_ASSIGN_OR_RETURN(bool isAdmitted, kernel.admits(std::vector<Step>{step}));
      if (isAdmitted) {
        ISTHMUS_ASSIGN_OR_RETURN(KernelLaunch launch, kernel.emit(*loop));
        launch.profileStep = static_cast<int32_t>(profile.add(kernel.operation()));
        step.what = std::move(launch);
        continue;
      }
      kernel.discard();
      ISTHMUS_RETURN_IF_ERROR(makeLoopKernels(kernels, stages, profile, loop->condition));
      ISTHMUS_RETURN_IF_ERROR(makeLoopKernels(kernels, stages, profile, loop->body));
    } else if (auto* branch = std::get_if<Branch>(&step.what)) {
      for (std::vector<Step>& inner : branch->branches) {
        ISTHMUS_RETURN_IF_ERROR(makeLoopKernels(kernels, stages, profile, inner));
      }
    }
  }
  return {};
}

}  // namespace isthmus

#include "compiler/codegen/simt/kernel_module.h"

#include <algorithm>
#include <map>

#include "compiler/codegen/simt/attention/attention_kernel.h"
#include "compiler/codegen/simt/data_kernels.h"
#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/schedule/attention/attention.h"
#include "compiler/schedule/data/data_scheduler.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/StructuralHash.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Transforms/Utils/FunctionComparator.h"

namespace isthmus::codegen {
namespace {

// The last operation that says where it is from, with the number of the others.
std::string describeFusion(ir::FusionOp fusion) {
  std::string text;
  int64_t others = -1;
  for (mlir::Operation& op : fusion.getBody().front().without_terminator()) {
    ++others;
    std::string position = sourcePosition(op.getLoc());
    if (!position.empty() || text.empty()) {
      text = op.getName().getStringRef().str() + (position.empty() ? "" : " at " + position);
    }
  }
  if (others > 0) text += " and " + std::to_string(others) + " more";
  return text;
}

// LLVM's comparison ignores what nodes of metadata are made of; here they are the same nodes.
bool haveSameMetadata(const llvm::Function& a, const llvm::Function& b) {
  using Nodes = llvm::SmallVector<std::pair<unsigned, llvm::MDNode*>>;
  auto hasSame = [](const auto& pair) {
    auto [one, other] = pair;
    Nodes ofOne;
    Nodes ofOther;
    one.getAllMetadataOtherThanDebugLoc(ofOne);
    other.getAllMetadataOtherThanDebugLoc(ofOther);
    return ofOne == ofOther;
  };
  Nodes ofA;
  Nodes ofB;
  a.getAllMetadata(ofA);
  b.getAllMetadata(ofB);
  return ofA == ofB && a.getInstructionCount() == b.getInstructionCount() &&
         llvm::all_of(llvm::zip(llvm::instructions(a), llvm::instructions(b)), hasSame);
}

std::string describe(mlir::Operation* op) {
  if (auto fusion = llvm::dyn_cast<ir::FusionOp>(op)) return describeFusion(fusion);
  std::string position = sourcePosition(op->getLoc());
  return op->getName().getStringRef().str() + (position.empty() ? "" : " at " + position);
}

bool areLaunchedAlike(const KernelInfo& a, const KernelInfo& b) {
  return a.items == b.items && a.groupThreads == b.groupThreads && a.isVector == b.isVector;
}

}  // namespace

bool KernelModule::hasRoomFor(mlir::Operation* op) const {
  constexpr int64_t kScratch = 1;
  const int64_t most = form_.target.maxParameters;
  return most == 0 || int64_t{op->getNumOperands()} + op->getNumResults() + kScratch <= most;
}

StatusOr<KernelModule::Code> KernelModule::add(ir::FusionOp fusion) {
  std::string symbol = nextSymbol();
  if (isProductWithEpilogue(fusion)) {
    ISTHMUS_ASSIGN_OR_RETURN(OpKernels emitted,
                             emitProductWithEpilogue(fusion, module_, form_, symbol, emitOther_));
    Code code = add(fusion.getOperation(), emitted);
    // Where vectors or tiles end, the last ones reach back.
    for (const OpKernel& stage : emitted.stages) code.repeatsElements |= stage.isVector;
    return code;
  }
  ISTHMUS_ASSIGN_OR_RETURN(Kernel kernel, attentionOf(fusion)
                                              ? emitAttention(fusion, module_, form_, symbol)
                                              : emitKernel(fusion, form_.target, module_, symbol));
  auto buffers = static_cast<unsigned>(fusion->getNumOperands() + fusion->getNumResults());
  Code code;
  for (const KernelStage& stage : kernel.stages) {
    // "kernel3.1" is no name in C.
    std::string name = stage.symbol;
    std::replace(name.begin(), name.end(), '.', '_');
    module_.getFunction(stage.symbol)->setName(name);
    // On a CPU a group of one work-item takes longer than many a tile.
    const bool isCpu = form_.target.device == DeviceKind::kCpu;
    const int64_t share = !isCpu ? 1 : stage.share > 0 ? stage.share : stage.tiles;
    ISTHMUS_RETURN_IF_ERROR(
        makeWorkItemKernel(module_, name, buffers, stage.tiles, form_, stage.groupThreads, share));
    code.stages.push_back({static_cast<int>(kernels_.size()), stage.copiesFrom, stage.copiesTo,
                           stage.nsPerTile * static_cast<double>(stage.tiles)});
    kernels_.push_back({name,
                        {llvm::divideCeilSigned(stage.tiles, share), 1, 1},
                        stage.groupThreads,
                        isCpu,
                        describeFusion(fusion)});
  }
  return code;
}

KernelModule::Code KernelModule::add(mlir::Operation* op, const OpKernels& kernels, size_t others) {
  Code code;
  code.scratchBytes = kernels.scratchBytes;
  std::string description = describe(op);
  if (others > 0) description += ", and " + std::to_string(others) + " more";
  const size_t first = kernels_.size();
  for (const OpKernel& stage : kernels.stages) {
    // One that runs several times is one kernel.
    auto known = std::find_if(kernels_.begin() + static_cast<std::ptrdiff_t>(first), kernels_.end(),
                              [&](const KernelInfo& info) { return info.name == stage.name; });
    code.stages.push_back({static_cast<int>(known - kernels_.begin()), -1, -1});
    if (known != kernels_.end()) continue;
    kernels_.push_back({stage.name, stage.items, stage.groupThreads, stage.isVector, description});
  }
  return code;
}

void KernelModule::makeEmpty(int kernel) {
  llvm::Function* function = module_.getFunction(kernels_[static_cast<size_t>(kernel)].name);
  function->deleteBody();
  llvm::ReturnInst::Create(module_.getContext(),
                           llvm::BasicBlock::Create(module_.getContext(), "entry", function));
}

void KernelModule::shareFunctions() {
  // Kernels whose function nothing else calls, by its hash.
  std::map<llvm::stable_hash, std::vector<const KernelInfo*>> known;
  llvm::GlobalNumberState numbers;
  llvm::DenseSet<llvm::Function*> seen;
  for (KernelInfo& kernel : kernels_) {
    llvm::Function* function = module_.getFunction(kernel.name);
    if (!seen.insert(function).second || !function->use_empty()) continue;
    std::vector<const KernelInfo*>& others = known[llvm::StructuralHash(*function, true)];
    auto same = llvm::find_if(others, [&](const KernelInfo* other) {
      const llvm::Function* theirs = module_.getFunction(other->name);
      return areLaunchedAlike(kernel, *other) && haveSameMetadata(*function, *theirs) &&
             llvm::FunctionComparator(function, theirs, &numbers).compare() == 0;
    });
    if (same == others.end()) {
      others.push_back(&kernel);
      continue;
    }
    numbers.erase(function);
    seen.erase(function);
    function->eraseFromParent();
    kernel.name = (*same)->name;
  }
}

namespace {

// Of an operation that isDataOp.
StatusOr<OpKernels> emitData(mlir::Operation* op, llvm::Module& module, const WorkItemForm& form,
                             const std::string& symbol) {
  if (auto sort = llvm::dyn_cast<shlo::SortOp>(op)) return emitSort(sort, module, form, symbol);
  if (auto fft = llvm::dyn_cast<shlo::FftOp>(op)) return emitFft(fft, module, form, symbol);
  return emitTopK(llvm::cast<shlo::CompositeOp>(op), module, form, symbol);
}

}  // namespace

StatusOr<std::optional<KernelModule::Code>> KernelModule::add(mlir::Operation* op) {
  // Of these, types without a kernel are left to the caller.
  auto whereKnown = [](StatusOr<OpKernels> kernels) -> StatusOr<std::optional<OpKernels>> {
    if (kernels.ok()) return std::optional(*std::move(kernels));
    if (kernels.status().code() == StatusCode::kUnimplemented) return std::optional<OpKernels>();
    return kernels.status();
  };
  std::optional<OpKernels> found;
  if (auto random = llvm::dyn_cast<shlo::RngBitGeneratorOp>(op)) {
    ISTHMUS_ASSIGN_OR_RETURN(found,
                             whereKnown(emitRandomBits(random, module_, form_, nextSymbol())));
  } else if (isDataOp(op, form_.target)) {
    ISTHMUS_ASSIGN_OR_RETURN(found, whereKnown(emitData(op, module_, form_, nextSymbol())));
  }
  if (found) return std::optional<Code>(add(op, *found));
  if (!isContraction(op)) return std::optional<Code>();
  ISTHMUS_ASSIGN_OR_RETURN(OpKernels emitted,
                           emitProduct(op, module_, form_, nextSymbol(), emitOther_));
  return std::optional<Code>(add(op, emitted));
}

}  // namespace isthmus::codegen

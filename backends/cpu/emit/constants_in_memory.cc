// Constants of vector loops as operands in memory.
#include "backends/cpu/emit/constants_in_memory.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

namespace isthmus::cpu {
namespace {

// Of a register; longer vectors are computed in parts.
constexpr unsigned kVectorBits = 256;
// Fewer distinct ones find room in registers.
constexpr size_t kFewConstants = 6;

// Without comparisons: with a select of the same constant they are a minimum or maximum. Constants
// of integers measured no better.
bool isArithmetic(const llvm::Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
      return true;
    default: {
      auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      return call && call->getIntrinsicID() == llvm::Intrinsic::fma;
    }
  }
}

// Zero is made without memory.
bool isWorthMemory(const llvm::Value* operand) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(operand);
  if (!constant || !constant->getType()->isVectorTy() || constant->isNullValue()) return false;
  return constant->getType()->getPrimitiveSizeInBits() >= kVectorBits &&
         llvm::isa_and_nonnull<llvm::ConstantFP>(constant->getSplatValue());
}

class Constants {
 public:
  explicit Constants(llvm::Module& module) : module_(module) {}

  void keep(llvm::Function& function) {
    llvm::SmallPtrSet<llvm::Value*, 32> distinct;
    llvm::SmallVector<llvm::Use*, 64> uses;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (!isArithmetic(instruction)) continue;
      for (llvm::Use& use : instruction.operands()) {
        if (!isWorthMemory(use)) continue;
        uses.push_back(&use);
        distinct.insert(use);
      }
    }
    if (distinct.size() <= kFewConstants) return;
    // One load for all uses in a block: the first use comes first.
    llvm::DenseMap<std::pair<llvm::BasicBlock*, llvm::Value*>, llvm::Value*> loads;
    for (llvm::Use* use : uses) {
      auto* user = llvm::cast<llvm::Instruction>(use->getUser());
      llvm::Value*& load = loads[{user->getParent(), use->get()}];
      if (!load) load = loadOf(llvm::cast<llvm::Constant>(use->get()), *user);
      use->set(load);
    }
  }

 private:
  llvm::Value* loadOf(llvm::Constant* constant, llvm::Instruction& user) {
    llvm::GlobalVariable*& variable = variables_[constant];
    if (!variable) {
      variable = new llvm::GlobalVariable(module_, constant->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, constant, "constant");
      variable->setAlignment(llvm::Align(kVectorBits / 8));
      variable->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    }
    llvm::IRBuilder<> builder(&user);
    llvm::LoadInst* load =
        builder.CreateAlignedLoad(constant->getType(), variable, llvm::Align(kVectorBits / 8));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                      llvm::MDNode::get(module_.getContext(), {}));
    return load;
  }

  llvm::Module& module_;
  llvm::DenseMap<llvm::Constant*, llvm::GlobalVariable*> variables_;
};

}  // namespace

void keepConstantsInMemory(llvm::Module& module) {
  Constants constants(module);
  for (llvm::Function& function : module) {
    if (!function.hasFnAttribute(llvm::Attribute::OptimizeNone)) constants.keep(function);
  }
}

}  // namespace isthmus::cpu

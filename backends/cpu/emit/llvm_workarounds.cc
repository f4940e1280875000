#include "backends/cpu/emit/llvm_workarounds.h"

#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

namespace isthmus::cpu {
namespace {

// Whether instruction selection may see a select of bits in `value`: an `or`, or copysign.
bool mayBeSelectOfBits(llvm::Value* value) {
  while (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(value)) value = cast->getOperand(0);
  if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(value)) {
    return call->getIntrinsicID() == llvm::Intrinsic::copysign;
  }
  auto* logic = llvm::dyn_cast<llvm::BinaryOperator>(value);
  return logic && logic->getOpcode() == llvm::Instruction::Or;
}

// VPTERNLOG has masks for elements of 32 and 64 bits.
bool isMasked(const llvm::SelectInst& select) {
  auto* type = llvm::dyn_cast<llvm::VectorType>(select.getType());
  return type && select.getCondition()->getType()->isVectorTy() &&
         (type->getScalarSizeInBits() == 32 || type->getScalarSizeInBits() == 64);
}

llvm::Value* fence(llvm::IRBuilder<>& builder, llvm::Value* value) {
  llvm::Type* type = value->getType();
  auto* floats = llvm::VectorType::get(
      type->getScalarSizeInBits() == 32 ? builder.getFloatTy() : builder.getDoubleTy(),
      llvm::cast<llvm::VectorType>(type)->getElementCount());
  llvm::Value* fenced = builder.CreateArithmeticFence(builder.CreateBitCast(value, floats), floats);
  return builder.CreateBitCast(fenced, type);
}

}  // namespace

void separateSelectsOfBits(llvm::Module& module) {
  std::vector<llvm::SelectInst*> selects;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction);
      if (select && isMasked(*select)) selects.push_back(select);
    }
  }
  for (llvm::SelectInst* select : selects) {
    llvm::IRBuilder<> builder(select);
    for (unsigned i : {1u, 2u}) {
      llvm::Value* arm = select->getOperand(i);
      if (mayBeSelectOfBits(arm)) select->setOperand(i, fence(builder, arm));
    }
  }
}

}  // namespace isthmus::cpu

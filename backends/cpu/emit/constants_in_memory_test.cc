#include "backends/cpu/emit/constants_in_memory.h"

#include <gtest/gtest.h>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace isthmus::cpu {
namespace {

struct Counts {
  int constants = 0;  // of arithmetic
  int compared = 0;   // of comparisons
  int loads = 0;
  int variables = 0;
};

// Of a function that adds `distinct` constants to a vector of so many floats, each of them twice,
// and compares it with the first.
Counts countsOf(unsigned lanes, int distinct) {
  llvm::LLVMContext context;
  llvm::Module module("test", context);
  llvm::Type* type = llvm::FixedVectorType::get(llvm::Type::getFloatTy(context), lanes);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(type, {type}, false),
                                          llvm::GlobalValue::ExternalLinkage, "f", module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", function));
  llvm::Value* x = function->getArg(0);
  for (int i = 0; i < 2 * distinct; ++i) {
    x = b.CreateFAdd(x, llvm::ConstantFP::get(type, 1.5 + i / 2));
  }
  llvm::Value* isLarger = b.CreateFCmpOGT(x, llvm::ConstantFP::get(type, 1.5));
  b.CreateRet(b.CreateSelect(isLarger, x, llvm::ConstantFP::get(type, 1.5)));

  keepConstantsInMemory(module);
  Counts counts;
  for (llvm::Instruction& instruction : llvm::instructions(*function)) {
    counts.loads += llvm::isa<llvm::LoadInst>(instruction);
    if (llvm::isa<llvm::SelectInst>(instruction)) continue;
    for (llvm::Value* operand : instruction.operands()) {
      if (!llvm::isa<llvm::Constant>(operand) || !operand->getType()->isVectorTy()) continue;
      ++(llvm::isa<llvm::FCmpInst>(instruction) ? counts.compared : counts.constants);
    }
  }
  counts.variables = static_cast<int>(module.global_size());
  return counts;
}

TEST(ConstantsInMemory, are_read_once_in_a_block_that_has_many) {
  const Counts many = countsOf(8, 9);
  EXPECT_EQ(many.constants, 0);
  EXPECT_EQ(many.loads, 9);
  EXPECT_EQ(many.variables, 9);
  // With a select of the same constant it is a maximum.
  EXPECT_EQ(many.compared, 1);
}

TEST(ConstantsInMemory, stay_where_registers_have_room_or_vectors_are_short) {
  EXPECT_EQ(countsOf(8, 3).constants, 6);
  EXPECT_EQ(countsOf(8, 3).loads, 0);
  EXPECT_EQ(countsOf(4, 9).constants, 18);
}

}  // namespace
}  // namespace isthmus::cpu

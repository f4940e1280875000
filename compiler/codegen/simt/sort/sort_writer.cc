#include "compiler/codegen/simt/sort/sort_writer.h"

namespace isthmus::codegen {

llvm::Value* SortWriter::base(SortStorage storage, size_t array) {
  const size_t count = a_.kinds.size();
  if (storage == SortStorage::kOperands) return w_.buffer(static_cast<unsigned>(array));
  if (storage == SortStorage::kResults) return w_.buffer(static_cast<unsigned>(count + array));
  return b_.CreateConstGEP1_64(b_.getInt8Ty(), w_.buffer(a_.buffers() - 1),
                               static_cast<uint64_t>(a_.scratchOffsets[array]));
}

llvm::Value* SortWriter::runLength(int64_t parity) {
  return b_.CreateConstGEP1_64(b_.getInt64Ty(), w_.buffer(a_.buffers() - 1),
                               static_cast<uint64_t>(parity));
}

SortWriter::Values SortWriter::repeatWhile(
    const Values& initial, const std::function<llvm::Value*(const Values&)>& condition,
    const std::function<Values(const Values&)>& body) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::Function* function = before->getParent();
  auto* header = llvm::BasicBlock::Create(b_.getContext(), "while", function);
  auto* inside = llvm::BasicBlock::Create(b_.getContext(), "do", function);
  auto* done = llvm::BasicBlock::Create(b_.getContext(), "done", function);
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  Values carried;
  for (llvm::Value* value : initial) {
    llvm::PHINode* phi = b_.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    carried.push_back(phi);
  }
  b_.CreateCondBr(condition(carried), inside, done);
  b_.SetInsertPoint(inside);
  Values next = body(carried);
  for (auto [phi, value] : llvm::zip(carried, next)) {
    llvm::cast<llvm::PHINode>(phi)->addIncoming(value, b_.GetInsertBlock());
  }
  b_.CreateBr(header);
  b_.SetInsertPoint(done);
  return carried;
}

llvm::Value* SortWriter::less(const Row& x, const Row& y) {
  llvm::SmallVector<llvm::Value*, 8> arguments;
  for (size_t k = 0; k < a_.kinds.size(); ++k) {
    for (bool isRight : {false, true}) {
      const Row& row = isRight ? y : x;
      // What the comparator does not look at is not loaded for it.
      Val value = a_.isCompared[2 * k + isRight] ? row[k] : w_.zero(a_.kinds[k]);
      arguments.push_back(value.re);
      if (value.im) arguments.push_back(value.im);
    }
  }
  return b_.CreateCall(a_.less, arguments);
}

llvm::Value* SortWriter::leftsOf(
    llvm::Value* before, llvm::Value* lefts, llvm::Value* rights,
    const std::function<llvm::Value*(llvm::Value* right, llvm::Value* left)>& isLess) {
  auto constant = [&](uint64_t value) { return llvm::ConstantInt::get(before->getType(), value); };
  llvm::Value* fewest =
      b_.CreateSelect(b_.CreateICmpUGT(before, rights), b_.CreateSub(before, rights), constant(0));
  Values found = repeatWhile(
      {fewest, least(before, lefts)},
      [&](const Values& range) { return b_.CreateICmpULT(range[0], range[1]); },
      [&](const Values& range) -> Values {
        llvm::Value* half = b_.CreateLShr(b_.CreateAdd(range[0], range[1]), 1);
        llvm::Value* next = b_.CreateAdd(half, constant(1));
        llvm::Value* isRight = isLess(b_.CreateSub(before, next), half);
        return {b_.CreateSelect(isRight, range[0], next), b_.CreateSelect(isRight, half, range[1])};
      });
  return found[0];
}

}  // namespace isthmus::codegen

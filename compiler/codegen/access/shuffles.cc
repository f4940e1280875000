#include "compiler/codegen/access/shuffles.h"

#include "compiler/codegen/access/shuffle_network.h"
#include "compiler/codegen/target/target_instructions.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace isthmus::codegen {
namespace {

// Eklundh's swaps of the off-diagonal halves of ever larger squares.
void swapHalves(
    llvm::MutableArrayRef<llvm::Value*> rows,
    llvm::function_ref<llvm::Value*(llvm::Value*, llvm::Value*, llvm::ArrayRef<int>)> shuffle) {
  size_t size = rows.size();
  for (size_t half = 1; half < size; half *= 2) {
    llvm::SmallVector<int, 16> upper, lower;
    for (size_t x = 0; x < size; ++x) {
      upper.push_back(static_cast<int>(x & half ? size + x - half : x));
      lower.push_back(static_cast<int>(x & half ? size + x : x + half));
    }
    for (size_t i = 0; i < size; ++i) {
      if (i & half) continue;
      llvm::Value* a = rows[i];
      llvm::Value* c = rows[i + half];
      rows[i] = shuffle(a, c, upper);
      rows[i + half] = shuffle(a, c, lower);
    }
  }
}

}  // namespace

bool hasAnyShuffle(const TargetModel& target, llvm::Type* element, size_t lanes) {
  return instructionsOf(target).shufflesAny(element, lanes);
}

llvm::Value* shuffle(llvm::IRBuilder<>& b, const TargetModel& target, llvm::Value* first,
                     llvm::Value* second, llvm::ArrayRef<int> mask) {
  const TargetInstructions& instructions = instructionsOf(target);
  // LLVM writes some masks as several shuffles with fixed patterns, each of which waits for the one
  // before; as an intrinsic it stays one instruction with its mask in a register.
  if (instructions.shufflesAny(first->getType()->getScalarType(), mask.size())) {
    return instructions.shuffleAny(b, first, second, mask);
  }
  return b.CreateShuffleVector(first, second, mask);
}

void transposeSquare(llvm::IRBuilder<>& b, llvm::MutableArrayRef<llvm::Value*> rows) {
  swapHalves(rows, [&](llvm::Value* first, llvm::Value* second, llvm::ArrayRef<int> mask) {
    return b.CreateShuffleVector(first, second, mask);
  });
}

void transposeSquare(llvm::IRBuilder<>& b, const TargetModel& target,
                     llvm::MutableArrayRef<llvm::Value*> rows) {
  swapHalves(rows, [&](llvm::Value* first, llvm::Value* second, llvm::ArrayRef<int> mask) {
    return shuffle(b, target, first, second, mask);
  });
}

llvm::SmallVector<llvm::Value*, 16> pickAll(llvm::IRBuilder<>& b, const TargetModel& target,
                                            llvm::ArrayRef<llvm::Value*> vectors,
                                            llvm::ArrayRef<Offsets> wanted) {
  const ShuffleNetwork network = mergeLanes(vectors.size(), wanted.front().size(), wanted);
  llvm::SmallVector<llvm::Value*, 64> made(vectors);
  for (const Shuffle& step : network.shuffles) {
    made.push_back(shuffle(b, target, made[step.first], made[step.second], step.mask));
  }
  llvm::SmallVector<llvm::Value*, 16> results;
  for (size_t vector : network.results) results.push_back(made[vector]);
  return results;
}

}  // namespace isthmus::codegen

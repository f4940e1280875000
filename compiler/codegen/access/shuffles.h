// Elements of vectors, moved about in registers.
#pragma once

#include "compiler/target/target_model.h"
#include "llvm/IR/IRBuilder.h"

namespace isthmus::codegen {

// Whether the target has one instruction for any shuffle of two such vectors.
bool hasAnyShuffle(const TargetModel& target, llvm::Type* element, size_t lanes);

// Each lane of the result is lane `mask` of `first`, or, from the number of lanes on, of `second`;
// any value where it is negative. LLVM takes tens of microseconds to choose instructions for each
// shuffle of a tree of them, since it tries to merge them; where the target has an instruction for
// any shuffle, the mask is one that LLVM does not look into.
llvm::Value* shuffle(llvm::IRBuilder<>& b, const TargetModel& target, llvm::Value* first,
                     llvm::Value* second, llvm::ArrayRef<int> mask);

// Turns as many vectors as each has lanes, a power of two, into the columns of what they held.
// Without a target by shuffles as LLVM has them.
void transposeSquare(llvm::IRBuilder<>& b, llvm::MutableArrayRef<llvm::Value*> rows);
void transposeSquare(llvm::IRBuilder<>& b, const TargetModel& target,
                     llvm::MutableArrayRef<llvm::Value*> rows);

// Which elements, in the order of lanes, of what several vectors hold one after the other.
using Offsets = llvm::SmallVector<int64_t, 16>;

// A vector for each of `wanted`, which share most of their shuffles (`shuffle_network.h`).
llvm::SmallVector<llvm::Value*, 16> pickAll(llvm::IRBuilder<>& b, const TargetModel& target,
                                            llvm::ArrayRef<llvm::Value*> vectors,
                                            llvm::ArrayRef<Offsets> wanted);

}  // namespace isthmus::codegen

// Lines of an operand of attention in a group's memory, as f32.
#pragma once

#include "compiler/codegen/simt/attention/online_rows.h"

namespace isthmus::codegen {

// An array of f32 that a group's threads share, by lines of `stride` elements.
class GroupLines {
 public:
  GroupLines(LoopBuilder& loops, const char* name, int64_t lines, int64_t stride);

  llvm::Value* slot(llvm::Value* line, llvm::Value* element);
  // `count` neighbours, one by one where the target's threads have no vectors; else the first is a
  // multiple of count.
  Registers load(llvm::Value* slot, unsigned count);
  void store(llvm::Value* slot, const Registers& values);

 private:
  bool hasVectors(size_t count) const;

  LoopBuilder& loops_;
  int64_t stride_;
  llvm::GlobalVariable* memory_;
};

// What is copied: lines of `width` elements along dimensions of an operand.
struct OperandLines {
  mlir::Value operand;
  int64_t AttentionDim::* stride;
  const AttentionDims& lines;
  const AttentionDims& elements;
};

// Copies `count` lines from number `first` on, by all threads of the group; zeros for those beyond
// the last, and for elements up to `width`, a multiple of kAttentionVector.
void copyLines(OnlineRows& rows, const OperandLines& from, llvm::Value* first, int64_t count,
               int64_t width, GroupLines& to);

}  // namespace isthmus::codegen

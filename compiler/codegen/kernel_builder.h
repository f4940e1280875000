// One kernel function under construction: its loops, and the values of the fusion it belongs to.
#pragma once

#include <optional>
#include <string>

#include "compiler/codegen/evaluator.h"
#include "compiler/codegen/loop/level.h"
#include "compiler/codegen/stages.h"

namespace isthmus::codegen {

class KernelBuilder {
 public:
  // Adds an empty function of the stage's signature to `module`.
  KernelBuilder(const StageContext& context, const StageSchedule& stage, const std::string& symbol);

  LoopBuilder& loops() { return *loops_; }
  Evaluator& evaluator() { return *evaluator_; }
  llvm::Value* begin() const { return begin_; }
  llvm::Value* end() const { return end_; }
  // Of an epilogue, after the rows that are begin and end: columns, and sums with their distance;
  // on devices whose kernels multiply, after the row that is begin: the column, and the sums.
  llvm::Value* argument(unsigned index) const { return function_->getArg(index); }
  // The address of an operand, of a result (they follow the operands), or of the scratch memory.
  llvm::Value* buffer(unsigned index);

  // Memory of the calling thread for `count` elements, aligned to 64 bytes.
  llvm::Value* allocate(const ElementKind& kind, int64_t count);

  // Returns from the function, or removes it if emission failed.
  Status finish();

 private:
  llvm::Function* function_;
  llvm::Value* buffers_;
  llvm::Value* begin_;
  llvm::Value* end_;
  std::optional<LoopBuilder> loops_;
  std::optional<Evaluator> evaluator_;
};

}  // namespace isthmus::codegen

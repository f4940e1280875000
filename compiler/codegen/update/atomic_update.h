// Elements of memory that many threads update at once.
#pragma once

#include "compiler/codegen/evaluator.h"

namespace isthmus::codegen {

// Makes element number `linear` of the buffer at `base` what `combiner` gives of it and of `update`
// (one lane), at the current level; updates of one element by several threads come one after the
// other, in any order. The target's threads can exchange elements of `kind`
// (canExchange). Elements narrower than 32 bits are exchanged with what lies
// beside them in an aligned word.
void updateAtomically(Evaluator& evaluator, llvm::Value* base, const ElementKind& kind,
                      const IndexExpr& linear, mlir::Region& combiner, const Val& update);

}  // namespace isthmus::codegen

// The gradient of attention: two products, what is computed of their rows, and up to three products
// of that. What the forward pass kept of its scores is computed again.
//
//   dV = P^T dO,  dQ = dS K,  dK = dS^T Q,  where P and dS are made of rows of Q K^T and dO V^T
//
// As in Dao et al., FlashAttention (2022), the weights P are not residuals; but rows are whole, as
// in attention.h, so that the maximum and the sum of a row are computed again too, and what is
// between the products may be any kernel on rows.
#pragma once

#include "compiler/schedule/attention/attention.h"

namespace isthmus {

// Operations in one block.
struct AttentionGradient {
  llvm::SmallVector<shlo::DotGeneralOp, 2> scores;
  llvm::SmallVector<ir::FusionOp, 4> rows;  // from scores to weights, in the order of the block
  // What the products are of: results of `rows`.
  llvm::SmallVector<mlir::Value, 2> weights;
  llvm::SmallVector<RowProduct, 3> products;  // `weights`: by number
};

// The one of which `last` computes the gradient of the scores; nothing for other fusions, with
// `why` as a part of a sentence where it is nearly one.
std::optional<AttentionGradient> gradientAround(ir::FusionOp last, const char** why);

// The same without the forward pass, for kernels of at least two products, or of one that sums over
// rows: its weights, or what they are made of, are read from memory.
std::optional<AttentionGradient> gradientOfStoredWeights(ir::FusionOp last, const char** why);

// Copies it to where all that it reads is there, as one kernel of rows between products, which take
// the place of the first ones. Null, or why this cannot be, perhaps since `refusal` says so of the
// result while the first ones are still there; then nothing has changed.
const char* rematerialize(AttentionGradient gradient,
                          llvm::function_ref<const char*(Attention&)> refusal,
                          Attention* attention);

}  // namespace isthmus

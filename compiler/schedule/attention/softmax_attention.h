// Attention in the words of those that compute the softmax themselves, such as a library: the
// product of queries and keys, times a number, plus what is added to scores or leaves keys out; the
// softmax of its rows; the product with the values.
#pragma once

#include <optional>

#include "compiler/schedule/attention/attention_shape.h"

namespace isthmus {

// An array that is added to the scores: an operand of the fusion on rows. Strides in elements are
// by the dimensions of the scores other than 1 (batch, rows, keys, as AttentionShape has them), 0
// where the array does not have the dimension.
struct ScoreBias {
  unsigned operand = 0;
  llvm::SmallVector<int64_t, 4> strides;
};

struct SoftmaxAttention {
  AttentionShape shape;
  double scale = 1;               // factor of the products
  bool isCausal = false;          // keys whose number is higher than the row's are left out
  std::optional<ScoreBias> bias;  // added to the scaled products
};

// Of one with a product on either side of the rows, which attentionRefusal does not refuse.
// Nothing, and why as a part of a sentence, for weights that are no such softmax. Numbers between
// the products are exact here, however the program rounds them.
std::optional<SoftmaxAttention> softmaxAttentionOf(Attention attention, const char** why);

}  // namespace isthmus

// Attention in the words of those that compute the softmax themselves, such as a library: the
// product of queries and keys, times a number, plus what is added to scores or leaves keys out; the
// softmax of its rows; the product with the values.
#pragma once

#include <optional>

#include "compiler/schedule/attention/attention_shape.h"
#include "compiler/schedule/attention/score_terms.h"

namespace isthmus {

struct SoftmaxAttention {
  AttentionShape shape;
  ScoreTerms terms;
};

// Of one with a product on either side of the rows, which partsRefusal does not refuse. Nothing,
// and why as a part of a sentence, for weights that are no such softmax.
std::optional<SoftmaxAttention> softmaxAttentionOf(Attention attention, const char** why);

}  // namespace isthmus

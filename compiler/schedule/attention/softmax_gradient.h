// The gradient of attention in the words of those that compute all of it, such as a library: of
// queries, keys and values, from those and the gradient of the result.
//
//   P = softmax(scale Q K^T + …),  dV = P^T dO,  dS = scale P * (dO V^T - rowsum(P * dO V^T)),
//   dQ = dS K,  dK = dS^T Q
#pragma once

#include <optional>

#include "compiler/schedule/attention/attention_shape.h"
#include "compiler/schedule/attention/score_terms.h"

namespace isthmus {

// Of an array, by the dimensions of the scores other than 1 (batch, rows, keys); and how many
// elements lie side by side at each place.
struct GradientArray {
  mlir::Value memory;  // an argument of the fusion; null for a result
  llvm::SmallVector<int64_t, 4> strides;
};

struct SoftmaxGradient {
  llvm::SmallVector<int64_t, 4> sizes;  // of the scores' dimensions other than 1
  size_t numBatches = 0;                // of them; the last is the keys', before it may be rows
  int64_t sums = 1, features = 1;
  GradientArray query, key, value, result;  // the last is the gradient of that
  // By the fusion's results: which are the gradients of queries, keys and values.
  unsigned ofQuery = 0, ofKey = 0, ofValue = 0;
  GradientArray queryGradient, keyGradient, valueGradient;
  ScoreTerms terms;
};

// Of one with two products before the rows and three after them, which partsRefusal does not
// refuse. Nothing, and why as a part of a sentence, for weights that are made in another way.
std::optional<SoftmaxGradient> softmaxGradientOf(Attention attention, const char** why);

}  // namespace isthmus

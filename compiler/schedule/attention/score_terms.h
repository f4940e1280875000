// What is between products of queries and keys and the softmax of their rows.
#pragma once

#include <cstdint>
#include <optional>

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Value.h"

namespace isthmus {

// An array that is added to the scores: an operand of the fusion on rows. Strides in elements are
// by the dimensions of the scores other than 1 (batch, rows, keys, as AttentionShape has them), 0
// where the array does not have the dimension.
struct ScoreBias {
  unsigned operand = 0;
  llvm::SmallVector<int64_t, 4> strides;
};

struct ScoreTerms {
  double scale = 1;               // factor of the products
  bool isCausal = false;          // keys whose number is higher than the row's are left out
  std::optional<ScoreBias> bias;  // added to the scaled products
};

// How `logits` are made of `scores`, an argument of the fusion on rows whose dimensions other than
// 1 are so many of batches and of rows, and one of keys. Nothing, and why as a part of a sentence,
// for another way. Numbers between are exact here, however the program rounds them.
std::optional<ScoreTerms> scoreTermsOf(mlir::Value logits, mlir::Value scores, int batches,
                                       int rows, const char** why);
// Whether `mask`, which has the scores' elements in their order, is true of keys up to the row's
// own number.
bool isCausalMask(mlir::Value mask, int batches, int rows);

// The number that all elements of an array are.
std::optional<double> splatOf(mlir::Value value);

}  // namespace isthmus

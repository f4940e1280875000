// Attention by the roles of its dimensions, with strides in dense arrays.
#pragma once

#include <cstdint>

#include "compiler/schedule/attention/attention.h"

namespace isthmus {

// Strides are in elements; 0 where an array does not have the dimension.
struct AttentionDim {
  int64_t size = 1;
  int64_t query = 0, key = 0, value = 0, result = 0;
};
using AttentionDims = llvm::SmallVector<AttentionDim, 4>;

// result[batch, row, feature] = sum over keys of weights[batch, row, key] value[batch, key,
// feature], where weights are computed from the rows of scores[batch, row, key] = sum over sums of
// query[batch, row, sum] key[batch, key, sum]. Dimensions of size 1 are left out.
struct AttentionShape {
  AttentionDims batch, rows;     // as the scores have them
  AttentionDim keys;             // side by side in a row
  AttentionDims sums, features;  // in any order; those that lie as one are one

  int64_t batches() const { return sizeOf(batch); }
  int64_t numRows() const { return sizeOf(rows); }
  int64_t numSums() const { return sizeOf(sums); }
  int64_t numFeatures() const { return sizeOf(features); }

  static int64_t sizeOf(llvm::ArrayRef<AttentionDim> dims) {
    int64_t size = 1;
    for (const AttentionDim& dim : dims) size *= dim.size;
    return size;
  }
};

// The arrays of one product alone, by the dimensions of its scores, or its weights, other than 1: 0
// where an array does not have the dimension.
struct ScoresStrides {
  llvm::SmallVector<int64_t, 4> query, key;  // left and right operand
  AttentionDims sums;                        // of queries and keys
};
ScoresStrides scoresStridesOf(shlo::DotGeneralOp scores);

struct ProductStrides {
  llvm::SmallVector<int64_t, 4> operand, result;  // what is not the weights, and what is made
  AttentionDims features;                         // of values and results
};
ProductStrides productStridesOf(Attention& attention, RowProduct& product);

// Of one with a product on either side of the rows, which attentionRefusal does not refuse.
AttentionShape attentionShapeOf(Attention attention);

}  // namespace isthmus

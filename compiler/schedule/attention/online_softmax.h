// Softmax over rows of which some elements are there at a time: a running maximum, and sums that
// are scaled down whenever it grows (Milakov and Gimelshein, 2018).
#pragma once

#include <optional>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/isthmus.h"

namespace isthmus {

// Values of the region of a fusion on rows. `exponentials` are exp(logits - maximum), perhaps of
// another type, and the weights are a multiple of them divided by `sum`, which takes any number in
// the maximum's place: weights computed with a smaller one are too large by the same factor as the
// sum is.
struct OnlineSoftmax {
  mlir::Value logits;
  mlir::Value maximum;  // of each row of the logits
  mlir::Value exponentials;
  mlir::Value sum;  // of each row of the exponentials
};

// Whether `exp` is of `logits` less the maximum of their row.
bool isShiftedExponential(shlo::ExpOp exp, mlir::Value logits, mlir::Value maximum);

// Of a fusion with one result. Nothing where the weights depend on their row in another way.
std::optional<OnlineSoftmax> onlineSoftmaxOf(ir::FusionOp rows);

}  // namespace isthmus

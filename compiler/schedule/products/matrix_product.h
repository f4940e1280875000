// Products of matrices as plain data.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

namespace isthmus {

// Lines are the rows of a lhs, the columns of a rhs. Strides are in elements; that along the
// contracting dimension, or else that along the lines, is 1.
struct MatrixOperand {
  bool alongContracting = true;  // contiguous along the contracting dimension, else the lines
  int64_t stride = 0;            // of the other one of the two
  int64_t batchStride = 0;
  int64_t outerStride = 0;

  auto operator<=>(const MatrixOperand&) const = default;
};
// The operand of these strides; nothing if neither that of lines nor the contracting one can be 1.
// 0 is that of a dimension of one element.
std::optional<MatrixOperand> matrixOperandOf(int64_t lineStride, int64_t contractingStride,
                                             int64_t batchStride, int64_t outerStride = 0);

// result[outer, batch, rows, columns], dense and row-major, = lhs[outer, batch, rows,
// contracting] * rhs[outer, batch, contracting, columns].
struct MatrixProduct {
  int64_t batch = 1, rows = 1, columns = 1, contracting = 1;
  MatrixOperand lhs, rhs;
  int64_t outer = 1;  // of batches whose batches are elsewhere than one after the other

  int64_t batches() const { return outer * batch; }
  auto operator<=>(const MatrixProduct&) const = default;
};

}  // namespace isthmus

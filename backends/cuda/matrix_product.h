// Products of matrices as plain data.
#pragma once

#include <cstdint>

namespace isthmus::cuda {

// Lines are the rows of a lhs, the columns of a rhs. Strides are in elements; that along the sums,
// or else that along the lines, is 1.
struct MatrixOperand {
  bool alongSums = true;  // contiguous along the sums, else along the lines
  int64_t stride = 0;     // of the other one of the two
  int64_t batchStride = 0;
};

// result[batch, rows, columns], dense and row-major, = lhs[batch, rows, sums] * rhs[batch, sums,
// columns].
struct MatrixProduct {
  int64_t batch = 1, rows = 1, columns = 1, sums = 1;
  MatrixOperand lhs, rhs;
};

// Element types by the numbers of CUDA's cudaDataType.
enum class BlasType : int { kF32 = 0, kF64 = 1, kF16 = 2, kC64 = 4, kC128 = 5, kBf16 = 14 };

// A product that cuBLASLt computes: sums in f32, or in f64 where the operands are of that width.
struct BlasProduct : MatrixProduct {
  BlasType operands = BlasType::kF32, result = BlasType::kF32;
  bool isTf32 = false;  // operands of f32 may be rounded to 10 bits of fraction
};

}  // namespace isthmus::cuda

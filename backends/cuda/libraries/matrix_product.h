// Products of matrices as cuBLASLt takes them.
#pragma once

#include <compare>
#include <cstdint>

#include "compiler/schedule/products/matrix_product.h"

namespace isthmus::cuda {

// Element types by the numbers of CUDA's cudaDataType.
enum class BlasType : int {
  kF32 = 0,
  kF64 = 1,
  kF16 = 2,
  kI8 = 3,
  kC64 = 4,
  kC128 = 5,
  kI32 = 10,
  kBf16 = 14
};

// 0 for what is none of them.
inline int64_t bytesOf(BlasType type) {
  switch (type) {
    case BlasType::kI8:
      return 1;
    case BlasType::kF16:
    case BlasType::kBf16:
      return 2;
    case BlasType::kF32:
    case BlasType::kI32:
      return 4;
    case BlasType::kF64:
    case BlasType::kC64:
      return 8;
    case BlasType::kC128:
      return 16;
  }
  return 0;
}

// What cuBLASLt does with sums before it rounds them to the result's type, by the numbers of
// cublasLtEpilogue_t. A bias has an element for each column, of the result's type, and is added
// first, in all batches the same. GELU is the approximation by tanh.
enum class BlasEpilogue : int {
  kNone = 1,
  kRelu = 2,
  kBias = 4,
  kReluBias = 6,
  kGelu = 32,
  kGeluBias = 36
};
inline constexpr int kBlasBias = 4;  // the bit that the last ones of these have

// A product that cuBLASLt computes, by a call for each outer batch: sums in f32, in f64 where the
// operands are of that width, or of i8 in i32, where both operands lie along the
// contracting dimension.
struct BlasProduct : MatrixProduct {
  BlasType operands = BlasType::kF32, result = BlasType::kF32;
  bool isTf32 = false;  // operands of f32 may be rounded to 10 bits of fraction
  BlasEpilogue epilogue = BlasEpilogue::kNone;

  double products() const {
    return static_cast<double>(batches()) * static_cast<double>(rows) *
           static_cast<double>(columns) * static_cast<double>(contracting);
  }
  bool hasBias() const { return (static_cast<int>(epilogue) & kBlasBias) != 0; }

  auto operator<=>(const BlasProduct&) const = default;
};

}  // namespace isthmus::cuda

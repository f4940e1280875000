// Products that tensor cores compute.
#pragma once

#include <optional>

#include "compiler/dialect/dialect.h"
#include "compiler/schedule/products/matrix_product.h"
#include "compiler/schedule/products/product_shape.h"

namespace isthmus {

// `op` as a product of matrices, if each role is one dimension, or batches two, and each operand is
// contiguous along one of its other two: a dot_general, or a convolution that is a product
// (conv_product.h).
std::optional<MatrixProduct> matrixProductOf(mlir::Operation* op);

enum class TensorType : uint8_t { kBf16, kF16, kS8 };
// What tensor cores multiply as exactly as other kernels do: bf16 or f16, summed in f32; signed
// 8-bit integers, in i32.
std::optional<TensorType> tensorTypeOf(const ProductKinds& kinds);
inline int64_t bytesOf(TensorType type) { return type == TensorType::kS8 ? 1 : 2; }

// Whether each operand is contiguous along a dimension that chunks of so many bytes divide.
bool isInChunks(const MatrixProduct& product, TensorType type, int64_t chunkBytes);

}  // namespace isthmus

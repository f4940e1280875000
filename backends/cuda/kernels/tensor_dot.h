// dot_general on tensor cores: groups of threads multiply tiles that they share.
#pragma once

#include <optional>
#include <string>

#include "backends/cuda/kernels/tensor_ops.h"
#include "backends/cuda/matrix_product.h"
#include "compiler/codegen/simt/op_kernels.h"
#include "compiler/codegen/simt/products/contraction.h"
#include "compiler/target/element_kind.h"

namespace isthmus::cuda {

// `op` as a product of matrices, if each role is one dimension and each operand is contiguous along
// one of its two.
std::optional<MatrixProduct> matrixProductOf(shlo::DotGeneralOp op);
// Of either: a dot_general, or a convolution that is a product (conv_product.h).
std::optional<MatrixProduct> matrixProductOf(mlir::Operation* op);

// The same as cuBLASLt takes it, where that is worth a call: products of f32, f64, bf16, f16 and
// complex numbers, summed in f32 or in their own type. TF32 for f32 whose precision is DEFAULT, if
// that is allowed.
std::optional<BlasProduct> blasProductOf(mlir::Operation* op, bool allowsTf32);

// A product that the kernel computes: each operand is contiguous along a dimension that 16 bytes
// divide, so that it is read in vectors of 16 bytes.
struct TensorDot : MatrixProduct {
  TensorType type = TensorType::kBf16;
  ElementKind result;
};

// Nothing if tensor cores cannot compute `op` as exactly as the other kernels do, or would not do
// it faster: products of bf16 or f16 (summed in f32) and of signed 8-bit integers (summed in i32),
// of shapes as above that fill a tile.
std::optional<TensorDot> tensorDotOf(mlir::Operation* op);

// Adds the kernel `symbol` to `module`: over lhs, rhs and result in global memory, each aligned to
// 16 bytes. `units`: on how many of them groups run, which decides how large tiles are.
codegen::OpKernels emitTensorDot(const TensorDot& dot, llvm::Module& module,
                                 const codegen::WorkItemForm& form, const TensorOps& ops,
                                 int64_t units, const std::string& symbol);

}  // namespace isthmus::cuda

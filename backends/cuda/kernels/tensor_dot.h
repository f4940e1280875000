// dot_general on tensor cores: groups of threads multiply tiles that they share.
#pragma once

#include <optional>
#include <string>

#include "backends/cuda/kernels/tensor_ops.h"
#include "backends/cuda/libraries/matrix_product.h"
#include "compiler/codegen/simt/products/product_writer.h"
#include "compiler/schedule/products/tensor_product.h"

namespace isthmus::cuda {

// `op` as cuBLASLt takes it, where that is worth a call: products of f32, f64, bf16, f16 and
// complex numbers, summed in f32 or in their own type. TF32 for f32 whose precision is DEFAULT, if
// that is allowed.
std::optional<BlasProduct> blasProductOf(mlir::Operation* op, bool allowsTf32);

// Adds the kernel `symbol` to `module`, as a schedule of the form kTensors says: over arrays in
// global memory, each aligned to 16 bytes.
StatusOr<codegen::OpKernels> emitTensorDot(mlir::Operation* op, const codegen::ProductTask& task,
                                           llvm::Module& module, const codegen::WorkItemForm& form,
                                           const TensorOps& ops, const std::string& symbol);

}  // namespace isthmus::cuda

// dot_general and convolution by sub-groups that multiply small matrices in one instruction.
#pragma once

#include <optional>
#include <string>

#include "compiler/codegen/simt/op_kernels.h"
#include "compiler/codegen/simt/products/contraction.h"

namespace isthmus::codegen {

// Each adds the kernel `symbol` to `module`. Nothing, and the module is unchanged, where the device
// has no such instruction, or none for these types, or the result or the sums are too small to fill
// it: products of bf16 or of f16 that are summed in f32, and of signed 8-bit integers in i32.
std::optional<OpKernel> emitMatrixDot(const DotRoles& roles, const ProductKinds& kinds,
                                      llvm::Module& module, const WorkItemForm& form,
                                      const std::string& symbol);
// Rows are positions of the result, columns its features. Of one group of features and batches, and
// of inputs that are not dilated.
std::optional<OpKernel> emitMatrixConvolution(const ConvRoles& roles, const ProductKinds& kinds,
                                              llvm::Module& module, const WorkItemForm& form,
                                              const std::string& symbol);

}  // namespace isthmus::codegen

// dot_general and convolution by groups of threads, whose memory holds tiles of both operands.
#pragma once

#include <optional>
#include <string>

#include "compiler/codegen/simt/op_kernels.h"
#include "compiler/codegen/simt/products/contraction.h"

namespace isthmus::codegen {

// Each adds the kernel `symbol` to `module`. Nothing, and the module is unchanged, where a thread
// for each few elements does as well: small results, few or nested sums, complex numbers, and
// devices without groups.
std::optional<OpKernel> emitGroupDot(const DotRoles& roles, const ProductKinds& kinds,
                                     llvm::Module& module, const WorkItemForm& form,
                                     const std::string& symbol);

// As emitMatrixConvolution has it.
std::optional<OpKernel> emitGroupConvolution(const ConvRoles& roles, const ProductKinds& kinds,
                                             llvm::Module& module, const WorkItemForm& form,
                                             const std::string& symbol);

}  // namespace isthmus::codegen

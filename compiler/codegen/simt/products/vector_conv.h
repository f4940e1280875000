// Convolutions as sums of products of vectors, over a copy of the input with its padding.
#pragma once

#include <string>

#include "compiler/codegen/simt/op_kernels.h"
#include "compiler/codegen/simt/products/contraction.h"

namespace isthmus::codegen {

// Appends the kernels to `kernels`. False, and nothing was changed, where work-items of one element
// do better: with hardly any features in a group, or padding that is most of the input.
bool emitVectorConvolution(const ConvRoles& roles, const ProductKinds& kinds, llvm::Module& module,
                           const WorkItemForm& form, const std::string& symbol, OpKernels& kernels);

}  // namespace isthmus::codegen

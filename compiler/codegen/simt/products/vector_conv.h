// Convolutions as sums of products of vectors, over a copy of the input with its padding.
#pragma once

#include <string>

#include "compiler/codegen/simt/products/product_writer.h"
#include "compiler/schedule/products/roles.h"

namespace isthmus::codegen {

// Adds kernels whose names begin with `symbol` to `module`, as a schedule of the form kVectors
// says.
StatusOr<OpKernels> emitVectorConvolution(const ConvRoles& roles, const ProductTask& task,
                                          llvm::Module& module, const WorkItemForm& form,
                                          const std::string& symbol);

}  // namespace isthmus::codegen

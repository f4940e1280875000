// Sums of products by work-items that compute in vectors: tiles of the result in registers.
#pragma once

#include <string>

#include "compiler/codegen/simt/products/product_writer.h"
#include "compiler/schedule/products/vector_product.h"

namespace isthmus::codegen {

// Appends the stages of `plan` to `kernels`; their names begin with `symbol`.
Status emitVectorContraction(const VectorPlan& plan, const ProductTask& task, llvm::Module& module,
                             const WorkItemForm& form, const std::string& symbol,
                             OpKernels& kernels);

}  // namespace isthmus::codegen

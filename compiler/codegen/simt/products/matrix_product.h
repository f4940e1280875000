// dot_general and convolution by sub-groups that multiply small matrices in one instruction.
#pragma once

#include <string>

#include "compiler/codegen/simt/products/product_problem.h"

namespace isthmus::codegen {

// Adds the kernel `symbol` to `module`, as a schedule of the form kMatrices says. kInternal if the
// device has no such instruction.
StatusOr<OpKernel> emitMatrixProduct(const ProductProblem& problem, const ProductTask& task,
                                     llvm::Module& module, const WorkItemForm& form,
                                     const std::string& symbol);

}  // namespace isthmus::codegen

// dot_general of one operand of few lines, such as a matrix times a vector, by groups that share
// the sums of each line.
#pragma once

#include <string>

#include "compiler/codegen/simt/products/product_problem.h"

namespace isthmus::codegen {

// Adds kernels whose names begin with `symbol` to `module`, as a schedule of the form kLines says.
StatusOr<OpKernels> emitLineProduct(const ProductProblem& problem, const ProductTask& task,
                                    llvm::Module& module, const WorkItemForm& form,
                                    const std::string& symbol);

}  // namespace isthmus::codegen

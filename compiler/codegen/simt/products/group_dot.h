// dot_general and convolution by groups of threads, whose memory holds tiles of both operands.
#pragma once

#include <string>

#include "compiler/codegen/simt/products/product_problem.h"

namespace isthmus::codegen {

// Adds the kernel `symbol` to `module`, as a schedule of the form kGroups says.
StatusOr<OpKernel> emitGroupProduct(const ProductProblem& problem, const ProductTask& task,
                                    llvm::Module& module, const WorkItemForm& form,
                                    const std::string& symbol);

}  // namespace isthmus::codegen

// dot_general and convolution by work-items of a few elements each.
#pragma once

#include <string>

#include "compiler/codegen/simt/products/product_writer.h"
#include "compiler/schedule/products/roles.h"

namespace isthmus::codegen {

// Each adds kernels whose names begin with `symbol` to `module`, as a schedule of the form kItems
// says.
StatusOr<OpKernels> emitItemDot(const DotRoles& roles, const ProductTask& task,
                                llvm::Module& module, const WorkItemForm& form,
                                const std::string& symbol);
StatusOr<OpKernels> emitItemConvolution(const ConvRoles& roles, const ProductTask& task,
                                        llvm::Module& module, const WorkItemForm& form,
                                        const std::string& symbol);

}  // namespace isthmus::codegen

// dot_general with few rows or columns, as of a matrix and a vector, by groups that share sums.
#pragma once

#include <optional>
#include <string>

#include "compiler/codegen/simt/op_kernels.h"
#include "compiler/codegen/simt/products/contraction.h"

namespace isthmus::codegen {

// Adds kernels whose names begin with `symbol` to `module`: of each few lines of the larger
// operand, the threads of a group sum parts, which meet in its memory; where those are too few
// groups, the sums are cut among several, and a second kernel adds them up. Nothing, and the module
// is unchanged, where a thread for each few elements or a tile does as well, for complex numbers,
// and for devices without groups.
std::optional<OpKernels> emitSkinnyDot(const DotRoles& roles, const ProductKinds& kinds,
                                       llvm::Module& module, const WorkItemForm& form,
                                       const std::string& symbol);

}  // namespace isthmus::codegen

// Code for the comparator of a sort.
#pragma once

#include <string>

#include "backends/cpu/lower/library_ops.h"
#include "mlir/IR/Region.h"

namespace isthmus::cpu {

// Adds a function of type SortComparator for any comparator to the program's module and returns
// its name. `elementBytes` are of an element of each operand. kUnimplemented if the comparator uses
// something that kernels cannot compute.
StatusOr<std::string> emitComparator(mlir::Region& comparator, llvm::ArrayRef<int32_t> elementBytes,
                                     LibraryContext& context);

}  // namespace isthmus::cpu

// What the comparator of a sort means.
#pragma once

#include <optional>
#include <vector>

#include "backends/cpu/kernels/sort.h"
#include "backends/cpu/library_ops.h"
#include "mlir/IR/Region.h"

namespace isthmus::cpu {

// The keys if the comparator compares the first operands one after another, as JAX's do: integers
// by value, floats in total order or with zeros and NaNs made equal first. Nothing otherwise.
std::optional<std::vector<SortKey>> recognizeKeys(mlir::Region& comparator);

// Adds a function of type SortComparator for any comparator to the program's module and returns
// its name. kUnimplemented if the comparator uses something that kernels cannot compute.
StatusOr<std::string> emitComparator(mlir::Region& comparator, LibraryContext& context);

}  // namespace isthmus::cpu

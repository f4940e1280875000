// Bounds on the sizes that attributes and types claim, which take no bytes to claim.
#pragma once

#include "compiler/import/bytecode/cursor.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus::importer {

// What rules and passes read one element at a time: replica groups, source-target pairs, layouts,
// padding. The values of constants may be larger, since nobody does so with a splat.
inline constexpr int64_t kMaxListedElements = int64_t{1} << 20;

// False, with kInvalidArgument in the sink, if a type anywhere in `module` is no reasonable shape
// (attribute_decoder.h), an attribute other than a constant's value has more elements than
// kMaxListedElements, or one has other elements than its type says. For modules that nobody has
// verified: rules read what this bounds.
bool checkSizes(mlir::ModuleOp module, ErrorSink& sink);

}  // namespace isthmus::importer

// Constants as they lie in a program's memory.
#pragma once

#include <string>

#include "isthmus/status.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace isthmus {

// The elements of a dense attribute (or of a resource) in row-major order, in the memory format of
// include/isthmus/types.h: splats written out, one byte for i1 and for narrower elements.
StatusOr<std::string> constantBytes(mlir::Attribute value);

}  // namespace isthmus

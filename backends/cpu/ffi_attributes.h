// The configuration of a custom call as attributes of the foreign function interface.
#pragma once

#include <vector>

#include "isthmus/status.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "runtime/ffi/attributes.h"

namespace isthmus::cpu {

// kUnimplemented if a value is of a kind that handlers cannot get.
StatusOr<std::vector<ffi::Attribute>> ffiAttributes(mlir::DictionaryAttr dictionary);

}  // namespace isthmus::cpu

// The configuration of a custom call as attributes of the foreign function interface.
#pragma once

#include <vector>

#include "base/program/custom_call.h"
#include "isthmus/status.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace isthmus {

// kUnimplemented if a value is of a kind that handlers cannot get.
StatusOr<std::vector<ffi::Attribute>> ffiAttributes(mlir::DictionaryAttr dictionary);

}  // namespace isthmus

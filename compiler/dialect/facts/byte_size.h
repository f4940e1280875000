// How much memory a value takes.
#pragma once

#include <cstdint>

#include "isthmus/status.h"
#include "mlir/IR/Types.h"

namespace isthmus {

// Bytes of a value of this type: 0 for tokens and empty arrays. Elements narrower than a byte take
// one byte each. kUnimplemented for tuples, dynamic shapes and unknown element types.
StatusOr<int64_t> byteSize(mlir::Type type);

}  // namespace isthmus

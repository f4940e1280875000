// Conversions between MLIR's types and those of include/isthmus/types.h.
#pragma once

#include "isthmus/status.h"
#include "isthmus/types.h"
#include "mlir/IR/Types.h"

namespace isthmus {

// The element type of a tensor type, or of an element type itself; kToken for a token. A quantized
// type is that of its storage. kInvalid for what has none.
ElementType toElementType(mlir::Type type);

// The MLIR element type, or the token type; null for kInvalid, kS1 and kU1. Signed integers are
// signless in MLIR.
mlir::Type fromElementType(mlir::MLIRContext* context, ElementType type);

// The array that a tensor type (or a token, as an empty array) is in memory. kUnimplemented for a
// shape that is not static and element types that no memory has, kInvalidArgument for what is no
// array, kResourceExhausted for sizes that overflow.
StatusOr<ArrayType> toArrayType(mlir::Type type);

}  // namespace isthmus

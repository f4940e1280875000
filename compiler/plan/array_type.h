// MLIR types as the runtime knows them.
#pragma once

#include "isthmus/status.h"
#include "isthmus/types.h"
#include "mlir/IR/Types.h"

namespace isthmus {

// kInvalid if there is none: index, quantized types, integers of other widths.
ElementType elementTypeOf(mlir::Type type);

// Of a ranked tensor with a static shape, or of a token (rank 0). kUnimplemented otherwise.
StatusOr<ArrayType> arrayTypeOf(mlir::Type type);

}  // namespace isthmus

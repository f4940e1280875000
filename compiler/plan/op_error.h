// Error messages about one operation of a program, with the user's source location.
#pragma once

#include <string>

#include "isthmus/status.h"
#include "mlir/IR/Operation.h"

namespace isthmus {

// The innermost file position that `location` holds, as "train.py:12:5", or "" if it holds none.
std::string sourcePosition(mlir::Location location);

// "stablehlo.fft (tensor<8xf32>) -> tensor<5xcomplex<f32>>: `reason` [at train.py:12:5]", with code
// kUnimplemented.
Status unsupportedOp(mlir::Operation* op, std::string_view reason);

}  // namespace isthmus

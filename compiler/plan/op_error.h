// Error messages about one operation of a program, with the user's source location.
#pragma once

#include <string_view>

#include "isthmus/status.h"
#include "mlir/IR/Operation.h"

namespace isthmus {

// "stablehlo.fft (tensor<8xf32>) -> tensor<5xcomplex<f32>>: `reason` [at train.py:12:5]", with code
// kUnimplemented.
Status unsupportedOp(mlir::Operation* op, std::string_view reason);
// The same about an error that has a code.
Status atOp(mlir::Operation* op, const Status& error);

}  // namespace isthmus

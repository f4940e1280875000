// What an operation is and where in the user's program it comes from, in the words of messages.
#pragma once

#include <string>

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

namespace isthmus {

// The innermost file position that `location` holds, as "train.py:12:5", or "" if it holds none.
std::string sourcePosition(mlir::Location location);

// The same; if there is none, the name that the framework gave ("jit(f)/add"), or "".
std::string sourceLocation(mlir::Location location);

// "(tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>)"
std::string signatureOf(mlir::Operation* op);

// "stablehlo.add (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>) at train.py:12:5"
std::string describe(mlir::Operation* op);

// "add at train.py:12:5", for lines about more than one operation
std::string describeBriefly(mlir::Operation* op);

// The name that the framework gave, such as "jit(f)/add", or ""; in a function that was inlined,
// the call's name and that in the function: "jit(f)/jit(sort)/sort".
std::string scopeName(mlir::Location location);

}  // namespace isthmus

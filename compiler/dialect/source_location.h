// Where in the user's program an operation comes from.
#pragma once

#include <string>

#include "mlir/IR/Location.h"

namespace isthmus {

// The innermost file position that `location` holds, as "train.py:12:5", or "" if it holds none.
std::string sourcePosition(mlir::Location location);

// The same; if there is none, the name that the framework gave ("jit(f)/add"), or "".
std::string sourceLocation(mlir::Location location);

}  // namespace isthmus

// JAX's custom call @InspectSharding: a function of the compiling process that is told, while the
// program is compiled, how an array is split.
#pragma once

#include <string>

#include "compiler/dialect/dialect.h"
#include "isthmus/status.h"

namespace isthmus {

inline constexpr llvm::StringLiteral kInspectSharding = "InspectSharding";

// Hands `opSharding`, a serialized xla.OpSharding of the operand, to the function that `call` holds
// as two addresses of this process (code and its argument) in its backend_config. It may take the
// GIL and takes as long as it likes. The program's sender vouches for the addresses; what is no
// code of a loaded library is refused. Errors: such addresses, and what the function itself
// reports.
Status reportSharding(shlo::CustomCallOp call, std::string opSharding);

}  // namespace isthmus

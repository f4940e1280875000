// Which results of a kernel may take the memory of an operand.
#pragma once

#include "compiler/dialect/isthmus.h"

namespace isthmus {

// True if `result` may be written to the very memory of `operand`, which then dies.
bool canShareBuffer(ir::FusionOp fusion, unsigned operand, unsigned result);

}  // namespace isthmus

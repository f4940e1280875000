// Instructions of PTX that LLVM does not make of portable IR.
#pragma once

#include "compiler/codegen/target/target_instructions.h"

namespace isthmus::codegen {

// Lives as long as the process.
const TargetInstructions& nvptxInstructions();

}  // namespace isthmus::codegen

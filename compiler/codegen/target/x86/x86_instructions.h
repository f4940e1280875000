// What x86's instructions promise, and those of AVX-512 that LLVM does not make of portable IR.
#pragma once

#include "compiler/codegen/target/target_instructions.h"

namespace isthmus::codegen {

// Lives as long as the process.
const TargetInstructions& x86Instructions(const TargetModel& target);

}  // namespace isthmus::codegen

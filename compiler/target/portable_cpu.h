// CPUs behind a portable representation of kernels, whose drivers make machine code of it.
#pragma once

#include "compiler/target/target_model.h"

namespace isthmus {

// A CPU with registers of `vectorBits` that takes what LLVM writes for `triple`
// ("spirv64-unknown-unknown").
TargetModel portableCpuTarget(std::string triple, unsigned vectorBits);

}  // namespace isthmus

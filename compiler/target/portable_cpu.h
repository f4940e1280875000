// CPUs behind a portable representation of kernels, whose drivers make machine code of it.
#pragma once

#include "compiler/target/target_model.h"

namespace isthmus {

// A CPU with registers of `vectorBits` that takes what LLVM writes for `triple`
// ("spirv64-unknown-unknown").
TargetModel portableCpuTarget(std::string triple, unsigned vectorBits);

// How many elements a vector's value may have in what is written for the target: 16 in SPIR-V, as
// many as there are lanes at most elsewhere.
unsigned maxVectorElements(const TargetModel& target);

// TargetModel::lanesOf within that.
unsigned vectorLanes(const TargetModel& target, unsigned bits);

}  // namespace isthmus

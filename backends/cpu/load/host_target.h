// The machine that this process runs on, and what code needs of it.
#pragma once

#include <string>
#include <string_view>

#include "compiler/target/target_model.h"
#include "isthmus/status.h"

namespace isthmus::cpu {

// The CPU that this process runs on; computed once. From any thread.
const TargetModel& hostTarget();

// The features of `needed` ("+avx2,-sse4a,+fma") that `available` lacks, joined by commas.
std::string missingFeatures(std::string_view needed, std::string_view available);

// kFailedPrecondition, naming them, if this machine's CPU lacks some of `needed`.
Status checkFeatures(std::string_view needed);

}  // namespace isthmus::cpu

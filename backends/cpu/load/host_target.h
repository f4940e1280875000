// The machine that this process runs on.
#pragma once

#include "compiler/target/target_model.h"

namespace isthmus::cpu {

// The CPU that this process runs on; computed once. From any thread.
const TargetModel& hostTarget();

}  // namespace isthmus::cpu

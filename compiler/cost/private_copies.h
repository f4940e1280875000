// Scatters whose updates groups of threads gather in copies of their own.
#pragma once

#include <cstdint>

#include "compiler/dialect/dialect.h"
#include "compiler/target/target_model.h"

namespace isthmus {

// Of how many copies of its operand, each in the memory of one group of threads, a scatter is best
// the sum (the maximum, …): a group applies its share of the updates there, then the copy to the
// operand. 0 where threads update the operand itself: it does not fit, has few updates for each
// element, or no instruction applies one.
int64_t privateCopies(shlo::ScatterOp scatter, const TargetModel& target);

}  // namespace isthmus

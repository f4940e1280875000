// Loops without copies at the ends of their rounds.
#pragma once

#include <vector>

#include "compiler/driver/device_program.h"

namespace isthmus {

// Makes moves at the ends of loops' bodies swaps of addresses (Loop::addressSwaps), where the loop
// does the same then: what a round computed into one place, the next reads there, and computes into
// the other. A round of a loop whose host enqueues its steps would cost a command for each move,
// and for large arrays the time of a copy.
void swapAddresses(std::vector<Step>& steps);

}  // namespace isthmus

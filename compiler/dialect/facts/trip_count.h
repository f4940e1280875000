// How often loops run.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/dialect/dialect.h"

namespace isthmus {

// The rounds of a loop that counts an integer from a constant, in constant steps, to a constant, as
// scans and fori_loops with known bounds do; before fusion or after it. None if it is another.
std::optional<int64_t> tripCount(shlo::WhileOp loop);

}  // namespace isthmus

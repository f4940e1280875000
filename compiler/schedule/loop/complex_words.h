// Complex numbers that a kernel moves as words.
#pragma once

#include "compiler/dialect/isthmus.h"
#include "compiler/target/target_model.h"

namespace isthmus {

// Whether a kernel of `fusion` takes complex<f32> as words of 64 bits: it moves them and computes
// nothing of their parts, which would be shuffled apart and together again. Of a CPU: where threads
// are the lanes, nothing is shuffled.
bool movesComplexWords(ir::FusionOp fusion, const TargetModel& target);

// `type`, or the type of such a word if it is complex<f32>.
mlir::Type wordOfComplex(mlir::Type type);

}  // namespace isthmus

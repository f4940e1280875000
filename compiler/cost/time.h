// How long work takes on a target, roughly: enough to decide whether it pays to compute again, to
// hand work to threads, and how to tile. In nanoseconds, of one thread of a CPU or all of a GPU.
#pragma once

#include "compiler/cost/work.h"
#include "compiler/dialect/dialect.h"
#include "compiler/target/target_model.h"

namespace isthmus {

// Of additions of 4-byte elements, as elementCost counts.
double arithmeticNs(const TargetModel& target, double additions);
// Of updates at computed places, words that are copied and the like, one after the other.
double oneByOneNs(const TargetModel& target, double steps);
// Of bytes read and written: at the speed of the near cache, if it holds so many.
double trafficNs(const TargetModel& target, double bytes);
// Of a dot_general, a convolution or the like with so many multiplications, whose operands stay in
// registers and near caches.
double contractionNs(const TargetModel& target, double products);
double contractionNs(const TargetModel& target, shlo::DotGeneralOp dot);
// Of a product or convolution round after round, by one thread: in vectors, where caches can bring
// as much, or one by one.
double repeatedProductNs(const TargetModel& target, const Work& work, bool isVector);

// The larger of memory traffic and arithmetic, and contractions.
double workNs(const TargetModel& target, const Work& work);
// Of computing `roots` of `fusion`.
double kernelNs(const TargetModel& target, ir::FusionOp fusion, llvm::ArrayRef<mlir::Value> roots);

// What storing a value of so many bytes and reading it back takes two kernels, beside all else that
// they do.
double storedValueNs(const TargetModel& target, double bytes);

}  // namespace isthmus

// How long functions of a backend's library take on one thread, roughly: enough to decide whether a
// program runs on its caller's thread.
#pragma once

#include <cstdint>

#include "compiler/target/target_model.h"
#include "mlir/IR/Operation.h"

namespace isthmus {

// Of sort, top_k, random bits, Fourier transforms, Cholesky decompositions, triangular solves,
// products, convolutions; of other operations as of a special function of each element. In
// nanoseconds, with the call.
double libraryNs(const TargetModel& target, mlir::Operation* op);
// Of a sort whose comparator is called, rather than one of known keys.
double sortByCallsNs(const TargetModel& target, mlir::Operation* sort);
// Of eigenvalues, singular values, QR and the like, which take so many floating-point operations.
double decompositionNs(const TargetModel& target, double flops);
// Of `pieces` stretches of memory that are copied one by one, `bytes` in all.
double copiesNs(const TargetModel& target, double pieces, double bytes);
// Of a function of somebody else's that takes some floating-point operations for each of `steps`.
double handlerNs(const TargetModel& target, double steps);
// Of meeting other devices and moving so many bytes.
double collectiveNs(const TargetModel& target, double bytes);

}  // namespace isthmus

// What callers may ask about a program, read from its main function.
#pragma once

#include "compiler/plan/memory_plan.h"
#include "isthmus/backend.h"
#include "isthmus/status.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace isthmus {

// Adds parameters, outputs and their bytes of `main`: types, memory kinds (mhlo.memory_kind),
// shardings (isthmus.sharding: a serialized xla.OpSharding, which the partitioner leaves) and
// donation (tf.aliasing_output, jax.buffer_donor). A parameter that may be donated is made to alias
// an output of the same type that nothing aliases yet, where there is one.
Status describeProgram(mlir::func::FuncOp main, ProgramInfo& info);

// The donation of `info` as the memory plan takes it.
std::vector<ParameterUse> parameterUses(const ProgramInfo& info);

// Adds "flops", "bytes accessed" and "transcendentals" of one run; loops of unknown length count
// once.
void countCosts(mlir::func::FuncOp main, std::map<std::string, double>& costs);

struct OperationCosts {
  double flops = 0;
  double transcendentals = 0;
  double bytes = 0;  // read from operands and written to results
};
// Of one operation with all that is in its regions; a loop counts as one round.
OperationCosts costsOf(mlir::Operation* op);

}  // namespace isthmus

// Which operations are computed again wherever they are used.
#pragma once

#include "compiler/target/target_model.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace isthmus {

// Whether recomputing the operation in each of its consumers costs nothing worth storing: splat and
// small constants, iota, broadcasts, slices, and cheap elementwise work on such. It is copied into
// the kernels that use it instead of being one of a kernel's operands.
bool isRematerializable(mlir::Operation* op);

// Whether the operation is cheap elementwise work on broadcasts of arrays that are far smaller than
// its result, such as all pairwise differences: kernels compute it from those in less time than
// they read it from memory, for which it may be too large besides.
bool isRematerializableExpansion(mlir::Operation* op, const TargetModel& target);

// The operations of a block that are cheap elementwise work on arrays that take no more memory than
// their results, and that nothing needs in memory: each kernel reads those arrays in the time in
// which it would read the result, and nobody writes it. On a GPU, what several kernels use; on a
// CPU, which has fewer operations for each byte, an addition or two on one array that others read.
class RecomputedOps {
 public:
  RecomputedOps(mlir::Block& block, const TargetModel& target);
  bool contains(mlir::Operation* op) const { return ops_.contains(op); }
  // Before the operation goes: another may take its address.
  void erase(mlir::Operation* op) { ops_.erase(op); }

 private:
  llvm::DenseSet<mlir::Operation*> ops_;
};

}  // namespace isthmus

// The split-concatenates pass: a concatenation of more arrays than one kernel had better read
// becomes one of concatenations.
#include "compiler/dialect/dialect.h"
#include "compiler/passes/passes.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/IR/BuiltinOps.h"

namespace isthmus {

#define GEN_PASS_DEF_SPLITCONCATENATESPASS
#include "compiler/passes/passes.h.inc"

namespace {

// Concatenations of neighbours, in their order; no more than `most` of no more than `most` each.
llvm::SmallVector<mlir::Value> concatenateGroups(shlo::ConcatenateOp op, mlir::ValueRange inputs,
                                                 size_t most) {
  mlir::OpBuilder builder(op);
  const size_t groups = llvm::divideCeil(inputs.size(), most);
  llvm::SmallVector<mlir::Value> made;
  for (size_t i = 0; i < groups; ++i) {
    const size_t begin = inputs.size() * i / groups, end = inputs.size() * (i + 1) / groups;
    mlir::ValueRange group = inputs.slice(begin, end - begin);
    made.push_back(
        shlo::ConcatenateOp::create(builder, op.getLoc(), group, op.getDimension()).getResult());
  }
  return made.size() > most ? concatenateGroups(op, made, most) : made;
}

struct SplitConcatenatesPass : impl::SplitConcatenatesPassBase<SplitConcatenatesPass> {
  using SplitConcatenatesPassBase::SplitConcatenatesPassBase;

  void runOnOperation() override {
    const auto maxOperands = static_cast<size_t>(most);
    if (maxOperands < 2) return;
    llvm::SmallVector<shlo::ConcatenateOp> ops;
    getOperation().walk([&](shlo::ConcatenateOp op) {
      if (op.getInputs().size() > maxOperands) ops.push_back(op);
    });
    for (shlo::ConcatenateOp op : ops) {
      op.getInputsMutable().assign(concatenateGroups(op, op.getInputs(), maxOperands));
    }
  }
};

}  // namespace
}  // namespace isthmus

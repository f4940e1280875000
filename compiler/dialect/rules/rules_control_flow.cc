// Rules and types of control flow.
#include "compiler/dialect/rules/rules.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus::shlo {

using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;

namespace {

struct BranchRules {
  llvm::StringRef choice, inputs, outputs;
};

LogicalResult inferBranches(const Rules& rules, const BranchRules& r, mlir::Value choice,
                            mlir::RegionRange regions, Types& types) {
  if (tensorType(choice).getRank() != 0) {
    return rules.violates(r.choice, "the choice is ", choice.getType(), ", expected a scalar");
  }
  llvm::SmallVector<ReturnOp> ends;
  for (mlir::Region* region : regions) {
    ReturnOp end = returnOf(*region);
    if (!end)
      return rules.violates(r.outputs, "a branch has another end, expected stablehlo.return");
    if (region->getNumArguments() != 0) {
      return rules.violates(r.inputs, "a branch takes ", region->getNumArguments(),
                            " values, expected none");
    }
    ends.push_back(end);
    mlir::TypeRange first(ends.front().getOperandTypes()), here(end.getOperandTypes());
    if (!areCompatible(first, here)) {
      return rules.violates(r.outputs, "branches give (", first, ") and (", here,
                            "), expected the same types");
    }
  }
  for (unsigned i = 0; i < ends.front().getNumOperands(); ++i) {
    llvm::SmallVector<mlir::Type> column;
    for (ReturnOp end : ends) column.push_back(end.getOperand(i).getType());
    mlir::FailureOr<mlir::Type> type = leastSpecificType(rules.location(), column);
    if (failed(type)) return failure();
    types.push_back(*type);
  }
  return success();
}

}  // namespace

ISTHMUS_INFER(IfOp, "if") {
  return inferBranches(rules, {"i1", "c1", "c2"}, op.getPred(), op.getRegions(), types);
}

ISTHMUS_INFER(CaseOp, "case") {
  if (op.getRegions().empty()) {
    return rules.violates("c1", "there are no branches, expected one or more");
  }
  return inferBranches(rules, {"i1", "c2", "c3"}, op.getIndex(), op.getRegions(), types);
}

ISTHMUS_INFER(WhileOp, "while") {
  llvm::append_range(types, op.getOperands().getTypes());
  return success();
}

LogicalResult WhileOp::verify() {
  Rules rules(*this);
  ReturnOp condition = returnOf(getCond()), end = returnOf(getBody());
  if (!condition) return rules.violates("c1", "cond has another end, expected stablehlo.return");
  if (!end) return rules.violates("c2", "body has another end, expected stablehlo.return");
  mlir::TypeRange operands(getOperandTypes());
  mlir::TypeRange condTypes(getCond().getArgumentTypes()), bodyTypes(getBody().getArgumentTypes());
  if (!areCompatible(operands, condTypes)) {
    return rules.violates("c1", "cond takes (", condTypes, "), expected (", operands, ")");
  }
  if (!areCompatible(operands, bodyTypes)) {
    return rules.violates("c2", "body takes (", bodyTypes, "), expected (", operands, ")");
  }
  if (!areCompatible(operands, end.getOperandTypes())) {
    return rules.violates("c2", "body gives (", mlir::TypeRange(end.getOperandTypes()),
                          "), expected (", operands, ")");
  }
  auto given = condition.getNumOperands() == 1
                   ? llvm::dyn_cast<mlir::RankedTensorType>(condition.getOperand(0).getType())
                   : mlir::RankedTensorType();
  if (given && given.getRank() == 0 && given.getElementType().isInteger(1)) return success();
  return rules.violates("c1", "cond gives (", mlir::TypeRange(condition.getOperandTypes()),
                        "), expected tensor<i1>");
}

ISTHMUS_INFER(OptimizationBarrierOp, "optimization_barrier") {
  llvm::append_range(types, op.getOperands().getTypes());
  return success();
}

ISTHMUS_INFER(AsyncStartOp, "async_start") {
  ReturnOp end = returnOf(op.getBody());
  if (!end) return rules.violates("c1", "the body has another end, expected stablehlo.return");
  mlir::Block& block = op.getBody().front();
  if (!llvm::hasSingleElement(block.without_terminator())) {
    return rules.violates("c1", "the body has ", block.getOperations().size() - 1,
                          " operations and a return, expected one");
  }
  mlir::Operation& inner = block.front();
  if (!llvm::isa<AllReduceOp, AllGatherOp, AllToAllOp, CollectivePermuteOp, ReduceScatterOp,
                 CollectiveBroadcastOp, SliceOp, DynamicSliceOp, DynamicUpdateSliceOp>(inner)) {
    return rules.violates("c2", "the body has ", inner.getName(),
                          ", expected a collective or a slice");
  }
  if (mlir::TypeRange(block.getArgumentTypes()) != mlir::TypeRange(op.getOperands().getTypes())) {
    return rules.violates("c3", "the body takes (", mlir::TypeRange(block.getArgumentTypes()),
                          "), expected (", mlir::TypeRange(op.getOperands().getTypes()), ")");
  }
  types.push_back(FutureType::get(context, llvm::to_vector(inner.getResultTypes())));
  return success();
}

ISTHMUS_INFER(AsyncDoneOp, "async_done") {
  llvm::ArrayRef<mlir::Type> given =
      llvm::cast<FutureType>(op.getOperands().front().getType()).getTypes();
  if (given.size() != 1) {
    return rules.violates("c1", "the future has ", given.size(), " values, expected one");
  }
  types.push_back(given.front());
  return success();
}

}  // namespace isthmus::shlo

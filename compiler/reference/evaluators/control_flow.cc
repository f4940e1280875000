// Regions that run or not, calls, tuples and tokens.
#include "compiler/reference/evaluators/evaluators.h"

namespace isthmus::reference {
namespace {

std::vector<Value> operandsOf(Call& call) { return {call.operands.begin(), call.operands.end()}; }

Status addResult(Call& call, StatusOr<std::vector<Value>> values) {
  if (!values.ok()) return values.status();
  call.results = std::move(values).value();
  return {};
}

}  // namespace

Status evaluateReturn(Call&) { return internalError("the end of a region is not evaluated"); }

Status evaluateIf(Call& call) {
  auto op = llvm::cast<shlo::IfOp>(call.op);
  bool choice = call.tensor(0).integer(0) != 0;
  return addResult(call, call.run(choice ? op.getTrueBranch() : op.getFalseBranch(), {}));
}

Status evaluateCase(Call& call) {
  auto op = llvm::cast<shlo::CaseOp>(call.op);
  int64_t index = call.tensor(0).integer(0);
  auto count = static_cast<int64_t>(op.getBranches().size());
  if (index < 0 || index >= count) index = count - 1;
  return addResult(call, call.run(op.getBranches()[static_cast<size_t>(index)], {}));
}

Status evaluateWhile(Call& call) {
  auto op = llvm::cast<shlo::WhileOp>(call.op);
  std::vector<Value> state = operandsOf(call);
  while (true) {
    ISTHMUS_RETURN_IF_ERROR(call.charge(1));
    ISTHMUS_ASSIGN_OR_RETURN(std::vector<Value> condition, call.run(op.getCond(), state));
    if (condition[0].tensor.integer(0) == 0) break;
    ISTHMUS_ASSIGN_OR_RETURN(state, call.run(op.getBody(), std::move(state)));
  }
  call.results = std::move(state);
  return {};
}

Status evaluateIdentity(Call& call) {
  call.results = operandsOf(call);
  return {};
}

Status evaluateCall(Call& call) {
  auto op = llvm::cast<mlir::func::CallOp>(call.op);
  return addResult(call, call.interpreter.runFunction(op.getCallee(), operandsOf(call)));
}

Status evaluateComposite(Call& call) {
  auto op = llvm::cast<shlo::CompositeOp>(call.op);
  return addResult(call, call.interpreter.runFunction(op.getDecomposition(), operandsOf(call)));
}

// Nothing runs at the same time here: it is done at once, and the future holds the results.
Status evaluateAsyncStart(Call& call) {
  auto op = llvm::cast<shlo::AsyncStartOp>(call.op);
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<Value> results, call.run(op.getBody(), operandsOf(call)));
  call.results.push_back(Value::tuple(std::move(results)));
  return {};
}

Status evaluateAsyncDone(Call& call) {
  call.results = call.operands[0].elements;
  return {};
}

Status evaluateCustomCall(Call& call) {
  auto op = llvm::cast<shlo::CustomCallOp>(call.op);
  return unimplemented("a call of @", op.getCallTargetName().str(), ", which is not ours");
}

Status evaluateTuple(Call& call) {
  call.results.push_back(Value::tuple(operandsOf(call)));
  return {};
}

Status evaluateGetTupleElement(Call& call) {
  auto op = llvm::cast<shlo::GetTupleElementOp>(call.op);
  call.results.push_back(call.operands[0].elements[op.getIndex()]);
  return {};
}

Status evaluateToken(Call& call) {
  call.results.push_back(Value::token());
  return {};
}

}  // namespace isthmus::reference

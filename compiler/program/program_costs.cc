// Counts the arithmetic and the memory traffic of a program.
#include "compiler/cost/work.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/isthmus.h"
#include "compiler/program/program_info.h"

namespace isthmus {
namespace {

OpWork kindOf(mlir::Operation* op) {
  const OpFacts* facts = findOpFacts(op);
  return facts ? facts->work : OpWork::kNone;
}

double flopsOf(mlir::Operation* op) {
  if (isContraction(op)) return 2 * productsOf(op);
  if (llvm::isa<shlo::ReduceOp>(op)) return elementsOf(op->getOperand(0).getType());
  return kindOf(op) == OpWork::kFlop ? elementsOf(op->getResult(0).getType()) : 0;
}

// All but the bytes.
OperationCosts arithmeticOf(mlir::Operation* op) {
  OperationCosts costs;
  op->walk([&](mlir::Operation* inner) {
    costs.flops += flopsOf(inner);
    if (kindOf(inner) == OpWork::kTranscendental) {
      costs.transcendentals += elementsOf(inner->getResult(0).getType());
    }
  });
  return costs;
}

}  // namespace

OperationCosts costsOf(mlir::Operation* op) {
  OperationCosts costs = arithmeticOf(op);
  costs.bytes = accessedBytes(op);
  return costs;
}

void countCosts(mlir::func::FuncOp main, std::map<std::string, double>& costs) {
  const OperationCosts arithmetic = arithmeticOf(main);
  double bytes = 0;
  main.walk([&](mlir::Operation* op) {
    // Memory is read and written at the edges of fusions and by what stands alone.
    mlir::Operation* parent = op->getParentOp();
    bool isTopLevel = parent == main.getOperation() || isControlFlow(parent);
    if (!isTopLevel || roleOf(op) != OpRole::kCompute) return;
    bytes += accessedBytes(op);
  });
  costs["flops"] = arithmetic.flops;
  costs["transcendentals"] = arithmetic.transcendentals;
  costs["bytes accessed"] = bytes;
}

}  // namespace isthmus

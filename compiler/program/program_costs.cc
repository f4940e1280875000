// Counts the arithmetic and the memory traffic of a program.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/op_facts.h"
#include "compiler/plan/byte_size.h"
#include "compiler/program/program_info.h"

namespace isthmus {
namespace {

OpWork workOf(mlir::Operation* op) {
  const OpFacts* facts = findOpFacts(op);
  return facts ? facts->work : OpWork::kNone;
}

double elementsOf(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type && type.hasStaticShape() ? static_cast<double>(type.getNumElements()) : 0;
}

double bytesOf(mlir::Value value) {
  StatusOr<int64_t> bytes = byteSize(value.getType());
  return bytes.ok() ? static_cast<double>(*bytes) : 0;
}

double flopsOf(mlir::Operation* op) {
  double result = op->getNumResults() > 0 ? elementsOf(op->getResult(0)) : 0;
  if (auto dot = llvm::dyn_cast<shlo::DotGeneralOp>(op)) {
    auto lhs = llvm::cast<mlir::ShapedType>(dot.getLhs().getType());
    for (int64_t dim : dot.getDotDimensionNumbers().getLhsContractingDimensions()) {
      result *= static_cast<double>(lhs.getDimSize(dim));
    }
    return 2 * result;
  }
  if (auto conv = llvm::dyn_cast<shlo::ConvolutionOp>(op)) {
    auto kernel = llvm::cast<mlir::ShapedType>(conv.getRhs().getType());
    double features = static_cast<double>(
        kernel.getDimSize(conv.getDimensionNumbers().getKernelOutputFeatureDimension()));
    return features == 0 ? 0 : 2 * result * elementsOf(conv.getRhs()) / features;
  }
  if (llvm::isa<shlo::ReduceOp>(op)) return elementsOf(op->getOperand(0));
  return workOf(op) == OpWork::kFlop ? result : 0;
}

}  // namespace

OperationCosts costsOf(mlir::Operation* op) {
  OperationCosts costs;
  op->walk([&](mlir::Operation* inner) {
    costs.flops += flopsOf(inner);
    if (workOf(inner) == OpWork::kTranscendental) {
      costs.transcendentals += elementsOf(inner->getResult(0));
    }
  });
  for (mlir::Value operand : op->getOperands()) costs.bytes += bytesOf(operand);
  for (mlir::Value result : op->getResults()) costs.bytes += bytesOf(result);
  return costs;
}

void countCosts(mlir::func::FuncOp main, std::map<std::string, double>& costs) {
  double flops = 0;
  double transcendentals = 0;
  double bytes = 0;
  main.walk([&](mlir::Operation* op) {
    flops += flopsOf(op);
    if (workOf(op) == OpWork::kTranscendental) {
      transcendentals += elementsOf(op->getResult(0));
    }
    // Memory is read and written at the edges of fusions and by what stands alone.
    mlir::Operation* parent = op->getParentOp();
    bool isTopLevel = parent == main.getOperation() || roleOf(parent) == OpRole::kWhile ||
                      roleOf(parent) == OpRole::kBranch;
    if (!isTopLevel || roleOf(op) != OpRole::kCompute) return;
    for (mlir::Value operand : op->getOperands()) bytes += bytesOf(operand);
    for (mlir::Value result : op->getResults()) bytes += bytesOf(result);
  });
  costs["flops"] = flops;
  costs["transcendentals"] = transcendentals;
  costs["bytes accessed"] = bytes;
}

}  // namespace isthmus
